"""Messages as bytes: framed, typed and length-checked.

    magic        4   b"HKT\\0"
    version      1   PROTOCOL
    kind         1   see Kind
    plan        32   the plan's hash: members of another plan are not understood
    round        4   u32
    exchange     1   which exchange of the round
    parts        1   how many parts follow
    body         8   u64, bytes that follow
    unused       4
    each part:   dtype 1 (0 bytes, 1 float32, 2 float64, 3 uint8, 4 uint16, 5 uint32), ndim 1, unused 2,
                 shape u32 × ndim, then its data

All numbers are little-endian. What is unused makes a vector begin after 64 bytes: computing on numbers that lie askew
takes half as long again. TLS already authenticates what travels, so there is no checksum. Whether numbers are
finite and plausible is for anybody who knows the problem; here only their form is checked.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from hocket.errors import BadFrame
from hocket.links.text import spelled

PROTOCOL = 4
"""Raised when members of two versions could no longer understand each other; part of every plan."""
MAGIC = b"HKT\0"
HEADER = struct.Struct("<4sBB32sIBBQ4x")
PART = struct.Struct("<BB2x")
SHAPE = struct.Struct("<I")
MOST_AXES = 8
TYPES = {
    1: np.dtype("<f4"),
    2: np.dtype("<f8"),
    3: np.dtype("u1"),
    4: np.dtype("<u2"),
    5: np.dtype("<u4"),
}
CODES = {order: code for code, dtype in TYPES.items() for order in (dtype, dtype.newbyteorder(">"))}
RAW = 0

Part = bytes | np.ndarray


class Kind(IntEnum):
    """What a message is for."""

    NONCE = 1
    """The beginning of a handshake, see noise_keys.py."""
    KEY = 2
    """A signed public key for noise."""
    READY = 3
    """This member's keys are in its journal: noise may be used."""
    MESSAGE = 4
    """What an algorithm sends in one exchange of one round."""
    VOTE = 5
    """A signed vote on dropping a member."""
    DONE = 6
    """This member has all it needs and will not ask again."""
    ROSTER = 7
    """A member's signed number for this run, see federation/membership/roster.py."""
    RECORD = 8
    """What this end has sent and received so far, see federation/runtime/rollback.py."""
    STATE_SUM = 9
    """A member's masked state, see federation/runtime/convergence.py."""


KINDS = {int(kind): kind for kind in Kind}


class Frame(NamedTuple):
    """One message."""

    kind: Kind
    plan: bytes
    """The hash of the plan under which it is sent."""
    round: int = 0
    exchange: int = 0
    parts: Sequence[Part] = ()
    """Numbers, as float32 or float64 arrays or as whole ones without a sign, and plain bytes."""

    def plain(self, count: int) -> tuple[bytes, ...] | None:
        """Its parts, if they are so many and bytes all of them."""
        parts = tuple(part for part in self.parts if isinstance(part, bytes))
        return parts if len(parts) == len(self.parts) == count else None


class Limits(NamedTuple):
    """What a receiver puts up with."""

    bytes: int
    """The longest message, all told."""
    parts: int = 16

    @classmethod
    def for_messages(cls, size: int) -> Limits:
        """Room for an algorithm's message of `size` bytes with its framing, and for every other kind of message."""
        return cls(max(size, 1 << 16) + (1 << 12))


def pack(frame: Frame) -> bytes:
    """A frame as bytes."""
    body = [data for part in frame.parts for data in _pack_part(part)]
    count, length = len(frame.parts), sum(memoryview(data).nbytes for data in body)
    head = HEADER.pack(MAGIC, PROTOCOL, frame.kind, frame.plan, frame.round, frame.exchange, count, length)
    return b"".join([head, *body])


def pack_named(named: Mapping[str, bytes]) -> bytes:
    """Bytes by name without a frame, as a journal keeps them."""
    parts = [part for name, one in named.items() for part in (name.encode(), one)]
    return b"".join([data for part in parts for data in (PART.pack(RAW, 1), SHAPE.pack(len(part)), part)])


