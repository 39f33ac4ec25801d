"""`hocket peer demo`: five processes over real links, and the simulator on the same noise."""

from __future__ import annotations

import pytest

from hocket.cli.peer import peer
from hocket.demo.members.demonstration import ALGORITHMS, demonstrate


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_processes_come_to_the_simulators_states(algorithm, tmp_path):
    shown = demonstrate(tmp_path, algorithm=algorithm, rounds=100)
    assert shown.deviation <= 1e-12  # float64, 100 rounds of a convex problem, two orders of summation
    assert min(shown.accuracies) > 0.9


@pytest.mark.slow
def test_an_exact_method_inside_is_nearer_to_the_pooled_optimum_than_dgd(tmp_path):
    words = ["demo", "--algorithm", "function-sharing", "--out"]
    asked = {"exact": [str(tmp_path / "exact"), "--inner", "augdgm"], "plain": [str(tmp_path / "plain")]}
    answers = {
        name: peer([*words, *more], exit_on_error=False, result_action="return_value").data
        for name, more in asked.items()
    }
    found, beside = answers["exact"]["reached"], answers["plain"]["reached"]
    assert answers["exact"]["equal"]
    assert found["0.1"] is not None
    assert beside["0.1"] is None or found["0.1"][0] < beside["0.1"][0]
    assert found["1"][1] > 0
