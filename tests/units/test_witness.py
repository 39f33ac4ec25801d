"""Witnesses: the paper's example, long runs in floating point, and refusals that name the reason."""

from __future__ import annotations

import json
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import hocket as hk
from hocket.errors import BadInput, NoTheorem, NotRecorded
from hocket.privacy import witness

EXAMPLE = Path(__file__).parents[2] / "examples" / "witness.py"
OBJECTIVES = [[0, j - 2, 1 + j % 3, 0, Fraction(1, 2)] for j in range(6)]


def play(network: hk.Network | None = None, algorithm: hk.Algorithm | None = None, **options) -> hk.Run:
    """Quartics on a prism (two triangles and three rungs), exactly."""
    prism = hk.Network([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)])
    defaults = {"rounds": 3, "step": hk.Power(Fraction(1, 8), 1), "engine": "exact", "start": Fraction(1, 3)}
    return hk.solve(
        hk.polynomials(OBJECTIVES, box=(-2, 2)),
        network or prism,
        algorithm or hk.FunctionSharing(4, 4.0),
        **(defaults | options),
    )


@pytest.fixture(scope="module")
def run() -> hk.Run:
    return play()


def test_the_papers_example_runs(capsys):
    runpy.run_path(str(EXAMPLE))
    said = capsys.readouterr().out
    assert said.count("are equal, in exact arithmetic") == 2
    assert "no witness exists: agents 0, 1, 2, 3 and 4" in said


def test_the_papers_example_solves_on_the_papers_tree(capsys):
    example = runpy.run_path(str(EXAMPLE))
    found = witness(example["run"], {5, 6}, example["false_objectives"])
    assert list(found.other.tree) == example["TREE"]
    assert found.other.absorbing == (0, 3, 4)


def test_eight_rounds_are_equal_word_by_word():
    found = witness(play(rounds=8), {2}, {0: [0, 5, 1]})
    assert found.exact
    assert found.equal
    assert found.same_functions
    assert found.same_states
    assert found.difference == 0.0


def test_noise_on_the_coalitions_links_stays(run):
    found = witness(run, {2}, {0: [0, 5, 1]})
    touching = (run.network.links == 2).any(axis=1)
    drawn = run.transcript.noise["function"][0]
    np.testing.assert_array_equal(found.other.functions.noise[touching].reshape(-1, 2, 5), drawn[touching])
    assert not np.array_equal(found.other.functions.noise[~touching].reshape(-1, 2, 5), drawn[~touching])


def test_false_objectives_are_held_and_the_sum_stays(run):
    found = witness(run, {2}, {0: [0, 5, 1], 4: [0, 0, 7, 0, 2]})
    held = found.other.functions.objectives[:, :, 0]
    assert held[0].tolist() == [0, 5, 1, 0, 0]
    assert held[4].tolist() == [0, 0, 7, 0, 2]
    assert held.sum(axis=0).tolist() == np.array(OBJECTIVES).sum(axis=0).tolist()
    assert found.other.absorbing == (1, 3, 5)


def test_the_least_noise_is_within_the_bound_where_the_random_one_is_not(run):
    asked = (run, {2}, {0: [0, 1, 2, 0, 1]})
    random, least = witness(*asked), witness(*asked, fill="least")
    assert least.equal
    assert least.other.largest_noise < random.other.largest_noise
    assert least.within_bound
    assert "could have drawn it" in str(least)


def test_seeds_give_different_witnesses_of_the_same_thing(run):
    one, other = (witness(run, {2}, {0: [0, 5, 1]}, seed=seed) for seed in (1, 2))
    assert one.equal
    assert other.equal
    assert not np.array_equal(one.other.functions.noise, other.other.functions.noise)


def test_objectives_that_absorb_may_lose_their_convexity(run):
    found = witness(run, {2}, {0: [0, 0, 100]})
    assert found.equal
    assert found.not_convex == found.other.absorbing
    assert "not convex on X: the objectives of agents 1, 3, 4 and 5" in str(found)


def test_a_whole_component_may_swap_objectives_but_not_change_their_sum():
    run = play(hk.Network.cycle(6))
    swapped = witness(run, {0, 3}, {1: OBJECTIVES[2], 2: OBJECTIVES[1]})
    assert swapped.equal
    assert swapped.other.absorbing == ()
    with pytest.raises(NoTheorem, match=r"agents 1 and 2 are a whole component .* without \{0, 3\}"):
        witness(run, {0, 3}, {1: OBJECTIVES[2], 2: OBJECTIVES[2]})


def test_constants_show_nowhere():
    run = play(hk.Network.cycle(6))
    higher = [[9 + row[0], *row[1:]] for row in OBJECTIVES]
    found = witness(run, {0, 3}, {1: higher[1], 2: higher[2]})
    assert found.equal
    assert found.same_functions


def test_a_surrounded_agent_has_no_other_truth():
    with pytest.raises(NoTheorem, match=r"agent 1 is surrounded by \{0, 2\}"):
        witness(play(hk.Network.cycle(6)), {0, 2}, {1: [0, 1]})


def test_several_components_each_absorb_their_own_difference():
    run = play(hk.Network.cycle(6))
    found = witness(run, {0, 3}, {1: [0, 9], 4: [0, 0, 3]})
    assert found.equal
    assert found.other.absorbing == (2, 5)


