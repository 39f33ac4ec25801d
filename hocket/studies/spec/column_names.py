"""A column that is not there under its name, and what is: names that look alike, and what makes them differ."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

CYRILLIC = dict(zip("асеорхуіјѕԁһАВЕКМНОРСТУХЅІЈ", "aceopxyijsdhABEKMHOPCTYXSIJ", strict=True))
GREEK = dict(zip("αοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aoABEZHIKMNOPTYX", strict=True))
LOOKS_LIKE = CYRILLIC | GREEK
"""Letters of other alphabets that look like Latin ones."""


def looks(name: str) -> str:
    """A name as it looks: without what cannot be seen, in small Latin letters.

    >>> looks(" Sex"), looks("\\ufeffsex"), looks("\\u0455ex")
    ('sex', 'sex', 'sex')
    """
    return _latin(name).casefold()


def _latin(name: str) -> str:
    latin = (LOOKS_LIKE.get(sign, sign) for sign in unicodedata.normalize("NFKC", name))
    return " ".join("".join(sign for sign in latin if unicodedata.category(sign) != "Cf").split())


def not_there(asked: str, known: Iterable[str]) -> tuple[str, str]:
    """What a file has in place of a column: a question for a message, and what differs; empty where nothing is near."""
    names = {looks(name): name for name in known}
    if (name := names.get(looks(asked))) is not None:
        what = f"; the file has {name!r}, which differs by {' and '.join(differences(asked, name))}"
        return f" (did you mean {name!r}?)", what
    close = difflib.get_close_matches(looks(asked), names, n=1)
    return (f" (did you mean {names[close[0]]!r}?)" if close else ""), ""


def differences(asked: str, name: str) -> list[str]:
    """By what two names differ that look alike.

    >>> differences("sex", " Sex"), differences("sex", "\\u0455ex")
    (['a leading space', 'capital letters'], ["U+0455 in place of 's'"])
    """
    found: list[str] = []
    for where, blank in (("leading", name[:1]), ("trailing", name[-1:])):
        if blank.isspace():
            found.append(f"a {where} {_called(blank)}")
    for sign in dict.fromkeys(name.strip()):
        if sign in asked:
            continue
        if sign in LOOKS_LIKE:
            found.append(f"U+{ord(sign):04X} in place of {LOOKS_LIKE[sign]!r}")
        elif unicodedata.category(sign) == "Cf" or (sign.isspace() and sign != " "):
            found.append(f"{_called(sign)} (U+{ord(sign):04X})")
    if _latin(asked) != _latin(name):
        found.append("capital letters")
    return found or ["how its letters or blanks are written"]


def _called(sign: str) -> str:
    known = {" ": "space", "\ufeff": "byte order mark"}
    return known.get(sign) or unicodedata.name(sign, "invisible character").lower()
