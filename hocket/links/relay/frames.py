"""WebSocket frames (RFC 6455) around bytes that are passed on as they come.

The library parses a frame once it is whole, and copies it five times on the way; here its parts are handed on at once.
What a frame means is little: bytes, a ping, a pong or the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

CONTINUED, BINARY, CLOSE, PING, PONG = 0x0, 0x2, 0x8, 0x9, 0xA
FINAL, MASKED = 0x80, 0x80
LONGEST_FRAME = 1 << 20
LONGEST_CONTROL = 125
LONGEST_HEAD = 14
MORE = {126: 2, 127: 8}
"""Bytes that hold the length, where the first does not."""

Bytes = bytes | memoryview


def framed(opcode: int, data: Bytes, *, mask: bool) -> bytes:
    """One frame. Who dials masks what it says, so that no web cache on the way takes it for something else."""
    size, bit = len(data), MASKED if mask else 0
    if size <= LONGEST_CONTROL:
        head = bytes([FINAL | opcode, bit | size])
    elif size < 1 << 16:
        head = bytes([FINAL | opcode, bit | 126, *size.to_bytes(2, "big")])
    else:
        head = bytes([FINAL | opcode, bit | 127, *size.to_bytes(8, "big")])
    if not mask:
        return b"".join((head, data))
    key = os.urandom(4)
    return b"".join((head, key, _masked(data, key)))


class Unframing:
    """The parts of frames, from bytes that are cut anywhere."""

    def __init__(self, *, masked: bool):
        self.masked = masked
        self._head = b""
        self._left: int | None = None
        """Bytes of the frame that have not come yet; None between two frames."""
        self._opcode, self._final, self._key = BINARY, True, b""

    def parts(self, piece: Bytes) -> Iterator[tuple[int, Bytes, bool]]:
        """For each part of a frame in this piece: what it is, the part, and whether a message ends with it."""
        data = memoryview(piece)
        while True:
            if self._left is None:
                head = self._head + data[:LONGEST_HEAD]
                size = self._begin(head)
                if not size:
                    self._head = head
                    return
                data, self._head = data[size - len(self._head) :], b""
            assert self._left is not None
            part, data = data[: self._left], data[self._left :]
            self._left -= len(part)
            yield self._opcode, self._unmasked(part), self._final and not self._left
            if self._left:
                return
            self._left = None

    def _begin(self, head: bytes) -> int:
        """Read the head of a frame; its size, or 0 if it is not all there."""
        if len(head) < 2:
            return 0
        opcode, length = head[0] & 0x0F, head[1] & 0x7F
        more = MORE.get(length, 0)
        size = 2 + more + (4 if self.masked else 0)
        if len(head) < size:
            return 0
        if more:
            length = int.from_bytes(head[2 : 2 + more], "big")
        final, control = bool(head[0] & FINAL), opcode >= CLOSE
        fits = final and length <= LONGEST_CONTROL if control else 0 < length <= LONGEST_FRAME
        known = opcode in (CONTINUED, BINARY, CLOSE, PING, PONG) and not head[0] & 0x70
        if not (fits and known and bool(head[1] & MASKED) == self.masked):
            raise ConnectionResetError("it says what is no frame of ours")
        self._opcode, self._final, self._left = opcode, final, length
        self._key = head[size - 4 : size] if self.masked else b""
        return size

    def _unmasked(self, part: memoryview) -> Bytes:
        """The part as it was meant; the key goes on where the last part of the frame left off."""
        if not self.masked:
            return part
        key, turn = self._key, len(part) % 4
        self._key = key[turn:] + key[:turn]
        return _masked(part, key)


def _masked(data: Bytes, key: bytes) -> bytes:
    from websockets.frames import apply_mask  # pyright: ignore[reportPrivateImportUsage]

    return apply_mask(data, key)