def unpack_named(data: bytes) -> dict[str, bytes]:
    """What `pack_named` packed."""
    parts = [bytes(part) for part in _parts(data, 0, None)]
    try:
        return {name.decode(): one for name, one in zip(parts[::2], parts[1::2], strict=True)}
    except ValueError:
        raise BadFrame("garbage: not bytes by name") from None


def unpack(data: bytes, limits: Limits, *, plan: bytes | None = None) -> Frame:
    """The frame in these bytes; arrays are read-only views of them. With `plan`, only frames of that plan."""
    if len(data) > limits.bytes:
        raise BadFrame(f"oversized: {len(data):,} bytes, where {limits.bytes:,} are the most")
    if len(data) < HEADER.size:
        raise BadFrame(f"truncated: {len(data)} bytes, where the header alone has {HEADER.size}")
    magic, version, kind, its_plan, round_, exchange, count, length = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise BadFrame(f"garbage: begins with {magic!r} instead of {MAGIC!r}")
    if version != PROTOCOL:
        raise BadFrame(
            f"another protocol version: {version} instead of {PROTOCOL}; install the same version of hocket"
        )
    if kind not in KINDS:
        raise BadFrame(f"unknown kind {kind}; install the same version of hocket")
    if plan is not None and its_plan != plan:
        raise BadFrame(
            f"another plan: {spelled(its_plan)} instead of {spelled(plan)}; compare the plan files, they must be equal"
        )
    if count > limits.parts:
        raise BadFrame(f"oversized: {count} parts, where {limits.parts} are the most")
    if len(data) != HEADER.size + length:
        what = "truncated" if len(data) < HEADER.size + length else "overlong"
        raise BadFrame(f"{what}: {len(data) - HEADER.size:,} bytes of body, announced were {length:,}")
    return Frame(KINDS[kind], its_plan, round_, exchange, _parts(data, HEADER.size, count))


def _parts(data: bytes, at: int, count: int | None) -> tuple[Part, ...]:
    """So many parts from there on, or as many as there are; nothing may be left."""
    view = memoryview(data)
    parts: list[Part] = []
    while len(parts) < count if count is not None else at < len(data):
        part, at = _unpack_part(view, at, len(parts))
        parts.append(part)
    if at != len(data):
        raise BadFrame(f"overlong: {len(data) - at:,} bytes after the last part")
    return tuple(parts)


def _pack_part(part: Part) -> list[bytes | memoryview]:
    """A part's bytes; numbers as they lie in memory, so that they are copied once only, into the message."""
    if isinstance(part, bytes):
        return [PART.pack(RAW, 1), SHAPE.pack(len(part)), part]
    array = np.asarray(part)
    code = CODES.get(array.dtype)
    if code is None:
        raise BadFrame(f"numbers of {array.dtype} cannot be sent; use float64 or float32, or uint8 to uint32")
    shape = b"".join(map(SHAPE.pack, array.shape))
    return [PART.pack(code, array.ndim), shape, np.ascontiguousarray(array, TYPES[code]).data]


def _unpack_part(view: memoryview, at: int, number: int) -> tuple[Part, int]:
    if len(view) < at + PART.size:
        raise BadFrame(f"truncated: part {number} is missing")
    code, axes = PART.unpack_from(view, at)
    at += PART.size
    if code != RAW and code not in TYPES:
        raise BadFrame(f"part {number} has the unknown dtype code {code}; install the same version of hocket")
    if axes > MOST_AXES or len(view) < at + SHAPE.size * axes:
        raise BadFrame(f"truncated: part {number} announces {axes} axes")
    shape = tuple(SHAPE.unpack_from(view, at + SHAPE.size * axis)[0] for axis in range(axes))
    at += SHAPE.size * axes
    size = math.prod(shape) * (1 if code == RAW else TYPES[code].itemsize)
    if len(view) < at + size:
        raise BadFrame(
            f"truncated: part {number} of shape {shape} needs {size:,} bytes, {len(view) - at:,} are left"
        )
    if size == 0 and max(shape, default=0) > len(view):  # more than NumPy can count to, times nothing
        raise BadFrame(f"part {number} of shape {shape} holds nothing; nobody sends that")
    data, end = view[at : at + size], at + size
    return (bytes(data) if code == RAW else np.frombuffer(data, TYPES[code]).reshape(shape)), end
