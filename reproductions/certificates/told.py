"""Two worlds told apart by the likelihood ratio of real messages, for each theorem: no better than its μ, and as
well."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hocket.algorithm import Algorithm
from hocket.algorithms import CertifiedRssNb, FunctionSharing
from hocket.algorithms.function_sharing import functions_of
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.networks.network import Network
from hocket.privacy.attacks import likelihood_ratios
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.certify import certify
from hocket.privacy.dp.empirical import Told
from hocket.problems.problem import Problem
from hocket.problems.standard import polynomials
from hocket.steps import Constant, Power

INSIDER = 0
ROWS = [[0.0, slope, 0.5 + 0.1 * j] for j, slope in enumerate([0.0, 1.0, -1.0, 0.5, 0.2])]
"""Five quadratics, by their coefficients."""


def world(changes: dict[tuple[int, int], float] | None = None) -> Problem:
    """The quadratics, some of whose coefficients, (agent, power), are changed."""
    rows = [list(row) for row in ROWS]
    for (agent, power), change in (changes or {}).items():
        rows[agent][power] += change
    return polynomials(rows, box=(-1e6, 1e6))


@dataclass(frozen=True)
class Case:
    """A theorem, an algorithm that it is about, and the change that is to be told."""

    theorem: str
    words: str
    algorithm: Algorithm
    hidden: dict[str, Any]
    """As `certify` is asked about it."""
    changes: dict[tuple[int, int], float]
    first: dict[tuple[int, int], float] = field(default_factory=dict[tuple[int, int], float])
    """What is changed in the first world already."""
    rounds: int = 20
    share: float = 1.0
    """Of the transcripts that others have: noise on a grid is drawn number by number."""


UNIT = 2.0**-20
A1 = Case(
    "A1",
    "function sharing, σ = 2: a quadratic of norm 1 moved from 1 to 4",
    FunctionSharing(2, sd=2.0),
    {"move": (1, 4, [0.6, -0.8])},
    {(1, 1): -0.6, (1, 2): 0.8, (4, 1): 0.6, (4, 2): -0.8},
    rounds=6,
)
A2 = Case(
    "A2",
    "function sharing, σ = 3, τ = 1: a record of weight 2 replaced",
    FunctionSharing(2, sd=3.0, own=1.0),
    {"sensitivity": 2.0},
    {(1, 1): 1.2, (1, 2): -1.6},
    rounds=6,
)
B0 = Case(
    "B0",
    "certified RSS-NB, σ = 1: a slope of 0.1 moved from 1 to 3, 50 rounds",
    CertifiedRssNb(1.0),
    {"move": (1, 3, 0.1)},
    {(1, 1): -0.1, (3, 1): 0.1},
    rounds=50,
)
B1 = Case(
    "B1",
    "certified RSS-NB, σ = 3, τ = 1: a record of weight 0.4 replaced, 20 rounds",
    CertifiedRssNb(3.0, 1.0),
    {"sensitivity": 0.4},
    {(1, 1): 0.4},
)
A2_GRID = replace(
    A2,
    theorem="A2, grid",
    words="the same on a grid",
    algorithm=FunctionSharing(2, sd=3.0, own=1.0, grid=UNIT),
    hidden={"sensitivity": 2.0 + 2 * UNIT, "on_grid": True},
    share=0.2,
)
MASKED = replace(
    B1, theorem="B1, masked", words="from a masked start", algorithm=MaskedStart(CertifiedRssNb(3.0, 1.0))
)
B1_GRID = Case(
    "B1, grid",
    "the same on a grid, of a member cut to 0.2",
    CertifiedRssNb(3.0, 1.0, clip=0.2, grid=UNIT),
    {},
    {(1, 1): -1e4},
    {(1, 1): 1e4},
    share=0.2,
)
CASES = (A1, A2, A2_GRID, B0, B1, MASKED, B1_GRID)


@dataclass(frozen=True, eq=False)
class Held:
    """A certificate, and how well real runs were told apart."""

    case: Case
    certificate: Certificate
    told: Told

    @property
    def ratio(self) -> float:
        """The lower bound that was reached, over what is certified."""
        return self.told.mu_bound() / self.certificate.mu

    @property
    def inside(self) -> bool:
        """Whether theory lies within the fit's confidence interval."""
        low, high = self.told.interval
        return low < self.certificate.mu < high


def held(case: Case, runs: int) -> Held:
    """Certify a case against one insider on a ring of five, play it in both worlds, and tell them apart."""
    ring, worlds = Network.cycle(5), (world(case.first), world(case.changes))
    once = functions_of(case.algorithm) is not None
    step, start = (Constant(0.05), 1.0) if once else (Power(1.0, 20, 0.75), 0.0)
    run: dict[str, Any] = {"coalition": {INSIDER}, "step": step, "rounds": case.rounds}
    found = certify(ring, case.algorithm, problem=worlds[0], **run | case.hidden)
    each = max(20, round(runs * case.share))
    return Held(
        case, found, Told(*likelihood_ratios(worlds, ring, case.algorithm, runs=each, start=start, **run))
    )
