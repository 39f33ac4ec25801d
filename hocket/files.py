"""Files that somebody else may have written: their size is bounded before they are read, their form before they are
parsed.

Parsers are called from here and from nowhere else. TOML is the dangerous one: time and memory of Python's parser
grow with the square of a key's parts, to 10 GB for one key of 100 kB, and each section takes 1 kB.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hocket.errors import BadConfig

if TYPE_CHECKING:
    import numpy as np

DEEPEST = 8
"""Parts of a key; ours have three."""
NESTED = 32
"""Lists and tables within each other; ours are four deep."""
LONGEST_KEY = 1_000
"""Characters of one part of a key."""
MOST_KEYS = 50_000
"""Keys and sections of a file: a thousand members' cards and signatures have five thousand."""

_BLANK = r"[ \t]*+"
_TEXT = r'"(?:[^"\\\n]++|\\[^\n])*+"' + r"|'[^'\n]*+'"
_PART = rf"(?:[A-Za-z0-9_-]++|{_TEXT})"
_TOKEN = re.compile(
    # Up to two quotes may stand within, and before the three that end it.
    r'"""(?:[^"\\]++|\\[\s\S]|"{1,2}+(?!"))*+(?:"{3,5}+|\\?\Z)'
    r"|'''(?:[^']++|'{1,2}+(?!'))*+(?:'{3,5}+|\Z)"
    r"|#[^\n]*+"
    rf"|(?P<deep>{_PART}(?:{_BLANK}\.{_BLANK}{_PART}){{{DEEPEST}}})"
    rf"|(?P<key>{_PART})(?={_BLANK}[.=])"
    rf"|{_PART}"
    r"|(?P<open>[\[{])"
    r"|(?P<close>[\]}])"
    r"|(?P<is>=)"
    r"|(?P<end>[\"'])"  # of a text that does not end: here the parser stops, too
)
"""What a TOML file consists of, as far as its bounds go. Whatever is no token is passed over: the parser refuses it."""


def read_bytes(path: Path, most: int) -> bytes:
    """What a file of at most so many bytes holds; a longer one is refused before it is read, as is what is no file."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise BadConfig(f"{path} is a {'folder' if path.is_dir() else 'device'}; name a file")
    if about.st_size > most:
        _too_long(path, about.st_size, most)
    with path.open("rb") as file:
        data = file.read(about.st_size + 1)  # room is made for as many as are asked for
        if len(data) > about.st_size:  # it grows, or its file system tells no sizes
            data += file.read(most + 1 - len(data))
    if len(data) > most:
        _too_long(path, len(data), most)
    return data


def read_text(path: Path, most: int) -> str:
    """The text in a file of at most so many bytes."""
    try:
        return read_bytes(path, most).decode()
    except UnicodeDecodeError as error:
        raise BadConfig(
            f"{path} is not text in UTF-8: {error.reason} at byte {error.start}; save it as UTF-8"
        ) from None


def _too_long(path: Path, size: int, most: int) -> NoReturn:
    raise BadConfig(f"{path} has {size:,} bytes, where {most:,} are the most; name the file that is meant")


def toml_tables(text: str) -> dict[str, Any]:
    """Tables from TOML; whatever is wrong with it is one kind of error, which says no more than what."""
    text = text.removeprefix("\ufeff")  # which editors on Windows put first
    _check_form(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"not valid TOML: {error}") from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise BadConfig("not valid TOML: a number has too many digits") from None


def _check_form(text: str) -> None:
    """Refuse what costs the parser more than its bytes are worth. Up to the first mistake in the file, at which the
    parser stops, a token here is what the parser takes for one."""
    depth = keys = 0
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind is None:
            continue
        if kind == "end":
            return
        if kind == "open":
            keys += depth == 0  # a section's heading, or a list that has its key besides
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "is":
            keys += 1
        wrong = (
            f"a key has more than {DEEPEST} parts"
            if kind == "deep"
            else f"a key has more than {LONGEST_KEY:,} characters"
            if kind == "key" and found.end() - found.start() > LONGEST_KEY
            else f"lists and tables are nested more than {NESTED} deep"
            if depth > NESTED
            else f"there are more than {MOST_KEYS:,} keys"
            if keys > MOST_KEYS
            else None
        )
        if wrong is not None:
            line = text.count("\n", 0, found.start()) + 1
            raise BadConfig(f"not valid TOML for hocket: in line {line} {wrong}")


def json_value(text: str | bytes, *, parse_float: Callable[[str], Any] = float) -> Any:
    """A value from JSON. Its time and memory are bounded by its length, which the caller has bounded."""
    try:
        return json.loads(text, parse_float=parse_float)
    except RecursionError:
        raise BadConfig("not valid JSON: lists in lists in lists, deeper than any that is meant") from None
    except ValueError as error:  # text that is no UTF-8 is one too, and a number of too many digits
        raise BadConfig(f"not valid JSON: {error}") from None


def csv_rows(text: str, delimiter: str) -> list[list[str]]:
    """Rows of cells from a text; `csv.Error` where it is none."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))


UNREADABLE = (OSError, ValueError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)
"""What archives of whatever bytes raise; a RuntimeError where they claim to be encrypted, or packed in another way, and
a MemoryError where an array claims to be larger than this machine's memory."""


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as comma-separated values, every digit kept; a spreadsheet that opens them computes nothing."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_defused, row) for row in rows)
    return text.getvalue()


def _defused(cell: object) -> object:
    """A text that a spreadsheet would take for a formula, behind the mark by which it takes it for a text."""
    if not isinstance(cell, str):
        return cell
    if not cell.lstrip(" ").startswith(FORMULA):
        return cell.replace("\r", " ")  # which ends a row, and is put into no quotes
    try:
        float(cell)  # a number may begin with its sign
    except ValueError:
        return f"'{cell}".replace("\r", " ")
    return cell


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How cells begin that spreadsheets compute, the last four as they are typed in Japan."""
USUAL_ARCHIVE, USUAL_RATIO = 1_000_000_000, 100
"""Bytes that an archive may hold, or times its size where that is more: zeros are packed a thousand times smaller."""


def arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays in one of NumPy's archives, unless it is a bomb; nothing stored can run code. Whatever is wrong raises
    one of UNREADABLE."""
    import numpy as np  # here, because a relay does without

    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or not zipfile.is_zipfile(file):
            raise ValueError("it is no archive of arrays with names")
        file.seek(0)
        most = max(USUAL_ARCHIVE, USUAL_RATIO * about.st_size)
        with zipfile.ZipFile(file) as packed:
            size = sum(one.file_size for one in packed.infolist())
        if size > most:
            raise ValueError(f"it unpacks to {size:,} bytes, where {most:,} are the most")
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            return dict(archive)
