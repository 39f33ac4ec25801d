"""Four clinics fit a linear regression with a certificate for every record, over real links.

The diabetes data of Efron et al. (2004): 442 patients, dealt to four clinics. A constant, the body mass index and the
serum measurement s5 explain how the disease went on within a year. Columns are cut to public ranges and scaled to ±1.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.federation import LeastSquaresTask
from hocket.federation.audit.plan_audit import PlanAudit, audit_plan
from hocket.federation.plan.cards import Card
from hocket.federation.plan.certified_draft import CertifiedDraft, Wanted, certified_draft
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.participation import take_part
from hocket.federation.runtime.peer import Finished
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.links.keys.identity import Identity
from hocket.machine import LOOPBACK, held_ports

CLINICS = ("ash", "birch", "cedar", "elm")
RANGES = {"bmi": (18.0, 36.0), "s5": (3.5, 6.0)}
"""Public, of what is to be explained by; and of what is explained."""
TARGET = (0.0, 350.0)
RIDGE = 60.0
"""Public: keeps the noisy sum convex. Every clinic adds its share as records with a one in one column, and target 0."""
EPSILON, DELTA, COLLUDERS = 1.0, 1e-6, 1
COLUMNS = ("constant", *RANGES)
STEP = 1 / 250
"""One over how strongly a clinic's objective bends, with some room for noise."""
WEIGHTS = "metropolis"
"""On a complete graph a quarter for everybody: then the mean of all clinics descends the sum exactly."""

Rows = Float[np.ndarray, "records dim"]
Targets = Float[np.ndarray, " records"]


def diabetes() -> tuple[Rows, Targets]:
    """All patients' columns and targets, within their public ranges."""
    from sklearn.datasets import load_diabetes

    data: Any = load_diabetes(scaled=False)
    columns = [_scaled(data.data[:, data.feature_names.index(name)], *RANGES[name]) for name in RANGES]
    return np.column_stack([np.ones(len(data.target)), *columns]), _scaled(data.target, *TARGET)


def _scaled(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return np.clip((2 * values - low - high) / (high - low), -1.0, 1.0)


def dealt(rows: Rows, targets: Targets) -> list[LeastSquaresTask]:
    """Every clinic's patients, and its share of the ridge."""
    dim = rows.shape[1]
    share = np.repeat(np.eye(dim), round(RIDGE / len(CLINICS)), axis=0)
    order = np.random.default_rng(0).permutation(len(rows))
    return [
        LeastSquaresTask(
            np.vstack([rows[part], share]), np.concatenate([targets[part], np.zeros(len(share))])
        )
        for part in np.array_split(order, len(CLINICS))
    ]


def solved(rows: Rows, targets: Targets, slopes: np.ndarray, bends: np.ndarray) -> np.ndarray | None:
    """The coefficients, with noise on slopes and curvature; None where the sum is not convex any more."""
    matrix = rows.T @ rows + RIDGE * np.eye(rows.shape[1]) + bends
    return np.linalg.solve(matrix, rows.T @ targets + slopes) if np.linalg.eigvalsh(matrix)[0] > 0 else None


@dataclass(frozen=True)
class Error:
    """How far coefficients are off, with noise of one size on the sum."""

    name: str
    noise: float
    median: float
    high: float
    """The ninetieth per cent."""
    flat: float
    """The share of draws in which the noisy sum was not convex: a box would have to hold it."""


def errors(rows: Rows, targets: Targets, drafted: CertifiedDraft, draws: int) -> list[Error]:
    """A trusted server, the plan, and every clinic for itself: the same ε, and the distance from no noise at all."""
    price, dim = drafted.planned.price, rows.shape[1]
    sizes = {"central": price.central, "certified": price.on_sum, "local": price.local}
    true = solved(rows, targets, np.zeros(dim), np.zeros((dim, dim)))
    assert true is not None
    found = []
    for name, noise in sizes.items():
        rng = np.random.default_rng(1)
        off = [solved(rows, targets, *_noise(rng, noise, dim)) for _ in range(draws)]
        kept = [float(np.linalg.norm(one - true)) for one in off if one is not None]
        found.append(
            Error(
                name,
                noise,
                float(np.median(kept)),
                float(np.quantile(kept, 0.9)),
                1 - len(kept) / draws,
            )
        )
    return found


def _noise(rng: np.random.Generator, size: float, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """On slopes, and on the matrix: as the quadratic family has it, 1/√2 of the noise on squares, which count twice."""
    upper = np.triu(rng.normal(size=(dim, dim)) * size, 1)
    return rng.normal(size=dim) * size, upper + upper.T + np.diag(rng.normal(size=dim) * size * math.sqrt(2))


def draft(cards: list[Card], dim: int) -> CertifiedDraft:
    """As `hocket peer plan --epsilon 1 --delta 1e-6 --colluders 1 --protect record --columns 1 --target 1` has it."""
    wanted = Wanted(EPSILON, DELTA, COLLUDERS, columns=(1.0,), target=1.0)
    return certified_draft(
        cards,
        "auto",
        "function-sharing",
        wanted,
        dimension=dim,
        objectives="quadratic",
        rounds=1,
        weights=WEIGHTS,
    )


@dataclass(frozen=True, eq=False)
class OverLinks:
    """One run by four members, each on links of its own."""

    plan: FederationPlan
    audit: PlanAudit
    drafted: CertifiedDraft
    coefficients: Float[np.ndarray, " dim"]
    """As published."""
    apart: float
    """How far members' published coefficients are from each other."""
    true: Float[np.ndarray, " dim"]
    """Without noise."""

    @property
    def error(self) -> float:
        return float(np.linalg.norm(self.coefficients - self.true))


def over_links(folder: Path, rows: Rows, targets: Targets, *, rounds: int, step: float = STEP) -> OverLinks:
    """Plan, audit, sign and run: four members in this process, mutually authenticated links on this machine."""
    identities = [Identity.create(name) for name in CLINICS]
    tasks, dim = dealt(rows, targets), rows.shape[1]
    with held_ports(len(CLINICS)) as ports:
        cards = [Card.of(one, f"{LOOPBACK}:{port}") for one, port in zip(identities, ports, strict=True)]
        drafted = draft(cards, dim)
        plan = draw_up(
            cards,
            drafted.topology,
            algorithm=drafted.algorithm,
            certificate=drafted.certificate,
            step={"constant": step},
            task={"name": "regression", "dataset": "diabetes", "dimension": dim, "objectives": "quadratic"},
            run={"rounds": rounds},
            feasible={"kind": "box", "low": -3.0, "high": 3.0},
            audit={"colluders": COLLUDERS},
            weights=WEIGHTS,
        )
        for one in identities:
            plan = plan.signed_by(one)
        found = audit_plan(plan)
        members = [
            Member(plan, one, task, Home(folder / one.name), linger=30.0)
            for one, task in zip(identities, tasks, strict=True)
        ]
        for member in members:
            keep_consent(plan, RunFolder(member.home.run(plan.run_hash)), found)
        finished = asyncio.run(_together(members))
    published = np.array([one.published for one in finished])
    true = solved(rows, targets, np.zeros(dim), np.zeros((dim, dim)))
    assert true is not None
    return OverLinks(
        plan, found, drafted, published.mean(axis=0), float(np.ptp(published, axis=0).max()), true
    )


async def _together(members: list[Member]) -> list[Finished]:
    return await asyncio.gather(*(take_part(member) for member in members))
