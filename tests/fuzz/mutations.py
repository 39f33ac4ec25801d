"""Changes to valid inputs that keep most of their structure: what stays whole is read further, and more code is tried.

All randomness is an argument, so that an input is known by its seed.
"""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

ODD_NUMBERS: tuple[Any, ...] = (
    0,
    -1,
    1,
    2,
    255,
    65_535,
    2**31 - 1,
    2**32 - 1,
    2**63 - 1,
    2**64,
    -(2**63),
    10**30,
    0.0,
    -0.0,
    0.5,
    1e-300,
    1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
)
ODD_TEXTS = (
    "",
    " ",
    "\0",
    "é",
    "\x1b[2J",
    "\u202e",
    "../../etc/passwd",
    "a" * 10_000,
    "𝔘",
    "NaN",
    "1e999",
    "-",
    "0",
    "true",
    "None",
    "[]",
    "clinic-a",
    "{}",
    "=1+1",
    '"',
    "'",
    "\n",
    "\r\n",
    "%s",
    "{0}",
    "9" * 5_000,
    "ı",
    "٣",
)
ODD_VALUES: tuple[Any, ...] = (*ODD_NUMBERS, *ODD_TEXTS, True, False, [], {}, [[]], [{}], {"a": 1}, [0] * 100)
TOKENS = (
    *"\"[]{}(),=:;\n\t|~+-*^#'\\",
    "'''",
    "[[",
    "a.b = 1",
    "1e999",
    "nan",
    "inf",
    "1979-05-27",
    "0x" + "f" * 5_000,
    "[" * 2_000,
    "(" * 2_000,
    '{"a":' * 2_000,
    "**",
    "C(",
    "rcs(",
    "Surv(",
    "log(",
    "\x00",
    "é",
    '"\\u001b[2J"',
)


def changed_bytes(data: bytes, draw: Random) -> bytes:
    """Bits flipped, spans cut out, doubled, moved or filled with numbers at which counters run over."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at, length = draw.randrange(len(found) + 1), draw.choice((1, 2, 4, 8, 32, 200))
        match draw.randrange(7):
            case 0 if found:
                found[at % len(found)] ^= 1 << draw.randrange(8)
            case 1 if found:
                found[at % len(found)] = draw.randrange(256)
            case 2:
                del found[at : at + length]
            case 3:
                found[at:at] = found[at : at + length]
            case 4:
                form, most = draw.choice((("<H", 16), ("<I", 32), ("<Q", 64), (">H", 16), (">I", 32)))
                number = draw.choice((0, 1, 2, (1 << most) - 1, 1 << (most - 1), draw.randrange(300)))
                found[at : at + struct.calcsize(form)] = struct.pack(form, number)
            case 5:
                found[at:at] = draw.randbytes(length)
            case _:
                del found[at:]
    return bytes(found)


REPEATED = (
    b"[",
    b"{",
    b'{"a":',
    b"a.",
    b"(",
    b"x+",
    b"0",
    b"1,",
    b"\n",
    b'"',
    b"\\",
    b"[[a]]\n",
    b"\0",
    "\u00e9".encode(),
)


def swollen(data: bytes, draw: Random, most: int) -> bytes:
    """A part of it, or what some grammar counts, over and over: up to this size, and often to a smaller one."""
    start, end = sorted(draw.choices(range(len(data) + 1), k=2))
    part = draw.choice((data[start:end], data[start : start + 20], data, *REPEATED)) or b" "
    size = int(most ** draw.uniform(0.7, 1.0))
    at = draw.choice((start, end, len(data)))
    return data[:at] + part * max(1, (size - len(data)) // len(part)) + data[at:]


def changed_text(text: str, draw: Random) -> str:
    """Spans cut out, doubled or swapped, and tokens put in that some grammar gives a meaning."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        start, end = sorted(draw.choices(range(len(text) + 1), k=2))
        if draw.random() < 0.7:
            end = min(end, start + draw.choice((0, 1, 3, 10)))
        piece = draw.choice((*TOKENS, *ODD_TEXTS, str(draw.choice(ODD_NUMBERS)), "", text[start:end] * 2))
        text = text[:start] + piece + text[end:]
    return text


