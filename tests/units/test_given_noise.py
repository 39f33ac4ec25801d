"""Noise that a user brings along is held against what the algorithm promises of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm
from hocket.privacy.audit import text
from tests.laws.table import quadratics, ring_with_chords

GRAPH = ring_with_chords()
PROBLEM = quadratics(GRAPH.n, 2, 1)


def play(algorithm: hk.Algorithm, **how: Any) -> hk.Run:
    how = {"step": hk.Power(0.5, 10, 0.75), "rounds": 5, "seed": 0, "progress": False} | how
    return hk.solve(PROBLEM, GRAPH, algorithm, **how)


def late(value: float, sender: int, receiver: int):
    """One draw alone, in round 4."""
    return lambda i, j, k: [value if (i, j, k) == (sender, receiver, 4) else 0.0, 0.0]


def dealt(run: hk.Run, kind: str) -> np.ndarray:
    """A run's noise as a table: balanced noise is what an agent tells each neighbour beside its state."""
    if kind != "balanced":
        return run.transcript.noise[kind]
    words, alpha = run.transcript.words[0], run.step.table(1, run.rounds)
    table = np.zeros((run.rounds, len(GRAPH.links), 2, 2))
    for link, (low, high) in enumerate(GRAPH.links.tolist()):
        for direction, (sender, receiver) in enumerate([(low, high), (high, low)]):
            told = words[:, sender, sorted(GRAPH.neighbours(sender)).index(receiver)]
            table[:, link, direction] = (told - run.path[:-1, sender]) / alpha[:, None]
    return table


@pytest.mark.parametrize(
    ("algorithm", "says"),
    [
        (
            lambda: hk.RssNb(1.0, given=late(1.5, 2, 1)),
            r"adds 1\.5 in norm to agent 1 in round 4, and delta = 1 bounds it; .*delta=1\.5 or more, or delta=0",
        ),
        (
            lambda: hk.RssLb(9.0, given=late(0.5, 3, 2)),
            r"noise of agent 3 in round 4 does not balance.* must sum to zero; subtract its share",
        ),
        (
            lambda: hk.FunctionSharing(
                2, 0.5, given=lambda i, j, k: [0.0, 0.9 if (i, j) == (2, 1) else 0.1] * 3
            ),
            r"noise from agent 2 to agent 1 is 0\.9 in round 1, and bound = 0\.5 bounds it; .*bound=0\.9 or more",
        ),
    ],
    ids=["pairwise", "balanced", "functions"],
)
def test_what_breaks_a_promise_is_refused_with_agent_and_round(algorithm, says):
    """All were run as they were, under the same Δ on every page."""
    with pytest.raises(BadAlgorithm, match=says):
        play(algorithm())


def test_balanced_noise_beyond_its_bound_is_refused():
    drawn = dealt(play(hk.RssLb(1.0), keep="transcript"), "balanced")
    play(hk.RssLb(1.0, given=drawn))
    with pytest.raises(
        BadAlgorithm, match=r"your own noise from agent \d to agent \d is .* delta = 0\.01 bounds it"
    ):
        play(hk.RssLb(0.01, given=drawn))


@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        ("paired", lambda **noise: hk.RssNb(1.0, **noise)),
        ("paired", lambda **noise: hk.RssNb(1.0, persistent=0.5, **noise)),
        ("paired", lambda **noise: hk.RssNb(1.0, distribution="gaussian", **noise)),
        ("balanced", lambda **noise: hk.RssLb(1.0, **noise)),
        ("function", lambda **noise: hk.FunctionSharing(2, 0.5, **noise)),
    ],
)
def test_what_was_drawn_may_be_dealt_again(kind, algorithm):
    drawn = play(algorithm(), keep="transcript")
    again = play(algorithm(given=dealt(drawn, kind)))
    np.testing.assert_allclose(again.x, drawn.x, atol=1e-12)


def test_a_bound_of_zero_states_none():
    assert np.isfinite(play(hk.RssNb(0.0, given=late(100.0, 2, 1))).x).all()


def test_no_theorem_is_claimed_for_functions_given_by_hand():
    """The same coefficients from everybody to everybody cancel on every link and hide nothing."""
    algorithm = hk.FunctionSharing(2, 1.0, given=lambda i, j, k: [0.1] * 6)
    found = hk.audit(GRAPH, run=play(algorithm, keep="transcript"), coalition=[0])
    assert not found.covered
    assert "its noise is given by hand" in str(found.claim)


def test_a_run_with_given_noise_is_audited_and_says_what_it_takes_it_for():
    """The auditor asked for the same table with fewer columns."""
    drawn = play(hk.RssNb(1.0), keep="transcript").transcript.noise["paired"]
    for algorithm in (hk.RssNb(1.0, given=drawn), hk.RssNb(0.0, given=late(1.0, 2, 1))):
        found = hk.audit(GRAPH, run=play(algorithm, keep="transcript"), coalition=[0])
        assert "noise given by hand counts as random draws within its bound" in str(found)
        assert text.attempts(found)
