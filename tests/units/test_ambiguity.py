"""How wide bounded noise leaves an objective open: in closed form, by linear programme, and what shrinks it."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, NoTheorem
from hocket.privacy import Ambiguity, Knowledge, ambiguity

OBJECTIVES = [[0, j - 2, 1 + j, 0, Fraction(1, 4)] for j in range(5)]
COALITION = {4}
WHEEL = hk.Network([(0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)])
"""Four honest agents in a ring around the one who is curious."""


def play(algorithm: hk.Algorithm | None = None, objectives: list | None = None, feasible=None) -> hk.Run:
    return hk.solve(
        hk.polynomials(objectives or OBJECTIVES, feasible=feasible or hk.Box(-2, 2)),
        WHEEL,
        algorithm or hk.FunctionSharing(4, 2.0),
        step=Fraction(1, 16),
        rounds=1,
        engine="exact",
    )


@pytest.fixture(scope="module")
def run() -> hk.Run:
    return play()


def of(run: hk.Run, agents: set[int], **knowing) -> Ambiguity:
    return ambiguity(WHEEL, COALITION, agents, run=run, knowing=Knowledge(**knowing))


def widths(found: Ambiguity) -> np.ndarray:
    return np.array([interval.width for interval in found.intervals])


@pytest.mark.parametrize(
    ("agents", "leaving"), [({0}, 2), ({0, 1}, 2), ({0, 2}, 4), ({0, 1, 2}, 2), (range(4), 0)]
)
def test_the_width_counts_honest_links_that_leave(agents, leaving):
    found = ambiguity(WHEEL, COALITION, agents, bound=0.5, degree=3)
    assert (found.leaving, found.width) == (leaving, 4 * 0.5 * leaving)
    assert found.exposed == (((0, 1, 2, 3),) if leaving == 0 else ())


def test_a_whole_component_is_exposed_even_beside_others():
    found = ambiguity(hk.Network.cycle(7), {0, 3}, {1, 2, 4}, bound=1.0, degree=2)
    assert found.exposed == ((1, 2),)
    assert found.leaving == 1


def test_intervals_hold_the_truth_and_have_the_width(run):
    found = of(run, {1})
    np.testing.assert_allclose(widths(found), 4 * 2.0 * 2)
    for interval in found.intervals:
        assert interval.low <= float(OBJECTIVES[1][interval.power]) <= interval.high


def test_what_the_noise_does_not_reach_is_exposed():
    found = of(play(hk.FunctionSharing(2, 2.0)), {1})
    np.testing.assert_allclose(widths(found), [16, 16, 0, 0], atol=1e-12)
    assert found.intervals[3].low == pytest.approx(0.25)


def test_signs_bound_each_by_the_sum_of_all():
    """However large the noise: coefficients that are not negative add up to the component's sum, which is exposed."""
    second = of(play(hk.FunctionSharing(4, 100.0)), {1}, signs={2: 1}).intervals[1]
    assert second.low == pytest.approx(0, abs=1e-9)
    assert second.high == pytest.approx(1 + 2 + 3 + 4, abs=1e-9)


def test_convex_quadratics_are_a_matter_of_one_sign():
    run = play(hk.FunctionSharing(2, 2.0), [row[:3] for row in OBJECTIVES])
    convex, signs = of(run, {1}, convex=True), of(run, {1}, signs={2: 1})
    assert not convex.outer
    np.testing.assert_allclose(widths(convex), widths(signs), atol=1e-9)


def test_convexity_of_quartics_is_an_outer_approximation(run):
    found = of(run, {1}, convex=True)
    assert found.outer
    assert "may be narrower" in str(found)
    assert (widths(found) < widths(of(run, {1})) + 1e-9).all()
    for interval in found.intervals:
        assert interval.low - 1e-9 <= float(OBJECTIVES[1][interval.power]) <= interval.high + 1e-9


def test_a_known_degree_leaves_no_room_above_it():
    run = play(hk.FunctionSharing(4, 2.0), [row[:3] for row in OBJECTIVES])
    np.testing.assert_allclose(widths(of(run, {1}, degree=2))[2:], 0, atol=1e-9)


def test_knowing_all_others_exposes_the_last(run):
    found = of(run, {1}, objectives={j: OBJECTIVES[j] for j in (0, 2, 3)})
    np.testing.assert_allclose(widths(found), 0, atol=1e-9)
    assert found.width == pytest.approx(0, abs=1e-9)


