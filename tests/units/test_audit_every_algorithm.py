"""Every algorithm's run is audited: those of the package, what wraps them, and one's own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, NoTheorem
from hocket.privacy.attacks import difference_attack
from tests.laws.table import DECENTRALISED, quadratics, ring_with_chords

GRAPH = ring_with_chords()
INNER = {
    "aug-dgm": hk.AugDgm(),
    "gradient-tracking": hk.GradientTracking(),
    "extra": hk.Extra(),
    "nids": hk.Nids(),
    "exact-diffusion": hk.ExactDiffusion(),
    "admm": hk.Admm(),
    "accelerated-tracking": hk.AcceleratedTracking(),
    "local-tracking": hk.LocalTracking(3),
}


class Heavy(NamedTuple):
    x: Any
    way: Any


class Momentum(hk.Algorithm):
    """One's own: a heavy ball, which says its state and twice its state."""

    beta: float = 0.5

    def init(self, agent: hk.Agent, x: Any) -> Heavy:
        return Heavy(x, 0 * x)

    def round(self, agent: hk.Agent, state: Heavy, k: Any):
        received = yield hk.Broadcast((state.x, 2 * state.x))
        mixed, _ = agent.mix((state.x, 2 * state.x), received)
        way = self.beta * state.way + agent.gradient(mixed)
        return Heavy(agent.feasible.project(mixed - agent.step(k) * way), way)


class Clipped(hk.Algorithm):
    """One's own: steps of bounded length."""

    def round(self, agent: hk.Agent, state: Any, k: Any):
        import jax.numpy as jnp

        received = yield hk.Broadcast((state, state))
        mixed, _ = agent.mix((state, state), received)
        return mixed - agent.step(k) * jnp.tanh(agent.gradient(mixed))


def played(algorithm: hk.Algorithm, rounds: int = 6) -> hk.Run:
    how = {"step": 0.05, "rounds": rounds, "seed": 0, "keep": "transcript", "progress": False}
    return hk.solve(quadratics(GRAPH.n, 2, 1), GRAPH, algorithm, **how)


CASES = [
    *(
        pytest.param(row.build(1.0), id=row.name, marks=pytest.mark.slow if row.alike else ())
        for row in DECENTRALISED
    ),
    *(
        pytest.param(hk.FunctionSharing(2, 1.0, inner=one), id=f"fs inside {name}", marks=slow)
        for name, one in INNER.items()
        for slow in [pytest.mark.slow if name not in ("extra", "local-tracking") else ()]
    ),
    pytest.param(Momentum(), id="own"),
]


@pytest.mark.parametrize("algorithm", CASES)
def test_every_run_is_audited(algorithm):
    """All but those whose messages are states ended in a contradiction: no attack understands them."""
    found = hk.audit(GRAPH, run=played(algorithm), coalition=[0])
    assert found.answer
    assert "averaging_attack understands" not in str(found)
    assert found.tried
    for one in found.tried:
        assert one.found or one.why  # each says what it came to, or why it does not apply
    attacked = {target for one in found.measured for target in one.attack.target}
    assert attacked == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("algorithm", CASES)
def test_a_run_of_one_round_is_audited(algorithm):
    found = hk.audit(GRAPH, run=played(algorithm, rounds=1), coalition=[0])
    assert found.answer
    assert found.tried
    for one in found.tried:
        assert one.found or one.why


def test_an_exact_method_gives_gradients_away_to_the_linear_attack():
    """It is read off the method's own rounds: whose neighbours are all heard is known, with nothing to hide it."""
    network = hk.Network.complete(4)
    slopes = np.random.default_rng(0).normal(size=(4, 3))
    problem = hk.polynomials(np.stack([0 * slopes, slopes], axis=1), box=(-1e6, 1e6), dim=3)
    for algorithm in (hk.Extra(), hk.AugDgm(), hk.Nids(), Momentum()):
        how = {"step": 0.05, "rounds": 8, "start": 0.0, "keep": "transcript", "progress": False}
        run = hk.solve(problem, network, algorithm, **how)
        found = hk.audit(network, run=run, coalition=[0])
        by = {one.attack.target[0]: one for one in found.measured}
        assert by.keys() == {1, 2, 3}
        assert all(one.attack.name == "averaging" and one.exact for one in by.values())


def test_what_is_not_affine_is_refused_in_one_sentence_without_a_contradiction():
    with pytest.raises(
        NoTheorem, match=r"Clipped: round 1 is not affine.* nothing is said of what others learn"
    ):
        hk.audit(GRAPH, run=played(Clipped()), coalition=[0])


def test_an_attack_on_states_names_the_one_that_fits():
    with pytest.raises(BadInput, match=r"messages of Extra do not stand for a state.*take averaging_attack"):
        difference_attack(played(hk.Extra()).view({0}), 1)
