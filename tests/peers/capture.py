"""A packet capture on one machine, and what is looked for in it: `python -m tests.peers.capture FILE`, until SIGTERM.

Frames are taken from the kernel (AF_PACKET), each behind its length; bytes are put together by connection and sequence
number, so that nothing hides on the border of two packets.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import struct
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

ALL_FRAMES, SOL_PACKET, STATISTICS = 0x0003, 263, 6
SO_RCVBUFFORCE = 33
LONGEST_FRAME = 1 << 17
IPV4, TCP = 0x0800, 6
DISTINCT = 5
"""Different bytes that a pattern of 8 must have: zeros and the like are everywhere. What is left is found by chance
once in 2^64, for each pattern and each place."""


def capture(path: Path) -> None:
    """All frames at this machine's interface, into a file."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_FRAMES))
    wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
    wire.bind(("eth0", 0))
    with path.open("wb") as file, contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print("capturing", flush=True)  # noqa: T201
        while True:
            frame = wire.recv(LONGEST_FRAME)
            file.write(struct.pack("!I", len(frame)) + frame)
    _, dropped = struct.unpack("II", wire.getsockopt(SOL_PACKET, STATISTICS, 8))
    sys.exit(f"{dropped} frames were dropped" if dropped else 0)


def streams(path: Path) -> list[bytes]:
    """What was said in either direction of every TCP connection in a capture."""
    said: defaultdict[bytes, dict[int, bytes]] = defaultdict(dict)
    first: dict[bytes, int] = {}
    for frame in pieces(path.read_bytes()):
        if int.from_bytes(frame[12:14], "big") != IPV4 or frame[14 + 9] != TCP:
            continue
        length = int.from_bytes(frame[16:18], "big")
        segment = frame[14 + 4 * (frame[14] & 0x0F) : 14 + length]
        data = segment[4 * (segment[12] >> 4) :]
        if data:
            ends = frame[26:34] + segment[:4]
            number = int.from_bytes(segment[4:8], "big")
            place = (number - first.setdefault(ends, number) + (1 << 31)) % (1 << 32)
            said[ends][place] = max(said[ends].get(place, b""), data, key=len)
    return [_joined(found) for found in said.values()]


def pieces(data: bytes) -> Iterator[bytes]:
    """What was written one behind the other, each behind its length."""
    at = 0
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


def _joined(segments: dict[int, bytes]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for place in sorted(segments):
        parts.append(segments[place][max(0, at - place) :])
        at = max(at, place + len(segments[place]))
    return b"".join(parts)


def patterns(texts: Iterable[bytes]) -> np.ndarray:
    """All that stands in eight bytes on end anywhere in these."""
    found = [_windows(text) for text in texts if len(text) >= 8]
    every = np.unique(np.concatenate(found)) if found else np.zeros(0, "<u8")
    bytes_of = np.sort(every.view(np.uint8).reshape(-1, 8), axis=1)
    return every[(np.diff(bytes_of, axis=1) != 0).sum(axis=1) >= DISTINCT - 1]


def numbers(values: np.ndarray) -> np.ndarray:
    """Float64 numbers as patterns, in both byte orders."""
    given = np.ascontiguousarray(values, "<f8").ravel()
    return patterns([one.tobytes() for order in (given, given.byteswap()) for one in order])


def held(sought: np.ndarray, said: Iterable[bytes]) -> int:
    """How many places in what was said hold one of these patterns."""
    return sum(int(np.isin(_windows(text), sought).sum()) for text in said if len(text) >= 8)


def _windows(text: bytes) -> np.ndarray:
    """Eight bytes from every place on."""
    every = np.lib.stride_tricks.sliding_window_view(np.frombuffer(text, np.uint8), 8)
    return np.ascontiguousarray(every).view("<u8").ravel()


if __name__ == "__main__":
    capture(Path(sys.argv[1]))
