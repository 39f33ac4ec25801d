"""A device without room says how much a run needs, and what to lower."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import hocket as hk
from hocket.engines import simulator
from hocket.engines.compiled.player import Compiled
from hocket.errors import OutOfMemory
from tests.units.engine_cases import play


def exhausted(*args: object, **kwargs: object) -> None:
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1234 bytes.")


def test_a_full_device_says_what_the_run_needs_and_what_to_lower(monkeypatch):
    monkeypatch.setattr(simulator, "_play", exhausted)
    with pytest.raises(OutOfMemory) as caught:
        play(hk.Dgd())
    said = str(caught.value)
    assert said.startswith("out of memory on cpu:0: data and states alone take ")
    assert "take dtype='float32'" in said
    assert "lower the agents (6), their dimension (2)" in said
    assert "engine='cluster'" in said


def test_before_anything_is_compiled_data_and_states_are_counted(monkeypatch):
    monkeypatch.setattr("hocket.engines.solver.prepare", exhausted)
    with pytest.raises(OutOfMemory, match="alone take 360 bytes; leave the time average out"):
        play(hk.Dgd(), dtype=np.float32)  # 36 coefficients, 6 agents, 4 times 12 coordinates


def test_other_errors_pass(monkeypatch):
    def broken(*args: object, **kwargs: object) -> None:
        raise ValueError("something else")

    monkeypatch.setattr(Compiled, "advance", broken)
    with pytest.raises(ValueError, match="something else"):
        play(hk.Dgd())
