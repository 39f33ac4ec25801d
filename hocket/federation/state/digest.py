"""A digest of data: bytes that change with anything in arrays, files, numbers and text."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from hocket.errors import BadInput
from hocket.links.text import is_list, is_table

LABEL = b"hocket/digest/1\n"


def digest_of(*data: Any) -> bytes:
    """32 bytes that change with the data: arrays, files (as `Path`), text, numbers, in lists, tuples and dictionaries.

    >>> digest_of([1.0, 2.0]) == digest_of([1.0, 2.0]), digest_of([1.0, 2.0]) == digest_of([1.0, 2.5])
    (True, False)
    """
    total = hashlib.sha256(LABEL)
    _feed(total, data)
    return total.digest()


def _feed(total: Any, value: Any) -> None:
    """Add a value, with its kind and its length, so that no two values are spelt alike."""
    if isinstance(value, Path):
        total.update(b"file")
        with value.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    elif isinstance(value, bytes | str):
        text = value.encode() if isinstance(value, str) else value
        total.update(f"{type(value).__name__} {len(text)}\n".encode() + text)
    elif is_table(value):
        total.update(f"table {len(value)}\n".encode())
        for key in sorted(value, key=str):
            _feed(total, [str(key), value[key]])
    elif is_list(value):
        total.update(f"list {len(value)}\n".encode())
        for one in value:
            _feed(total, one)
    else:
        _feed_array(total, value)


def _feed_array(total: Any, value: Any) -> None:
    array = np.asarray(value)
    if array.dtype.hasobject:
        if array.ndim == 0:
            raise BadInput(
                f"a digest of {type(value).__name__} cannot be made; give arrays, files, numbers, text, or lists of "
                "them, or the task a data_digest() of its own"
            )
        _feed(total, array.tolist())
        return
    total.update(f"array {array.dtype.str} {array.shape}\n".encode())
    total.update(np.ascontiguousarray(array).tobytes())
