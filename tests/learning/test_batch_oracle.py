"""Every public algorithm: it refuses clipping, noise, momentum and batches, or all its gradients go through them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket import learning
from hocket.algorithms import ALL
from hocket.errors import BadAlgorithm
from hocket.learning.batch_oracle import uses_batches
from tests.laws.table import ROWS, Row

AGENTS, EACH, CLIP, STEP, ROUNDS = 5, 12, 1.0, 0.05, 2
MODEL = learning.logistic_regression(4, 3, l2=0.0)
RING = hk.Network.cycle(AGENTS)
OPTIONS: dict[str, dict[str, Any]] = {
    "private": {"private": learning.DpSgd(1.0, clip=CLIP, failure=1e-3)},
    "clip": {"clip": learning.Clip(CLIP)},
    "momentum": {"momentum": 0.5},
    "batch": {"batch": EACH},
    "local_steps": {"local_steps": 3},
}
QUIET = 1e-6
"""A level at which an algorithm's own noise is nothing beside DP-SGD's."""


def shards(*, far: bool = False) -> list[learning.Dataset]:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(AGENTS, EACH, 4)).astype(np.float32)
    labels = rng.integers(3, size=(AGENTS, EACH)).astype(np.int32)
    if far:
        inputs[1, 0] = 1000 * np.sign(inputs[1, 0])
    return [learning.Dataset("clouds", *part, classes=3) for part in zip(inputs, labels, strict=True)]


def learn(algorithm: hk.Algorithm, *, far: bool = False, **options: Any) -> hk.Run:
    test = learning.Dataset("held out", np.zeros((3, 4), np.float32), np.arange(3, dtype=np.int32), classes=3)
    given = {"test": test, "epochs": ROUNDS, "step": STEP, "progress": False} | options
    return hk.train(MODEL, shards(far=far), RING, algorithm, **given)


def once(rows: list[Row]) -> list[Any]:
    """Rows of kinds that were met before are left to the slow tests."""
    kinds: set[type] = set()
    marked = []
    for row in rows:
        kind = type(row.build(1.0))
        marked.append(pytest.param(row, id=row.name, marks=pytest.mark.slow if kind in kinds else ()))
        kinds.add(kind)
    return marked


THROUGH = [row for row in ROWS if uses_batches(row.build(1.0))]
BY_THEMSELVES = [row for row in ROWS if not uses_batches(row.build(1.0))]


def test_every_public_algorithm_is_in_the_table() -> None:
    public = {kind for kind in vars(hk).values() if isinstance(kind, type) and issubclass(kind, hk.Algorithm)}
    assert ({*ALL} | public) - {hk.Algorithm} == {type(row.build(1.0)) for row in ROWS}


@pytest.mark.parametrize("how", ["private", "clip"])
@pytest.mark.parametrize("row", once(THROUGH))
def test_another_record_moves_states_within_the_bound_and_noise_is_there(row: Row, how: str) -> None:
    """Batches of all records, so that nothing but noise is random; one record is replaced by an outlier."""
    algorithm = row.build(QUIET)
    given = OPTIONS[how] | {"batch": EACH, "local_steps": 1}
    runs = [learn(algorithm, seed=seed, **given) for seed in range(5)]
    assert runs[0].rounds == ROUNDS
    moved = np.linalg.norm(learn(algorithm, far=True, seed=0, **given).x - runs[0].x)
    # Its own gradient in every round; others see it through what they mix, a step later and as much smaller.
    assert moved <= 1.1 * ROUNDS * STEP * 2 * CLIP / EACH
    if how == "private":
        sigma = OPTIONS["private"]["private"].sigma(samples=EACH, batch=EACH, steps=ROUNDS)
        spread = np.std([run.x for run in runs], axis=0, ddof=1)
        # One round's noise at least, in the mean over agents, or in the one sum over all that one agent takes.
        share = 1 / math.sqrt(AGENTS) if row.decentralised else 1 / AGENTS
        assert (
            np.sqrt(np.mean(spread**2)) >= 0.7 * STEP * sigma / EACH * share
        )  # five runs of 15 numbers and more


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("row", BY_THEMSELVES, ids=str)
def test_algorithms_that_ask_for_gradients_by_themselves_refuse_what_would_change_nothing(
    row: Row, option: str
) -> None:
    said = (
        "use Dgd\\(\\) and private=DpSgd" if row.name == "private-dgd" else f"{option}=.* has no effect with "
    )
    with pytest.raises(BadAlgorithm, match=said) as caught:
        learn(row.build(1.0), **OPTIONS[option])
    if row.name != "private-dgd" and option in ("private", "clip"):
        assert "nothing would be clipped and no noise added" in str(caught.value)


def test_a_key_stands_for_its_algorithm() -> None:
    """A name is no type of the list; what it names is."""
    for given in ("dgd", hk.Dgd):
        np.testing.assert_array_equal(learn(given, batch=4).x, learn(hk.Dgd(), batch=4).x)  # pyright: ignore[reportArgumentType]


class Unchanged(hk.Dgd):
    """A subclass, which may override anything."""


class Own(hk.Algorithm):
    """Somebody's own, which sees the gradient."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        received = yield hk.Broadcast(state)
        return agent.mix(state, received) - agent.step(k) * agent.gradient(state)


class Pretends(type(hk.Dgd)):
    """Classes that say that they are Dgd."""

    def __eq__(cls, other: object) -> bool:
        return other is hk.Dgd or cls is other

    def __hash__(cls) -> int:
        return hash(hk.Dgd)


class Equal(Own, metaclass=Pretends):
    """An own algorithm whose class is equal to Dgd."""


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(
    "algorithm", [Unchanged(), Own(), Equal(), hk.FunctionSharing(2, 0.1, inner=Unchanged())], ids=str
)
def test_nobodys_own_algorithm_is_taken_at_its_word(algorithm: hk.Algorithm, option: str) -> None:
    with pytest.raises(BadAlgorithm, match="has not been verified to do otherwise"):
        learn(algorithm, **OPTIONS[option])


@pytest.mark.parametrize("algorithm", [hk.Nids(), hk.AugDgm(), Own()], ids=lambda one: type(one).__name__)
def test_without_options_they_take_one_step_on_all_records_and_say_so(algorithm: hk.Algorithm) -> None:
    """What `solve` does with the same loss; the step is not multiplied by local steps that are not taken."""

    def loss(x: Any, data: Any) -> Any:
        inputs, labels = data
        scores = jax.nn.log_softmax(inputs @ x[:12].reshape(4, 3) + x[12:])
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))

    run = learn(algorithm, epochs=4)
    data = tuple(np.stack(leaves) for leaves in zip(*((p.inputs, p.labels) for p in shards()), strict=True))
    problem = hk.Problem(loss, data, feasible=hk.Everywhere(), dim=15, convex=True)
    solved = hk.solve(problem, RING, algorithm, rounds=4, step=STEP, dtype=np.float32)
    np.testing.assert_allclose(run.x, solved.x, atol=1e-6)  # float32, four steps, other summation orders
    assert run.rounds == 4
    assert (
        "batch= and local_steps= do not apply, each exchange takes one step of the size given"
        in run.remarks[0]
    )
    assert run.settings["learning"]["batch"] is None
    assert run.settings["learning"]["local_steps"] == 1
    np.testing.assert_allclose(run.history["epoch"], np.arange(5))
    assert "hk.train claims none" in run.claim.statement
