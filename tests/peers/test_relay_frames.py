"""WebSocket frames, beside those of the library."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from hocket.links.relay.frames import BINARY, LONGEST_FRAME, PING, Unframing, framed

SIZES = st.sampled_from([1, 3, 125, 126, 127, 1000, 65_535, 65_536, 70_001])


def message(size: int) -> bytes:
    return bytes(range(251)) * (size // 251) + bytes(range(size % 251))


def read_by_the_library(data: bytes, *, mask: bool) -> list[Frame]:
    """The library's parser is a generator that waits for bytes: all are there."""
    reader, found = StreamReader(), []
    reader.feed_data(data)
    reader.feed_eof()
    while True:
        parsing = Frame.parse(reader.read_exact, mask=mask, max_size=LONGEST_FRAME)
        try:
            next(parsing)
        except StopIteration as parsed:
            found.append(parsed.value)
        except EOFError:
            return found


@given(sizes=st.lists(SIZES, max_size=5), mask=st.booleans())
def test_the_library_reads_what_we_write(sizes, mask):
    said = b"".join(framed(BINARY, message(size), mask=mask) for size in sizes)
    found = read_by_the_library(said, mask=mask)
    assert [(frame.opcode, bytes(frame.data), frame.fin) for frame in found] == [
        (Opcode.BINARY, message(size), True) for size in sizes
    ]


@given(
    frames=st.lists(
        st.tuples(SIZES, st.sampled_from([Opcode.BINARY, Opcode.CONT]), st.booleans()), max_size=5
    ),
    mask=st.booleans(),
    cuts=st.lists(st.integers(0, 300_000), max_size=12),
)
def test_we_read_what_the_library_writes_wherever_it_is_cut(frames, mask, cuts):
    said = b"".join(Frame(op, message(size), fin=fin).serialize(mask=mask) for size, op, fin in frames)
    places = sorted({0, len(said), *(cut for cut in cuts if cut < len(said))})
    unframing, found, current = Unframing(masked=mask), [], b""
    ends = []
    for start, end in pairwise(places):
        for opcode, part, whole in unframing.parts(said[start:end]):
            current += part
            if not unframing._left:
                found.append((opcode, current))
                ends.append(whole)
                current = b""
    assert found == [(op, message(size)) for size, op, _ in frames]
    assert ends == [fin for _, _, fin in frames]


@pytest.mark.parametrize(
    "wrong",
    [
        framed(BINARY, b"x", mask=False),
        framed(BINARY, b"", mask=True),
        bytes([0xC2, 0x80]),
        bytes([0x81, 0x80]),
        bytes([0x83, 0x80]),
        bytes([0x09, 0x80]),
        bytes([0x89, 0xFE, 0, 126]),
        framed(BINARY, bytes(LONGEST_FRAME + 1), mask=True)[:14],
    ],
    ids=["not masked", "empty", "compressed", "text", "unknown", "half a ping", "long ping", "long"],
)
def test_other_frames_end_the_connection(wrong):
    with pytest.raises(ConnectionResetError, match="no frame of ours"):
        [*Unframing(masked=True).parts(wrong + bytes(8))]
    assert [*Unframing(masked=True).parts(framed(PING, b"", mask=True))] == [(PING, b"", True)]
