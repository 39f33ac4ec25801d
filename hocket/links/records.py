"""What both ends of a link remember of what was said over it: the last word heard, and a running digest of all words.

    digest(word)  = BLAKE3(message)
    running digest, one for each direction: d ← BLAKE3(LABEL ‖ d ‖ round u32 ‖ exchange u32 ‖ digest(word)), from zeros

Both ends of a link come to the same two running digests if they heard what the other said. A record goes to the disk
with the round that follows, so a crash and what is said again after it leave no trace in them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

from blake3 import blake3

from hocket.links.wire import pack_parts, unpack_parts

LABEL = b"hocket/record/1"
DIGEST_BYTES = 32
NOTHING = bytes(DIGEST_BYTES)
FORM = struct.Struct("<II32s32s32s")
MOMENT = struct.Struct("<II")


class Record(NamedTuple):
    """One link, as one end remembers it."""

    round: int = 0
    exchange: int = 0
    digest: bytes = NOTHING
    """Of the last word heard, in that exchange of that round."""
    said: bytes = NOTHING
    """The running digest of what this end said."""
    heard: bytes = NOTHING
    """The running digest of what it heard."""

    def after(self, round: int, exchange: int, *, said: bytes, heard: bytes) -> Record:
        """The record after one more exchange, given the digests of both words."""
        moment = MOMENT.pack(round, exchange)
        return Record(
            round, exchange, heard, _run_on(self.said, moment, said), _run_on(self.heard, moment, heard)
        )


def digest_of(message: bytes) -> bytes:
    """What stands for a word where the word itself is not kept."""
    return blake3(message).digest()


def packed(records: Mapping[str, Record]) -> bytes:
    """Records as a journal keeps them, by neighbour."""
    return pack_parts([part for name, one in records.items() for part in (name.encode(), FORM.pack(*one))])


def unpacked(data: bytes) -> dict[str, Record]:
    """What `packed` packed."""
    parts = [bytes(part) for part in unpack_parts(data)]
    return {
        name.decode(): Record(*FORM.unpack(one)) for name, one in zip(parts[::2], parts[1::2], strict=True)
    }


def _run_on(running: bytes, moment: bytes, digest: bytes) -> bytes:
    return blake3(LABEL + running + moment + digest).digest()
