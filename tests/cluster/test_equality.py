"""A cluster plays the simulator's runs: same noise, same states, same measurements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.cluster.cases import CASES, QUICK
from tests.cluster.groups import Results, play_together


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Results:
    return play_together(2, QUICK, tmp_path_factory.mktemp("two"), patch)


@pytest.fixture(scope="module", params=[2, 4])
def all_cases(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch
) -> Results:
    return play_together(request.param, CASES, tmp_path_factory.mktemp("all"), patch)


def check_equal(results: Results, case: str) -> None:
    """Up to 60 rounds of convex problems in float64; sums over agents are taken in another order."""
    run, found = CASES[case]("simulator"), results.arrays(case)
    atol = 1e-12 if run.x.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found["x"], run.x, rtol=0, atol=atol)
    if run.time_average is not None:
        np.testing.assert_allclose(found["time_average"], run.time_average, rtol=0, atol=atol)
    np.testing.assert_array_equal(found["history/round"], run.history["round"])
    for name, column in run.history.items():
        # A gap is a difference of totals, which are larger than the states.
        np.testing.assert_allclose(found[f"history/{name}"], column, rtol=atol, atol=10 * atol, err_msg=name)
    facts = results.facts(case)
    assert facts["outcome"] == str(run.outcome)
    assert tuple(facts["messages"]) == run.messages
    moved, needed = facts["cluster"]["bytes_moved"], facts["cluster"]["bytes_needed"]
    assert needed <= moved <= 1.2 * needed


# The two processes of a group compile for themselves: these take 16 seconds together.
@pytest.mark.slow
@pytest.mark.parametrize("case", QUICK)
def test_two_processes_play_the_run_of_the_simulator(two, case):
    check_equal(two, case)


@pytest.mark.endurance
@pytest.mark.parametrize("case", CASES)
def test_every_algorithm_is_played_alike(all_cases, case):
    check_equal(all_cases, case)


@pytest.mark.slow
def test_what_is_moved_is_what_the_compiled_program_moves(two):
    """Six agents in two shards of three, cut at the fewest links: counted in the program's own code."""
    moved = two.said["moved"]
    assert moved["rss-nb"] == moved["counted rss-nb"]
    assert moved["rss-lb"] == moved["counted rss-lb"]


@pytest.mark.slow
def test_bad_input_is_refused_by_all_processes_alike(two):
    said = two.said["complaints"]
    assert said["too few agents"].startswith("BadInput: there are 2 processes for 1 agent")
    assert "belongs to another run" in said["another plan"]
    assert "keeps measurements only" in said["keeps words"]
    assert said["diverged"].startswith("Diverged: diverged at round")


@pytest.mark.slow
def test_traffic_is_said_in_words(two):
    facts = two.facts("rss-lb")
    assert facts["remarks"][-1].startswith("played as 2 shards in 2 processes: 2 of 7 links cross")
    # Two links cross; each end tells the other its own message of two numbers.
    assert facts["cluster"]["bytes_needed"] == 2 * 2 * 2 * 8
