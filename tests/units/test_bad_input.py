"""Bad input gets a clear error that names the culprit, and nothing that was reached is lost."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadAlgorithm, BadInput, BadNetwork, BadProblem, Diverged
from hocket.runs.run import Ending
from tests.units.engine_cases import SIX, play


def uneven() -> np.ndarray:
    """Weights of SIX of which row 4 sums to more than 1."""
    B = SIX.B.copy()
    B[4, 4] += 0.1
    return B


REFUSED = {
    "a disconnected graph": (
        lambda: hk.Network([(0, 1), (2, 3), (3, 4)]),
        BadNetwork,
        r"\{0, 1\}.*\{2, 3, 4\}",
    ),
    "a self-loop": (lambda: hk.Network([(0, 1), (1, 1)]), BadNetwork, "agent 1 .*itself"),
    "a duplicate link": (
        lambda: hk.Network([(0, 1), (1, 2), (1, 0)]),
        BadNetwork,
        r"(0.*1|1.*0).*(twice|again|duplicate)",
    ),
    "weights that are not doubly stochastic": (
        lambda: hk.Network(SIX.links, weights=uneven()),
        BadNetwork,
        "row 4",
    ),
    "one neighbour": (
        lambda: play(hk.RssLb(1.0), network=hk.Network.path(6)),
        BadAlgorithm,
        "RSS-LB cannot hide agent 0, 5: it has one neighbour.*unprotected=True",
    ),
    "nobody to share noise with": (
        lambda: play(
            hk.RssNb(1.0), problem=hk.polynomials([[0, 0, 1]], box=(-1, 1)), network=hk.Network.single()
        ),
        BadAlgorithm,
        "a single agent has nobody to share noise with; use Dgd",
    ),
    "a start outside X": (
        lambda: play(hk.Dgd(), start=[[0, 0]] * 3 + [[0, 5.1]] + [[0, 0]] * 2),
        BadProblem,
        r"agent 3 starts at \[0\. +5\.1\], outside Box\(-5\., 5\.\)",
    ),
    "a start that is no number": (
        lambda: play(hk.Dgd(), start=[np.nan, 0.0]),
        BadProblem,
        "agent 0 starts at",
    ),
    "a start of another shape": (
        lambda: play(hk.Dgd(), start=np.zeros((5, 2))),
        BadProblem,
        r"the start has shape \(5, 2\).*\(2,\).*\(6, 2\)",
    ),
    "as many agents as not in the network": (
        lambda: play(hk.Dgd(), network=hk.Network.cycle(5)),
        BadInput,
        "the problem has 6 agents and the network 5",
    ),
    "data for another number of losses": (
        lambda: hk.Problem([lambda x, a: x @ x] * 3, np.ones((4, 2)), feasible=hk.Box(-1, 1), dim=2),
        BadProblem,
        "3 losses and data for 4 agents",
    ),
    "a loss of another dimension": (
        lambda: hk.Problem(
            lambda x, a: jnp.sum((x - a) ** 2), np.ones((6, 3)), feasible=hk.Box(-1, 1), dim=2
        ),
        BadProblem,
        r"the loss of agent 0 fails on x of shape \(2,\)",
    ),
    "a loss that is no number": (
        lambda: hk.Problem(lambda x, a: x - a, np.ones((6, 2)), feasible=hk.Box(-1, 1), dim=2),
        BadProblem,
        "it must return one real number",
    ),
    "data that are not finite": (
        lambda: hk.Problem(
            lambda x, a: jnp.sum((x - a) ** 2),
            np.array([[1.0, 2], [3, np.inf]]),
            feasible=hk.Box(-1, 1),
            dim=2,
        ),
        BadProblem,
        "the data of agent 1 hold inf",
    ),
    "noise of another shape": (
        lambda: play(hk.RssNb(1.0, given=np.zeros((60, 8, 2, 3)))),
        BadAlgorithm,
        r"noise has shape \(60, 8, 2, 3\); this plan needs \(60, 8, 2, 2\)",
    ),
    "noise of another length": (
        lambda: play(hk.RssNb(1.0, given=lambda i, j, k: [0.1] * 3)),
        BadAlgorithm,
        r"noise\(0, 1, k\) has 3 entries; this plan needs 2",
    ),
    "noise that is not finite": (
        lambda: play(hk.RssLb(1.0, given=lambda i, j, k: [0.1, np.nan if k == 7 else 0.0])),
        BadAlgorithm,
        "noise is not finite in round 7 on link 0",
    ),
    "negative noise of RSS-NB": (lambda: hk.RssNb(-0.5), BadAlgorithm, "delta = -0.5"),
    "negative noise of RSS-LB": (lambda: hk.RssLb(-0.5), BadAlgorithm, "delta = -0.5"),
    "negative noise of its own": (lambda: hk.IndependentNoise(-0.5), BadAlgorithm, "sd = -0.5"),
    "negative noise of FS": (lambda: hk.FunctionSharing(2, -0.5), BadAlgorithm, "bound = -0.5"),
    "endless noise": (lambda: hk.RssNb(np.inf), BadAlgorithm, "delta = inf"),
    "more than all for the anchor": (lambda: hk.RssNb(1.0, persistent=1.5), BadAlgorithm, "persistent = 1.5"),
    "an unknown distribution": (
        lambda: hk.RssNb(1.0, distribution="cauchy"),
        BadAlgorithm,
        "distribution = 'cauchy'.*uniform.*gaussian",
    ),
    "noise that fails for certain": (
        lambda: hk.FunctionSharing(2, 1.0, distribution="gaussian", failure=1.0),
        BadAlgorithm,
        r"failure = 1\.0.*above 0",
    ),
    "normal draws bounded one by one": (
        lambda: hk.RssNb(1.0, split="paper", distribution="gaussian"),
        BadAlgorithm,
        "split='paper' bounds every single draw",
    ),
    "an unknown split": (lambda: hk.RssNb(1.0, split="even"), BadAlgorithm, "split = 'even'.*link.*paper"),
    "an unknown family": (
        lambda: hk.FunctionSharing(2, 1.0, family="spline"),
        BadAlgorithm,
        "unknown family 'spline'; choose one of polynomial",
    ),
    "flat noise functions": (lambda: hk.FunctionSharing(0, 1.0), BadAlgorithm, "degree = 0"),
    "zero rounds": (lambda: play(hk.Dgd(), rounds=0), BadInput, "rounds = 0; give a whole number, 1 or more"),
    "half a round": (lambda: play(hk.Dgd(), rounds=1.5), BadInput, "rounds = 1.5"),
    "more rounds than counters": (lambda: play(hk.Dgd(), rounds=1 << 30), BadInput, r"at most 2\^30 rounds"),
    "a negative seed": (lambda: play(hk.Dgd(), seed=-1), BadInput, "seed = -1"),
    "a step that vanishes": (
        lambda: play(hk.Dgd(), step=lambda k: 3.0 - k),
        BadInput,
        "step size of round 3 is 0.0",
    ),
    "no step": (lambda: play(hk.Dgd(), step="fast"), BadInput, "'fast' is no step size"),
    "another precision": (
        lambda: play(hk.Dgd(), dtype=np.float16),
        BadInput,
        "float16.*use float64 or float32",
    ),
    "another engine": (
        lambda: play(hk.Dgd(), engine="magic"),
        BadInput,
        "engine = 'magic'; choose 'simulator'",
    ),
    "another thing to keep": (lambda: play(hk.Dgd(), keep="all"), BadInput, "keep = 'all'; choose 'metrics'"),
    "another place for gradients": (
        lambda: play(hk.Dgd(), grad_at="x"),
        BadInput,
        "grad_at = 'x'.*'mixed'.*'projected'",
    ),
    "a tolerance of nothing": (lambda: play(hk.Dgd(), tolerance=0.0), BadInput, "tolerance = 0.0"),
    "a tolerance without an optimum": (
        lambda: play(
            hk.Dgd(),
            problem=hk.Problem(
                lambda x, a: jnp.sin(a) * x[0], np.ones(6), feasible=hk.Box(-1, 1), dim=2, convex=False
            ),
            tolerance=0.1,
        ),
        BadInput,
        "the optimum f\\* is not known; declare optimum=",
    ),
    "a checkpoint of a path": (
        lambda: play(hk.Dgd(), keep="path", checkpoint="folder"),
        BadInput,
        "a checkpoint holds no path or transcript",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_the_culprit(case):
    ask, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        ask()


def leaving(what: str) -> hk.Problem:
    """Six agents, of whom agent 2 alone leaves its loss's domain: the others pull everybody below zero."""

    def log(x: Any, a: Any) -> Any:
        return jnp.sum(x) - a * jnp.sum(jnp.log(x))  # NaN below zero, in value and slope

    def root(x: Any, a: Any) -> Any:
        return jnp.sum(x) + a * jnp.sum(jnp.sqrt(jnp.maximum(x, 0)))  # an infinite slope at zero and below

    def wall(x: Any, a: Any) -> Any:
        return jnp.sum(x) + jnp.where((a > 0) & (x[0] < 0), jnp.inf, 0.0)  # a finite slope, but no value

    weight = np.array([0, 0, 0.01, 0, 0, 0])
    loss = {"log": log, "root": root, "wall": wall}[what]
    own = [loss if a else (lambda x, a: jnp.sum(x)) for a in weight]
    return hk.Problem(own, weight, feasible=hk.Box(-1, 5), dim=2, optimum=-12.0, names=list("abcdef"))