def test_known_agents_pass_on_what_they_get():
    """In the ring 0-1-2-3 with agent 1 known, agent 0 still hides behind both ways to others."""
    known = Knowledge(objectives={1: [0, 1]})
    assert ambiguity(WHEEL, COALITION, {0}, bound=1.0, degree=2, knowing=known).width == pytest.approx(8)
    both = Knowledge(objectives={1: [0, 1], 3: [0, 1]})
    assert ambiguity(WHEEL, COALITION, {0}, bound=1.0, degree=2, knowing=both).width == pytest.approx(8)
    path = hk.Network.path(4)
    assert ambiguity(path, {0}, {3}, bound=1.0, degree=2, knowing=Knowledge(objectives={2: [0]})).width == 4
    assert ambiguity(path, {0}, {2}, bound=1.0, degree=2, knowing=Knowledge(objectives={1: [0]})).width == 4


def test_the_width_foreseen_is_never_exceeded(run):
    found = of(run, {0}, objectives={1: OBJECTIVES[1], 3: OBJECTIVES[3]})
    assert (widths(found) <= found.width + 1e-9).all()


def test_an_agent_without_honest_links_is_exposed(run):
    found = ambiguity(WHEEL, {1, 3, 4}, {0}, run=run, knowing=Knowledge(convex=True))
    assert found.exposed == ((0,),)
    assert [interval.low for interval in found.intervals] == pytest.approx([-2, 1, 0, 0.25])
    np.testing.assert_allclose(widths(found), 0)


def test_every_coordinate_has_its_intervals():
    problem = [[[0, 0], [j, -j], [1, 2]] for j in range(5)]
    found = of(play(hk.FunctionSharing(2, 50.0), problem), {1}, convex=True)
    assert [(i.coordinate, i.power) for i in found.intervals] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert [i.high for i in found.intervals if i.power == 2] == pytest.approx([4, 8])


def test_false_suppositions_are_noticed(run):
    with pytest.raises(BadInput, match=r"no objectives fit .*none has a degree above 2"):
        of(run, {1}, degree=2)
    with pytest.raises(BadInput, match="no objectives fit"):
        of(run, {1}, signs={2: -1})


def test_bad_questions_are_refused(run):
    with pytest.raises(BadInput, match="pass bound= and degree=, or a run"):
        ambiguity(WHEEL, COALITION, {0})
    with pytest.raises(BadInput, match="bound = -1"):
        ambiguity(WHEEL, COALITION, {0}, bound=-1.0, degree=2)
    with pytest.raises(BadInput, match="depends on what was seen"):
        ambiguity(WHEEL, COALITION, {0}, bound=1.0, degree=2, knowing=Knowledge(convex=True))
    with pytest.raises(BadInput, match="agent 4 is in the coalition"):
        ambiguity(WHEEL, COALITION, {4}, bound=1.0, degree=2)
    with pytest.raises(BadInput, match="no agents are asked about"):
        ambiguity(WHEEL, COALITION, (), bound=1.0, degree=2)
    with pytest.raises(BadInput, match="agent 9 is unknown"):
        of(run, {1}, objectives={9: [0, 1]})
    with pytest.raises(BadInput, match=r"run was on .*not on"):
        ambiguity(hk.Network.complete(5), COALITION, {0}, run=run)
    with pytest.raises(BadInput, match="degree above 4"):
        of(run, {1}, objectives={0: [0, 0, 0, 0, 0, 1]})
    with pytest.raises(BadInput, match="constants never show"):
        Knowledge(signs={0: 1})
    with pytest.raises(BadInput, match="degree = 0"):
        Knowledge(degree=0)
    with pytest.raises(BadInput, match="X is unbounded"):
        of(play(feasible=hk.Everywhere()), {1}, convex=True)
    with pytest.raises(NoTheorem, match="RssNb"):
        of(play(hk.RssNb(1.0)), {1})


def test_a_verdict_is_json_and_reads_well(run):
    found = of(run, {1}, convex=True, signs={4: 1}, objectives={0: OBJECTIVES[0]})
    assert json.loads(json.dumps(found.to_json()))["width"] == pytest.approx(found.width)
    assert "all are convex on X and coefficients of x^4 are not negative and agent 0" in str(found)
