"""Text between members: fit to be shown, on one line of JSON, spelt in one way, read out over the telephone."""

from __future__ import annotations

import json
import re
import textwrap
import unicodedata
from typing import Any, TypeGuard

MOST = 200
ELLIPSIS = "…"
LINE = 60
"""Columns that a stranger's text takes of a line: with what stands before it, no terminal of 80 breaks it in two."""
FILLERS = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
)
"""What counts as a letter, a mark or a picture, and shows nothing."""
MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f"
"""They stand over or under the letter before; of more than two, one on top of another, all but two are written out."""
HIDDEN = re.compile(f"[{FILLERS}]|(?<=[{MARKS}]{{2}})[{MARKS}]")
"""What Python takes for printable, and nobody can read."""


def hides(text: str) -> bool:
    """Whether it holds anything that cannot be seen, or that steers a terminal."""
    return not text.isprintable() or HIDDEN.search(text) is not None


def shown(text: str, most: int = MOST) -> str:
    r"""The text as it may be printed or logged: what cannot be seen is written out, what is too long ends in an
    ellipsis.

    >>> shown("birch\x1b[2J\u202e\u200b")
    'birch\\x1b[2J\\u202e\\u200b'
    >>> shown("very long", most=5)
    'very…'
    """
    # Cut first: whatever was sent, no more than this is looked at.
    written = text[: most + 1]
    if hides(written):
        # Letters that are no letters first: what shows nothing is no mark upon a mark.
        written = "".join(one if one.isprintable() else _written_out(one) for one in written)
        written = HIDDEN.sub(lambda found: _written_out(found[0]), written)
    return written if len(written) <= most else written[: most - 1] + ELLIPSIS


def quoted(text: str, columns: int = LINE) -> str:
    r"""A stranger's text within a line of ours: in quotes, on one line, with single blanks, all of it to be seen.
    What is longer than so many columns ends in an ellipsis, so that no terminal makes two lines of it.

    >>> print(quoted("mean of   three\nnumbers\u3164"), quoted("what's \"this\"?"))
    'mean of three numbers\u3164' "what's 'this'?"
    >>> print(quoted("a title " * 20, columns=20))
    'a title a title a…'
    """
    line = shown(" ".join(text[:LOOKED_AT].split()), LOOKED_AT)
    mark = '"' if "'" in line else "'"
    line, room = line.replace(mark, "'"), columns - 2
    if sum(map(_columns, line)) <= room:
        return f"{mark}{line}{mark}"
    kept, used = "", 0
    for letter in line:
        used += _columns(letter)
        if used > room - 1:
            break
        kept += letter
    return f"{mark}{kept.rstrip()}{ELLIPSIS}{mark}"


def quoted_lines(text: str, columns: int = LINE) -> list[str]:
    """The whole of a stranger's text, each line of it quoted; no line for an empty one."""
    words = shown(" ".join(text[:LOOKED_AT].split()), LOOKED_AT)
    wide = max(map(_columns, words), default=1)
    return [quoted(line, columns) for line in textwrap.wrap(words, (columns - 2) // wide)]


LOOKED_AT = 10_000
"""Characters of a text that is quoted."""


def _columns(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _written_out(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_line(data: Any, *, allow_nan: bool = True) -> str:
    r"""The data as JSON that reads back to the same; letters stay as they are, what steers a terminal does not.

    >>> json_line({"reason": "Größe \x9b2J\u202e"})
    '{"reason": "Größe \\u009b2J\\u202e"}'
    """
    # JSON itself writes out what is below a space, and leaves the rest to anybody who reads it.
    text = json.dumps(data, ensure_ascii=False, allow_nan=allow_nan)
    if not hides(text):
        return text
    return "".join(one if not hides(one) else json.dumps(one)[1:-1] for one in text)


def is_table(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value of JSON or TOML is a table; its keys are texts then."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether a value of JSON or TOML is a list, or will be one when it is written."""
    return isinstance(value, list | tuple)


NORMAL = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""Names of datasets have one spelling each, as runs are counted and noise is kept by name."""
LONGEST = 100
"""Characters of a name."""


def normal_name(text: str) -> str:
    """The one spelling of a name: small letters and digits, with a hyphen for everything between them.

    >>> normal_name("Trial_7"), normal_name("trial-7"), normal_name(" Größe (neu)")
    ('trial-7', 'trial-7', 'gro-e-neu')
    """
    plain = unicodedata.normalize("NFKD", text[: 4 * LONGEST]).lower()
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.sub(r"[^a-z0-9]+", "-", bare).strip("-")[:LONGEST].rstrip("-") or "data"


CONSONANTS = "bdfghjklmnprstvz"
VOWELS = "aiou"
OUTGOING_BYTES = 16
"""Bytes that are spelled: 128 bits, more than anybody can search for a certificate that sounds the same."""


def spelled(digest: bytes) -> str:
    """The first 16 bytes of a digest as eight words of five letters, each word two bytes.
    Compare it by voice or in person; anybody who forwards cards and plans could also forward a false fingerprint.

    >>> spelled(bytes(range(16)))
    'babad-bamag-bibaj-bimal-boban-bomar-bubat-bumaz'
    """
    pairs = zip(digest[0:OUTGOING_BYTES:2], digest[1:OUTGOING_BYTES:2], strict=False)
    return "-".join(_word(high << 8 | low) for high, low in pairs)


def _word(number: int) -> str:
    """16 bits as consonant, vowel, consonant, vowel, consonant: 4, 2, 4, 2 and 4 bits."""
    return "".join(
        letters[number >> shift & len(letters) - 1]
        for letters, shift in ((CONSONANTS, 12), (VOWELS, 10), (CONSONANTS, 6), (VOWELS, 4), (CONSONANTS, 0))
    )
