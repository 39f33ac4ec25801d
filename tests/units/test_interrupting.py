"""Ctrl-C and SIGTERM: a run stops where it can be taken up again, wherever the signal finds it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.engines import simulator
from hocket.errors import Interrupted


def play(algorithm: hk.Algorithm, **asked: Any) -> hk.Run:
    given = {
        "rounds": 3000,
        "step": hk.Power(1, 20, 0.75),
        "start": [1, -0.5, 0.25, -0.75, 0.5],
        "progress": True,
    }
    return hk.solve(hk.paper_polynomials(), hk.Network.cycle(5), algorithm, **(given | asked))


class LastWord:
    """Sends a signal when it is thrown away: what a handler raises there, Python drops."""

    def __init__(self, number: int):
        self.number = number

    def __del__(self) -> None:
        os.kill(os.getpid(), self.number)


def asked_to_stop(number: int, *, after: int, times: int = 1) -> Callable[..., None]:
    """In place of the progress bar: a signal at the first look after a round."""
    left = [times]

    def update(bar: Any, done: int, **_: Any) -> None:
        while done >= after and left[0]:
            left[0] -= 1
            LastWord(number)

    return update


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_resumed_to_the_same_bits(tmp_path, monkeypatch, number):
    whole = play(hk.RssNb(1.0))
    before = signal.getsignal(number)
    monkeypatch.setattr(simulator.Bar, "update", asked_to_stop(number, after=100))
    with pytest.raises(
        Interrupted, match=r"interrupted after round \d+ of 3000; what was reached is in"
    ) as error:
        play(hk.RssNb(1.0), checkpoint=tmp_path)
    assert 100 <= error.value.round < 3000
    assert error.value.checkpoint == tmp_path
    assert "run the same again to go on from there" in str(error.value)
    assert signal.getsignal(number) is before
    monkeypatch.undo()
    resumed = play(hk.RssNb(1.0), checkpoint=tmp_path)
    np.testing.assert_array_equal(resumed.x, whole.x)
    np.testing.assert_array_equal(resumed.time_average, whole.time_average)
    np.testing.assert_array_equal(resumed.history["round"], whole.history["round"])
    np.testing.assert_array_equal(resumed.history["gap"], whole.history["gap"])


def test_without_a_checkpoint_an_interrupted_run_says_how_to_keep_one(monkeypatch):
    monkeypatch.setattr(simulator.Bar, "update", asked_to_stop(signal.SIGINT, after=1))
    with pytest.raises(Interrupted, match="nothing was kept: pass checkpoint=FOLDER next time") as error:
        play(hk.Dgd())
    assert error.value.checkpoint is None


def test_the_second_signal_finds_the_handler_that_was_there_before(monkeypatch):
    received = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        monkeypatch.setattr(simulator.Bar, "update", asked_to_stop(signal.SIGINT, after=1, times=2))
        with pytest.raises(Interrupted):
            play(hk.Dgd())
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == [signal.SIGINT]


def test_a_run_beside_the_main_thread_leaves_signals_alone():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(play, hk.Dgd(), rounds=10).result().rounds == 10