def changed_tree(tree: Any, draw: Random) -> Any:
    """Tables and lists with a few values of other kinds or sizes, keys lost, doubled or renamed, and parts swapped."""
    tree = copy.deepcopy(tree)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        places = list(_places(tree))
        if not places:
            return draw.choice(ODD_VALUES)
        inside, key = draw.choice(places)
        other, its_key = draw.choice(places)
        match draw.randrange(8):
            case 0 | 1 | 2:
                inside[key] = copy.deepcopy(draw.choice(ODD_VALUES))
            case 3:
                inside[key] = near(inside[key], draw)
            case 4:
                inside[key] = copy.deepcopy(other[its_key])
            case 5 if isinstance(inside, dict):
                inside[changed_text(str(key), draw)] = inside.pop(key)
            case 6 if isinstance(inside, list):
                inside.insert(key, copy.deepcopy(inside[key]))
            case 7 if isinstance(inside, dict) and isinstance(key, str):
                inside[key + draw.choice(("x", "_", " ", "s"))] = copy.deepcopy(inside[key])
            case _:
                del inside[key]
    return tree


def swollen_tree(tree: Any, draw: Random) -> Any:
    """One value in it many times over: beside itself, within itself, or as long a text or number."""
    tree = copy.deepcopy(tree)
    inside, key = draw.choice([*_places(tree)])
    value, count = inside[key], int(10 ** draw.uniform(1, 4.5))
    several = [*value] if isinstance(value, list) else [value]
    match draw.randrange(6):
        case 0:
            inside[key] = several * count
        case 1 if isinstance(inside, dict):
            for number in range(count):
                inside[f"{key}{number}"] = value
        case 2:
            for _ in range(draw.choice((7, 8, 9, 31, 32, 33, 120))):
                inside[key] = draw.choice(([inside[key]], {"a": inside[key]}))
        case 3:
            inside[key] = 10 ** min(count, 4_299) if isinstance(value, int) else str(value) * count
        case 4 if isinstance(value, dict) and value:
            one = draw.choice([*value.values()])
            inside[key] = value | {f"{draw.choice([*value])}-{number}": one for number in range(count)}
        case _:
            inside[key] = [several] * count
    return tree


def near(value: Any, draw: Random) -> Any:
    """A value of the same kind, a little off."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return draw.choice((value + 1, value - 1, -value, value * 1000, value * 0.5, value // 3))
    if isinstance(value, str):
        return changed_text(value, draw)
    if isinstance(value, list):
        return draw.choice((value[::-1], value + value, value[:1], [value]))
    return value


def _places(tree: Any) -> Any:
    """Every value in a tree, as what it lies in and under which key."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)


def changed_cells(text: str, draw: Random) -> str:
    """A table with cells of other kinds, rows of other lengths, other quotes and other delimiters."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(draw.choice((1, 2, 5))):
        row = draw.choice(rows)
        at = draw.randrange(len(row) + 1)
        match draw.randrange(6):
            case 0 | 1 | 2 if row:
                row[at % len(row)] = str(
                    draw.choice((*ODD_VALUES, '"a\nb"', '"', "1,5", "2024-01-01", "5 mg"))
                )
            case 3:
                row.insert(at, "1")
            case 4:
                rows.append(list(row))
            case _:
                del row[at:]
    sign = draw.choice((",", ",", ",", ";", "\t", "|"))
    return draw.choice(("\n", "\n", "\r\n", "\r")).join(sign.join(row) for row in rows)


def pick(draw: Random, corpus: Sequence[Any]) -> Any:
    """One of the corpus."""
    return corpus[draw.randrange(len(corpus))]


def as_toml(tree: dict[str, Any]) -> str:
    """Tables as TOML, whatever their keys: every one in quotes, every table within another on its line."""
    return "".join(f"{_quoted(name)} = {_value(value)}\n" for name, value in tree.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_quoted(key)} = {_value(one)}' for key, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
