"""The IDX format, in which MNIST is kept: a header of sizes, then bytes."""

from __future__ import annotations

import math

import numpy as np

from hocket.errors import BadProblem

BYTES = 8
"""The code of unsigned bytes, the only kind of numbers in MNIST."""


def read_idx(content: bytes, name: str) -> np.ndarray:
    """The array in an IDX file, unpacked; a file that does not add up is refused by its name.

    >>> read_idx(bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]), "tiny")
    array([[7, 8, 9]], dtype=uint8)
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != BYTES:
        raise BadProblem(
            f"{name} is no IDX file of bytes: it begins with {content[:4].hex(' ')}; fetch it again"
        )
    axes = content[3]
    start = 4 + 4 * axes
    if len(content) < start:
        raise BadProblem(f"{name} ends after {len(content)} bytes, inside its header; fetch it again")
    shape = [int.from_bytes(content[place : place + 4], "big") for place in range(4, start, 4)]
    if len(content) - start != math.prod(shape):
        raise BadProblem(
            f"{name} holds {len(content) - start} bytes where its header promises {math.prod(shape)}; fetch it again"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