@pytest.mark.parametrize(
    ("what", "part"), [("log", "state|objective"), ("root", "state"), ("wall", "objective")]
)
def test_a_loss_that_is_no_longer_finite_names_agent_and_round(what, part, tmp_path):
    how = {"problem": leaving(what), "start": 1.0, "step": 0.03}
    with pytest.raises(
        Diverged, match=rf"diverged at round \d+: agent 2 \(c\)'s ({part}) is not finite"
    ) as error:
        play(hk.Dgd(), checkpoint=tmp_path, rounds=500, **how)
    stopped = error.value
    assert 20 < stopped.round < 60
    assert stopped.checkpoint == tmp_path
    assert (tmp_path / "checkpoint.npz").exists()
    run = stopped.run
    assert run.outcome.ending is Ending.DIVERGED
    assert run.rounds == stopped.round - 1
    assert (np.diff(run.history["round"]) > 0).all()
    assert np.isfinite(run.x).all()
    # Up to the last sound round nothing was touched: a run that stops there is the same.
    sound = play(hk.Dgd(), rounds=run.rounds, **how)
    np.testing.assert_array_equal(sound.x, run.x)
    np.testing.assert_equal(sound.gap, run.gap)  # NaN where somebody else's state has left the domain
    with pytest.raises(Diverged, match=rf"diverged at round {stopped.round}"):
        play(hk.Dgd(), checkpoint=tmp_path, rounds=500, **how)


def test_what_was_kept_ends_with_the_last_sound_round():
    with pytest.raises(Diverged) as error:
        play(hk.Dgd(), problem=leaving("root"), start=1.0, step=0.03, rounds=500, keep="transcript")
    run = error.value.run
    assert len(run.path) == error.value.round
    assert len(run.transcript.words[0]) == run.rounds == error.value.round - 1
    assert np.isfinite(run.path).all()
    np.testing.assert_array_equal(run.path[-1], run.x)


def test_a_start_outside_the_domain_of_a_loss_is_found_at_once():
    with pytest.raises(Diverged, match=r"diverged at round 1: agent 2 \(c\)'s objective") as error:
        play(hk.Dgd(), problem=leaving("wall"), start=-0.5, step=0.03)
    assert error.value.run.rounds == 0
    assert error.value.run.time_average is None


def test_steps_too_long_for_an_unbounded_set_diverge():
    problem = hk.polynomials([[0, 0, 0, 0, 1]] * 6, feasible=hk.Everywhere(), dim=2)
    with pytest.raises(Diverged, match="agent 0's objective is not finite; take smaller steps, bound X"):
        play(hk.Dgd(), problem=problem, start=3.0, step=1.0)
