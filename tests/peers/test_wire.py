"""Frames: what was packed comes out again, and everything else is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hocket.errors import BadFrame
from hocket.links.wire import HEADER, PROTOCOL, Frame, Kind, Limits, pack, pack_named, unpack, unpack_named

PLAN = bytes(range(32))
ROOMY = Limits(1 << 20)
WORD = Frame(Kind.MESSAGE, PLAN, 7, 1, (np.array([1.0, -2.5]), np.float32([[3.0]]), b"note"))

PARTS = st.lists(
    st.binary(max_size=40)
    | arrays.arrays(
        st.sampled_from([np.float32, np.float64]), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)
    ),
    max_size=5,
)


def same(one, other):
    if isinstance(one, bytes):
        return one == other
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(Kind),
    st.binary(min_size=32, max_size=32),
    st.integers(0, 2**32 - 1),
    st.integers(0, 255),
    PARTS,
)
def test_what_is_packed_comes_out_bit_for_bit(kind, plan, round, exchange, parts):
    frame = unpack(pack(Frame(kind, plan, round, exchange, parts)), ROOMY, plan=plan)
    assert frame[:4] == (kind, plan, round, exchange)
    assert all(same(*pair) for pair in zip(parts, frame.parts, strict=True))


@given(st.dictionaries(st.text(), st.binary()))
def test_what_a_journal_keeps_by_name_comes_out_the_same(named):
    assert unpack_named(pack_named(named)) == named


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda tail: pack(WORD)[:38] + tail))
def test_garbage_is_refused_and_nothing_else_happens(data):
    with pytest.raises(BadFrame):
        unpack(data, ROOMY)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(pack(WORD)) - 1))
def test_every_truncation_is_noticed(length):
    with pytest.raises(BadFrame, match="truncated"):
        unpack(pack(WORD)[:length], ROOMY)


def changed(at, byte):
    data = bytearray(pack(WORD))
    data[at] = byte
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: somewhere.example\r\nAccept: everything", "garbage: begins with b'GET '"),
        (changed(4, PROTOCOL + 1), f"another protocol version: {PROTOCOL + 1} instead of {PROTOCOL}"),
        (changed(5, 99), "unknown kind 99"),
        (changed(6, 255), "another plan: zu.* instead of ba.*; compare the plan files"),
        (changed(43, 17), "oversized: 17 parts, where 16 are the most"),
        (changed(43, 4), "truncated: part 3 is missing"),
        (changed(43, 2), "overlong: 12 bytes after the last part"),
        (changed(HEADER.size, 9), "part 0 has the unknown dtype code 9"),
        (changed(HEADER.size + 1, 9), "part 0 announces 9 axes"),
        (changed(HEADER.size + 4, 200), r"part 0 of shape \(200,\) needs 1,600 bytes"),
        (pack(WORD) + b"x", "overlong: 53 bytes of body, announced were 52"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said(data, words):
    with pytest.raises(BadFrame, match=words):
        unpack(data, ROOMY, plan=PLAN)


def test_limits_are_checked_before_anything_is_read():
    data = pack(Frame(Kind.MESSAGE, PLAN, parts=(np.zeros(1000),)))
    with pytest.raises(BadFrame, match=r"oversized: 8,064 bytes, where 8,063 are the most"):
        unpack(data, Limits(len(data) - 1))
    assert unpack(data, Limits(len(data))).parts[0].shape == (1000,)
    assert Limits.for_messages(8000).bytes > len(data)


def test_a_huge_shape_that_holds_nothing_is_refused():
    """Its size is zero, so that any length would do; NumPy cannot make it all the same."""
    data = bytearray(pack(Frame(Kind.MESSAGE, PLAN, parts=(np.zeros((0, 1, 1)),))))
    data[HEADER.size + 8 : HEADER.size + 16] = b"\xff" * 8
    with pytest.raises(BadFrame, match=r"part 0 of shape \(0, 4294967295, 4294967295\) holds nothing"):
        unpack(bytes(data), Limits(1 << 20))


def test_an_announced_size_is_never_believed():
    """Shapes whose product overflows 64 bits cost nothing, not even an allocation."""
    data = bytearray(pack(Frame(Kind.MESSAGE, PLAN, parts=(np.zeros((1, 1, 1)),))))
    data[HEADER.size + 4 : HEADER.size + 16] = b"\xff" * 12
    with pytest.raises(BadFrame, match="truncated: part 0 of shape"):
        unpack(bytes(data), ROOMY)


def test_other_types_are_not_sent():
    with pytest.raises(BadFrame, match="numbers of int64 cannot be sent; use float64 or float32"):
        pack(Frame(Kind.MESSAGE, PLAN, parts=(np.arange(3),)))


def test_arrays_are_views_that_cannot_be_changed():
    (array,) = unpack(pack(Frame(Kind.MESSAGE, PLAN, parts=(np.arange(3.0),))), ROOMY).parts
    assert not array.flags.writeable
    assert not array.flags.owndata


def test_big_endian_numbers_arrive_too():
    (array,) = unpack(pack(Frame(Kind.MESSAGE, PLAN, parts=(np.arange(3, dtype=">f8"),))), ROOMY).parts
    np.testing.assert_array_equal(array, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_framing_costs_64_bytes_and_a_vector_lies_straight(dtype):
    data = pack(Frame(Kind.MESSAGE, PLAN, parts=(np.zeros(3, dtype),)))
    assert len(data) == 64 + 3 * np.dtype(dtype).itemsize
    assert unpack(data, ROOMY).parts[0].flags.aligned
