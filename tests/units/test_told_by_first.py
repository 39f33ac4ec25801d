"""What process 0 tells all others arrives whole, whatever its length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.experimental import multihost_utils

from hocket.engines.cluster.processes import told_by_first

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def heard_by(value: Any, own: Any) -> Any:
    """What a process that has `own` hears while process 0 tells `value`."""
    said: list[np.ndarray] = []

    def tell(array: Any) -> np.ndarray:
        said.append(np.asarray(array))
        return said[-1]

    def hear(array: Any) -> np.ndarray:
        told = said.pop(0)
        assert (told.shape, told.dtype) == (np.shape(array), np.asarray(array).dtype)  # or a collective hangs
        return told

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multihost_utils, "broadcast_one_to_all", tell)
        told_by_first(value)
        patch.setattr(multihost_utils, "broadcast_one_to_all", hear)
        return told_by_first(own)


@given(value=VALUES, own=VALUES)
def test_all_hear_what_the_first_has(value, own):
    assert heard_by(value, own) == value


@pytest.mark.parametrize("length", [1 << 14, 1 << 17])
def test_a_long_word_is_not_cut(length):
    word = "é" * length
    assert heard_by([word, None], ["", "refused"]) == [word, None]
    assert heard_by(["", "refused"], [word, None]) == ["", "refused"]
