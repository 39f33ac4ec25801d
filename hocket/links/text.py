"""Text between members: fit to be shown, on one line of JSON, spelt in one way, read out over the telephone."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, TypeGuard

MOST = 200
ELLIPSIS = "…"
STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: they move cursors, clear screens and forge lines of a log
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks of direction: they show text in another order
    "\u2028\u2029"  # they end lines
    "\ud800-\udfff]"  # lone surrogates: they cannot be written as UTF-8
)


def shown(text: str, most: int = MOST) -> str:
    r"""The text as it may be printed or logged: what steers is written out, what is too long ends in an ellipsis.

    >>> shown("birch\x1b[2J\u202e")
    'birch\\x1b[2J\\u202e'
    >>> shown("very long", most=5)
    'very…'
    """
    # Cut first: whatever was sent, no more than this is looked at.
    written = STEERING.sub(_written_out, text[: most + 1])
    return written if len(written) <= most else written[: most - 1] + ELLIPSIS


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def json_line(data: Any, *, allow_nan: bool = True) -> str:
    r"""The data as JSON that reads back to the same; letters stay as they are, what steers a terminal does not.

    >>> json_line({"reason": "Größe \x9b2J\u202e"})
    '{"reason": "Größe \\u009b2J\\u202e"}'
    """
    # JSON itself writes out what is below a space, and leaves the rest to whoever reads it.
    text = json.dumps(data, ensure_ascii=False, allow_nan=allow_nan)
    return STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
SPOKEN_BYTES = 16
"""Bytes that are spoken: 128 bits, more than anybody can search for a certificate that sounds the same."""


def spoken(digest: bytes) -> str:
    """The first 16 bytes of a digest as eight words of five letters, each word two bytes.
    Compare it by voice or in person; whoever forwards cards and plans could also forward a false fingerprint.

    >>> spoken(bytes(range(16)))
    'babad-bamag-bibaj-bimal-boban-bomar-bubat-bumaz'
    """
    pairs = zip(digest[0:SPOKEN_BYTES:2], digest[1:SPOKEN_BYTES:2], strict=False)
    return "-".join(_word(high << 8 | low) for high, low in pairs)


def _word(number: int) -> str:
    """16 bits as consonant, vowel, consonant, vowel, consonant: 4, 2, 4, 2 and 4 bits."""
    return "".join(
        letters[number >> shift & len(letters) - 1]
        for letters, shift in ((CONSONANTS, 12), (VOWELS, 10), (CONSONANTS, 6), (VOWELS, 4), (CONSONANTS, 0))
    )
