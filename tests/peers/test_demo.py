"""`hocket peer demo`: five processes over real links, and the simulator on the same noise."""

from __future__ import annotations

import pytest

from hocket.federation.demo.demonstration import ALGORITHMS, demonstrate


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_processes_come_to_the_simulators_states(algorithm, tmp_path):
    shown = demonstrate(tmp_path, algorithm=algorithm, rounds=100)
    assert shown.deviation <= 1e-12  # float64, 100 rounds of a convex problem, two orders of summation
    assert min(shown.accuracies) > 0.9
