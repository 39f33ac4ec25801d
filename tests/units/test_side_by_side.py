"""Many runs of one program: how they lie in memory, and that each is its single run."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import hocket as hk
from hocket.engines.compiled.program import VECTOR, beside
from hocket.engines.prepare import prepare
from hocket.engines.side_by_side import stack_lanes
from hocket.runs.job import Job
from tests.laws.table import quadratics

RING = hk.Network.cycle(5)


def layouts(runs: int, *shape: int) -> str:
    """The compiled code of a sum that many runs take, with the order of axes in memory."""
    rows = jax.ShapeDtypeStruct((runs, *shape), np.float32)
    compiled: Any = jax.jit(jax.vmap(lambda x: beside(x + x))).lower(rows).compile()
    return compiled.as_text()


@pytest.mark.parametrize(
    ("runs", "width", "side_by_side"),
    [(256, 1, True), (VECTOR, 3, True), (VECTOR - 1, 1, False), (16, 16, False), (16, 200, False)],
)
def test_many_narrow_runs_lie_side_by_side_and_others_do_not(runs: int, width: int, side_by_side: bool):
    assert (f"f32[{runs},5,{width}]{{0,2,1}}" in layouts(runs, 5, width)) == side_by_side


def test_numbers_that_all_runs_share_are_not_repeated_for_each():
    def program(delta: float) -> Any:
        job = Job.asked(quadratics(5, 2, 1), RING, hk.RssNb(delta), step=hk.Constant(0.1), rounds=5, seed=0)
        return prepare(job, job.algorithm, averaging=False)

    alike = stack_lanes([program(1.0)], np.zeros(1, np.int32), range(9))
    assert [leaf.shape for leaf in jax.tree.leaves(alike)] == [(9, 2), (9,)]  # keys, and whose steps
    levels = stack_lanes([program(1.0), program(2.0)], np.zeros(2, np.int32), range(9))
    assert {leaf.shape[0] for leaf in jax.tree.leaves(levels)} == {18}
    assert len(jax.tree.leaves(levels.draws)) > 0


@pytest.mark.parametrize(
    ("algorithm", "swept"),
    [
        (hk.Dgd(), {}),
        (hk.RssNb(1.0), {}),
        (hk.RssNb(1.0), {"delta": [1.0, 2.0]}),
        (hk.RssLb(1.0), {}),
        (hk.RssLb(1.0), {"delta": [1.0, 2.0]}),
        (hk.FunctionSharing(2, 0.1), {}),
        (hk.FunctionSharing(2, 0.1), {"bound": [0.1, 0.2]}),
    ],
    ids=["dgd", "nb", "nb levels", "lb", "lb levels", "fs", "fs levels"],
)
def test_a_run_among_many_is_its_single_run(algorithm: hk.Algorithm, swept: dict[str, Any]):
    problem = quadratics(5, 2, 1)
    how: dict[str, Any] = {"step": hk.Power(1.0), "rounds": 50}
    many: Any = hk.sweep(problem, RING, algorithm, seeds=2 * VECTOR, **how, **swept)
    last = dataclasses.replace(algorithm, **{name: levels[-1] for name, levels in swept.items()})
    single: Any = hk.solve(problem, RING, last, seed=VECTOR, **how)
    place = (*(-1,) * len(swept), VECTOR)
    # Numbers below 1, and a product may or may not be rounded before it is added.
    np.testing.assert_allclose(many.x[place], single.x, rtol=0, atol=1e-15)
    np.testing.assert_allclose(many.time_average[place], single.time_average, rtol=0, atol=1e-15)