def test_every_coordinate_has_its_own_polynomial():
    problem = hk.polynomials([[[0, 0], [j, -j], [1, 2]] for j in range(4)], box=(-3, 3))
    run = hk.solve(
        problem,
        hk.Network.complete(4),
        hk.FunctionSharing(2, 1.0),
        step=Fraction(1, 8),
        rounds=3,
        engine="exact",
    )
    found = witness(run, {3}, {0: [[0, 0], [4, 1], [1, 5]], 1: [0, 2, 1]})
    assert found.equal
    assert found.other.functions.objectives[1].tolist() == [[0, 0], [2, 2], [1, 1]]


def test_links_that_take_turns_are_silent_in_both_views():
    network = hk.Network.varying(
        [[(0, 1), (2, 3), (4, 5)], [(1, 2), (3, 4), (0, 5)], [(0, 3), (1, 4), (2, 5)]]
    )
    assert witness(play(network), {2}, {0: [0, 5, 1]}).equal


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_runs_differ_by_rounding_only(dtype):
    run = hk.solve(
        hk.heterogeneous_polynomials(),
        hk.Network.complete(5),
        hk.FunctionSharing(4, 2.0),
        step=hk.Power(1.0, 20, 0.75),
        rounds=2000,
        start=1.0,
        keep="transcript",
        dtype=dtype,
    )
    found = witness(run, {4}, {0: [0, 3, 2], 1: [0, 0, 0, 0, 1]}, fill="least")
    assert found.same_functions
    assert not found.exact
    # Rounding at states up to the box's edge, 30, is damped by the contraction of later rounds; how far depends on the
    # run. From this start it is well within, in both types.
    assert found.difference < (1e-11 if dtype == "float64" else 1e-3)


def test_the_step_may_be_a_callable():
    run = play(step=lambda k: Fraction(1, 9 + k))
    assert witness(run, {2}, {0: [0, 5, 1]}).equal


def test_changes_above_the_noises_degree_are_refused(run):
    low = play(algorithm=hk.FunctionSharing(2, 1.0))
    with pytest.raises(
        NoTheorem, match="agent 0 differs in degree 4, and noise of degree 2 hides nothing above"
    ):
        witness(low, {2}, {0: [0, 1, 1]})
    assert witness(low, {2}, {0: [0, 1, 1, 0, Fraction(1, 2)]}).equal
    with pytest.raises(NoTheorem, match="differs in degree 5"):
        witness(run, {2}, {0: [0, 1, 1, 0, 0, 3]})


@pytest.mark.parametrize("algorithm", [hk.RssNb(1.0), hk.RssLb(1.0), hk.Dgd()])
def test_other_algorithms_have_no_theorem(algorithm):
    with pytest.raises(NoTheorem, match=f"{type(algorithm).__name__}.*leakage"):
        witness(play(algorithm=algorithm), {2}, {0: [0, 1]})


def test_what_no_polynomial_hides_is_refused():
    waves = play(algorithm=hk.FunctionSharing(2, 1.0, family="cosine"), engine="simulator", keep="transcript")
    with pytest.raises(NoTheorem, match="waves"):
        witness(waves, {2}, {0: [0, 1]})
    silent = play(algorithm=hk.FunctionSharing(4, 0.0), engine="simulator", keep="transcript")
    with pytest.raises(NoTheorem, match="plain DGD"):
        witness(silent, {2}, {0: [0, 1]})
    rng = np.random.default_rng(0)
    squares = hk.least_squares(rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3)), feasible=hk.Box(-1, 1))
    run = hk.solve(squares, hk.Network.complete(4), hk.FunctionSharing(2, 1.0), rounds=2, keep="transcript")
    with pytest.raises(NoTheorem, match="agent 0 is no polynomial"):
        witness(run, {3}, {0: [0, 1]})


def test_a_run_must_have_kept_its_words(tmp_path):
    with pytest.raises(NotRecorded, match="keep='transcript'"):
        witness(play(engine="simulator"), {2}, {0: [0, 1]})
    loaded = hk.Run.load(play(engine="simulator", keep="transcript", start=0.5).save(tmp_path))
    with pytest.raises(NotRecorded, match="loaded from disk"):
        witness(loaded, {2}, {0: [0, 1]})


@pytest.mark.parametrize(
    ("coalition", "objectives", "told"),
    [
        ({2}, {}, "no false objectives"),
        ({2}, {2: [0, 1]}, "agent 2 is in the coalition"),
        ({2}, {6: [0, 1]}, "agent 6 is unknown"),
        ({2}, {0: "abc"}, "'abc' is no polynomial"),
        ({2}, {0: [0, float("nan")]}, "is no polynomial"),
        ({2}, {0: []}, "is no polynomial"),
        ({2}, {0: [[0, 0], [1, 1]]}, "is no polynomial"),
        ({7}, {0: [0, 1]}, "agent 7 is unknown"),
        (range(5), {5: [0, 1]}, "nothing left to hide behind"),
    ],
)
def test_bad_questions_are_refused(run, coalition, objectives, told):
    with pytest.raises(BadInput, match=told):
        witness(run, coalition, objectives)


def test_an_unknown_fill_is_refused(run):
    with pytest.raises(BadInput, match="fill = 'most'"):
        witness(run, {2}, {0: [0, 1]}, fill="most")


def test_a_witness_is_json(run):
    found = witness(run, {2}, {0: [0, 5, 1]})
    assert json.loads(json.dumps(found.to_json()))["equal"] is True
