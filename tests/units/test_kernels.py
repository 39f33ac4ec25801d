"""Kernels for GPUs, in JAX's interpreter, give what array code gives."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import hocket as hk
from hocket.engines.compiled import kernels

IRREGULAR = hk.Network([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (3, 4), (4, 5), (5, 1)])
VARYING = hk.Network.varying([hk.Network.cycle(6), [(0, 2), (1, 3), (2, 4), (3, 5), (0, 4), (1, 5)]])
CASES = [
    pytest.param(
        hk.AugDgm(), IRREGULAR, {"mixed"}, id="AugDGM", marks=pytest.mark.slow
    ),  # two words in a round
    pytest.param(hk.RssLb(1.0), IRREGULAR, {"noisy"}, id="RSS-LB"),
    pytest.param(hk.RssLb(1.0), VARYING, {"noisy"}, id="RSS-LB varying", marks=pytest.mark.slow),
    pytest.param(hk.RssNb(1.0), IRREGULAR, {"noisy", "mixed"}, id="RSS-NB"),
    pytest.param(hk.RssNb(1.0), VARYING, {"noisy", "mixed"}, id="RSS-NB varying", marks=pytest.mark.slow),
    pytest.param(
        hk.Choco(), IRREGULAR, {"mixed"}, id="CHOCO", marks=pytest.mark.slow
    ),  # words that are decoded
]


@pytest.mark.parametrize(("algorithm", "network", "expected"), CASES)
def test_runs_by_kernels_are_runs_by_array_code(algorithm, network, expected, monkeypatch):
    rng = np.random.default_rng(0)
    dim = 2 * kernels.NOISY_TILE + 5  # whole tiles, and one that is not
    monkeypatch.setattr(kernels, "CHUNK", 1)  # tile by tile
    problem = hk.Problem(
        lambda x, data: ((x - data) ** 2).sum() / 2,
        rng.normal(size=(6, dim)),
        feasible=hk.Everywhere(),
        dim=dim,
        optimum=0.0,
    )
    used: list[str] = []

    def solved() -> np.ndarray:
        jax.clear_caches()  # what was compiled does not ask again where it runs
        run = hk.solve(problem, network, algorithm, rounds=3, step=hk.Constant(0.1), seed=1, dtype=np.float32)
        return run.x

    plainly = solved()
    for name in ("mixed", "noisy"):
        kernel = getattr(kernels, name)
        monkeypatch.setattr(
            kernels, name, lambda *args, name=name, kernel=kernel: used.append(name) or kernel(*args)
        )
    monkeypatch.setattr(kernels, "on_gpu", lambda: True)
    # float32 below 10, with products that are rounded before they are added or not
    np.testing.assert_allclose(solved(), plainly, rtol=0, atol=2e-6)
    assert set(used) == expected
