"""NumPy arrays of lists of whole numbers, read without unpickling.

Keras keeps texts as an array of Python lists, which NumPy stores as a pickle: a little program that may call anything.
It is never run here. Its instructions are read one by one (`pickletools.genops` only parses), and only those are
followed that build lists of whole numbers; the one preamble allowed is NumPy's own for such an array, word by word.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from hocket.errors import BadProblem

Instruction = tuple[str, Any]

PREAMBLE: list[Instruction] = [
    ("PROTO", 2),
    ("GLOBAL", "numpy.core.multiarray _reconstruct"),
    ("GLOBAL", "numpy ndarray"),
    ("BININT1", 0),
    ("TUPLE1", None),
    ("SHORT_BINSTRING", "b"),
    ("TUPLE3", None),
    ("REDUCE", None),
    ("MARK", None),
    ("BININT1", 1),
    ("LENGTH", None),
    ("TUPLE1", None),
    ("GLOBAL", "numpy dtype"),
    ("SHORT_BINSTRING", "O8"),
    ("BININT1", 0),
    ("BININT1", 1),
    ("TUPLE3", None),
    ("REDUCE", None),
    ("MARK", None),
    ("BININT1", 3),
    ("SHORT_BINSTRING", "|"),
    ("NONE", None),
    ("NONE", None),
    ("NONE", None),
    ("BININT", -1),
    ("BININT", -1),
    ("BININT1", 63),
    ("TUPLE", None),
    ("BUILD", None),
    ("NEWFALSE", None),
]
"""How NumPy begins an array of objects; LENGTH stands for the number of its entries."""
ENDING: list[Instruction] = [("TUPLE", None), ("BUILD", None), ("STOP", None)]
NUMBERS = {"BININT", "BININT1", "BININT2"}
MEMO = {"BINPUT", "LONG_BINPUT"}
"""These only remember where an object is, in case that it is used again; nothing here is."""


@dataclass(frozen=True, eq=False)
class NumberLists:
    """Lists of numbers, one after the other: list i is numbers[bounds[i] : bounds[i + 1]]."""

    numbers: Int[np.ndarray, " numbers"]
    bounds: Int[np.ndarray, " lists+1"]

    @property
    def count(self) -> int:
        """How many lists there are."""
        return len(self.bounds) - 1

    def of(self, i: int) -> Int[np.ndarray, " length"]:
        """One list."""
        return self.numbers[self.bounds[i] : self.bounds[i + 1]]


def read_lists(content: bytes, name: str) -> NumberLists:
    """The lists in an .npy file; anything but lists of whole numbers is refused, and nothing is executed."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    except ValueError as error:
        raise BadProblem(f"{name} is no NumPy array ({error}); fetch it again") from error
    if version != (1, 0) or dtype != np.dtype(object) or len(shape) != 1:
        raise BadProblem(
            f"{name} holds {dtype} of shape {shape}, not one row of lists; fetch the file that Keras uses"
        )
    instructions = _instructions(content[file.tell() :], name)
    _expect(PREAMBLE, instructions, name)
    lists = _build(instructions, name)
    _expect(ENDING[1:], instructions, name)
    if lists.count != shape[0]:
        raise BadProblem(f"{name} promises {shape[0]} lists and holds {lists.count}; fetch it again")
    return lists


def _instructions(program: bytes, name: str) -> Iterator[Instruction]:
    """The instructions one by one, without the memo."""
    try:
        for code, argument, _ in pickletools.genops(program):
            if code.name not in MEMO:
                yield code.name, argument
    except ValueError as error:
        raise BadProblem(f"{name} breaks off or is damaged ({error}); fetch it again") from error


def _expect(expected: list[Instruction], found: Iterator[Instruction], name: str) -> None:
    for wanted in expected:
        got = next(found, ("nothing", None))
        if got != wanted and not (wanted[0] == "LENGTH" and got[0] in NUMBERS):
            raise _refusal(got, name)


def _build(instructions: Iterator[Instruction], name: str) -> NumberLists:
    """Follow the instructions of one list of lists, up to the first that ends it."""
    stack: list[Any] = []
    for code, argument in instructions:
        if code in NUMBERS:
            stack.append(argument)
        elif code == "EMPTY_LIST":
            stack.append([])
        elif code == "MARK":
            stack.append(None)
        elif code == "APPEND" and len(stack) > 1 and isinstance(stack[-2], list):
            entry = stack.pop()
            stack[-1].append(entry)
        elif code == "APPENDS" and None in stack:
            mark = len(stack) - 1 - stack[::-1].index(None)
            entries = stack[mark + 1 :]
            del stack[mark:]
            if not stack or not isinstance(stack[-1], list):
                raise _refusal((code, argument), name)
            stack[-1].extend(entries)
        elif (code, argument) == ENDING[0] and len(stack) == 1 and isinstance(stack[0], list):
            return _joined(stack[0], name)
        else:
            raise _refusal((code, argument), name)
    raise BadProblem(f"{name} breaks off inside its lists; fetch it again")


def _joined(lists: list[Any], name: str) -> NumberLists:
    for i, one in enumerate(lists):
        if not isinstance(one, list) or any(type(number) is not int for number in one):
            raise BadProblem(
                f"entry {i} of {name} is no list of whole numbers; fetch the file that Keras uses"
            )
    numbers = np.fromiter((number for one in lists for number in one), dtype=np.int32)
    return NumberLists(numbers, np.cumsum([0, *(len(one) for one in lists)], dtype=np.int64))


def _refusal(found: Instruction, name: str) -> BadProblem:
    code, argument = found
    what = code if argument is None else f"{code} {argument!r}"
    return BadProblem(
        f"{name} says {what} where only lists of whole numbers may be built; it was not executed: fetch the file "
        "that Keras uses"
    )
