"""What floating point gives away of noise, and that sums on a grid do not: two attacks that win before and lose after.

The interval attack knows the form of an objective and asks which slope was its own. Under each of two slopes, every
word leaves an interval for the noise. Under the true one they have a number in common. Under the other, rounding of
∇f and of ∇f + ∇p falls differently, and after a few words they do not: in reals both would be as good.
"""

from __future__ import annotations

import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Setting
from hocket.claims import mechanism
from hocket.errors import BadAlgorithm
from hocket.federation import GradientTask
from hocket.federation.runtime.role import PlainSet
from hocket.federation.runtime.stored import StoredTask
from hocket.federation.workloads.task import LocalSteps, known_seeds
from hocket.networks.neighbour_tables import tabulate
from hocket.noise.discrete_gaussian import Bits
from hocket.noise.draws import Pair, When
from hocket.noise.functions import PolynomialFamily
from hocket.noise.stored_sum import StoredSum

ROUNDS, TRIALS = 150, 30
SHIFT = 0.2843
"""δ(0) = .080 for a slope moved over one link with σ = 1: μ = SHIFT/√2 = .2010."""
BEND = 1.7
STEP = 1.0
FLOATS = hk.FunctionSharing(2, sd=1.0)
GRID = hk.FunctionSharing(2, sd=1.0, grid=2.0**-20)


def said(task, plus, at: np.ndarray) -> np.ndarray:
    """A member's messages after it mixed these points, by the steps that members take."""
    steps = LocalSteps(task, 1, known_seeds)
    everywhere = PlainSet(lambda x: x)
    words = [steps(v[None], k, step=STEP, feasible=everywhere, plus=plus) for k, v in enumerate(at, start=1)]
    return np.concatenate(words)


def in_floats(slope: float, noise: float, at: np.ndarray) -> np.ndarray:
    """v − α (∇f(v) + ∇p(v)), each part rounded by itself."""
    return at - STEP * ((BEND * at + slope) + noise)


def on_grid(slope: float, noise: float, at: np.ndarray) -> np.ndarray:
    """v − α ∇f̂(v), of one sum."""
    unit = GRID.grid
    return at - STEP * (BEND_ON_GRID * at + (np.rint(slope / unit) + np.rint(noise / unit)) * unit)


BEND_ON_GRID = 2 * np.rint(BEND / 2 / GRID.grid) * GRID.grid


def explained(model, slope: float, at: np.ndarray, words: np.ndarray) -> bool:
    """Whether some noise explains all messages under this slope: words fall as noise grows, so that each has an
    interval of noises that explain it, whose ends are found by halving."""
    low = _first(lambda s: model(slope, s, at) <= words, len(at))
    high = _first(lambda s: model(slope, s, at) < words, len(at))
    return bool(low.max() < high.min())


def _first(holds, count: int) -> np.ndarray:
    """The smallest float from which on it holds, as its place among all floats."""
    low, high = np.full(count, _place(-64.0)), np.full(count, _place(64.0))
    for _ in range(64):  # all floats there are, halved away
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        true = holds(_float(middle))
        low, high = np.where(true, low, middle), np.where(true, middle, high)
    return high


def _place(number: float) -> int:
    """Floats in order, counted."""
    bits = np.float64(number).view(np.int64)
    return int(bits if bits >= 0 else np.int64(-(2**63)) - bits)


def _float(place: np.ndarray) -> np.ndarray:
    return np.where(place >= 0, place, np.int64(-(2**63)) - place).view(np.float64)


def trial(rng: np.random.Generator, stored: StoredSum | None) -> float:
    """1 if the attack names the slope that was there, ½ if it cannot tell, 0 if it errs."""
    slopes = rng.normal() + np.array([0.0, SHIFT])
    true = int(rng.integers(2))
    at = rng.uniform(-3, 3, size=ROUNDS)
    if stored is None:
        noise = rng.normal() - rng.normal()
        task = GradientTask(1, lambda x, k, h, rng: BEND * x + slopes[true])
        words = said(task, lambda x: PolynomialFamily(2).gradient(x, np.array([0.0, noise, 0.0])), at)
        model = in_floats
    else:
        lower, higher = stored.of_link(Bits(rng.bytes), 1)
        lower[2] = higher[2] = 0  # the bend is public here: all that is asked is the slope
        total = stored.objective(np.array([[0.0, slopes[true], BEND / 2]])) + lower - higher
        words = said(StoredTask(GradientTask(1, lambda *_: 0), stored, tuple(total.tolist())), None, at)
        model = on_grid
    fits = [explained(model, slope, at, words) for slope in slopes]
    assert fits[true]  # else the attack has the wrong idea of the arithmetic
    return 0.5 if fits[1 - true] else 1.0


@pytest.mark.parametrize(
    ("stored", "least", "most"), [(None, 0.9, 1.0), (GRID.stored, 0.5, 0.5)], ids=["floats", "grid"]
)
def test_the_interval_attack_wins_in_floats_and_loses_on_a_grid(stored, least, most):
    """In reals nobody could do better than (1 + .08)/2 = .54."""
    rng = np.random.default_rng(0)
    right = np.mean([trial(rng, stored) for _ in range(TRIALS)])
    assert least <= right <= most


def test_only_floats_are_called_a_model_of_reals():
    setting = Setting(hk.Network.complete(3), 1, hk.Constant(1.0), ROUNDS)
    assert not mechanism(FLOATS, setting).exact
    assert mechanism(GRID, setting).exact


HUB = hk.Network([(0, 1), (1, 2), (1, 3), (2, 3), (0, 2)])


def dealing(sender: int, receiver: int, k: int) -> list[float]:
    """Agents 0 and 3 deal ±2^60 around what 1 and 2 draw."""
    drawn = {(1, 2): 0.75, (2, 1): -1.5, (0, 1): 2.0**60, (1, 3): 2.0**60}
    return [0.0, drawn.get((sender, receiver), 0.0)]


def test_a_dealer_of_huge_noise_erases_an_honest_draw_in_floats():
    """1's share is (2^60 − 2.25) − 2^60: nothing is left of what it shares with 2."""
    algorithm = hk.FunctionSharing(1, sd=1.0, family="linear", given=dealing)
    draw = algorithm.noise(Setting(HUB, 1, hk.Constant(0.1), 2))["function"]
    tables = tabulate(HUB, slots_needed=True)
    raw = Pair(draw.given[:, :, 0], draw.given[:, :, 1])
    share = draw.deal(draw.condense(raw), When(np.array([0]), np.array([0])), tables)
    assert share[0, 1, 1] == 0.0  # −2.25 in exact arithmetic


def test_a_dealer_of_huge_noise_is_refused_on_a_grid():
    problem = hk.polynomials([[0, j, 1] for j in range(4)], box=(-10, 10))
    with pytest.raises(
        BadAlgorithm, match=r"noise of 1.15e\+18 was dealt, where the plan's sd = 1 allows for 40 at most"
    ):
        hk.solve(
            problem,
            HUB,
            hk.FunctionSharing(2, sd=1.0, grid=2.0**-20, given=lambda *who: [*dealing(*who), 0.0]),
            rounds=2,
        )
