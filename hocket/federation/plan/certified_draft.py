"""Noise, clip and topology for a plan that is to promise an ε."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import NOISE_ON, with_certificate
from hocket.config.sections import NOT_IN_A_FILE
from hocket.errors import BadConfig, BadPlan
from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import sized
from hocket.networks.network import Network
from hocket.networks.topologies import parse
from hocket.noise.stds import plain
from hocket.privacy.dp.calibrate import (
    CertificatePlan,
    Protect,
    plan_certificate,
    rounded_up,
)
from hocket.privacy.dp.sensitivity import least_squares_sensitivity
from hocket.privacy.questions import Neighbouring
from hocket.problems.objective_class import ObjectiveClass

AUTO = "auto"
"""In place of a topology: whichever costs fewest rounds, of those whose links can be had."""
DENSE = 16
"""Members up to whom everybody may be linked to everybody."""
DIGITS = 24
"""Binary digits of the grid below the size of what is hidden: finer than any noise, and far from the public range."""


@dataclass(frozen=True)
class Wanted:
    """The ε that a plan is to promise, and what for."""

    epsilon: float
    delta: float
    colluders: int
    protect: Protect = "record"
    sensitivity: float | None = None
    """S; or the columns of a least-squares record, from which it follows."""
    columns: tuple[float, ...] | None = None
    target: float | None = None
    clip: float | None = None
    """For members: what a step's way, over the step, is cut to."""
    rate: float | None = None
    """For records: how likely one is to take part in a round, by a secret coin."""

    def __post_init__(self) -> None:
        given = [self.sensitivity is not None, self.columns is not None, self.clip is not None]
        if sum(given) != 1 or (self.columns is None) != (self.target is None):
            raise BadConfig(
                "to promise an ε a plan must bound what is hidden: give --columns and --target, the largest values of "
                "a least-squares record, or --sensitivity; and --clip to protect members"
            )
        if (self.clip is not None) != (self.protect == "member"):
            raise BadConfig(
                "--clip bounds what a member does in a round: give it with --protect member, and only then"
            )

    def size(self, dim: int) -> tuple[float, float]:
        """S, and the unit of the grid that it is counted on: rounding to it is counted in."""
        if self.columns is not None and len(self.columns) not in (1, dim):
            raise BadConfig(
                f"--columns has {len(self.columns)} numbers, and the task {dim}; give one for each column, the "
                "constant one too, or one for all"
            )
        rough = self._rough(None, dim)
        unit = 2.0 ** (math.floor(math.log2(rough)) - DIGITS) if 0 < rough < math.inf else 1.0
        return self._rough(unit, dim), unit

    def _rough(self, unit: float | None, dim: int) -> float:
        if self.clip is not None:
            return 2 * self.clip
        if self.sensitivity is not None:
            return self.sensitivity
        assert self.target is not None
        change = "move" if self.protect == "transfer" else "replace"
        return least_squares_sensitivity(
            rows=self.every_column(dim), target=self.target, change=change, grid=unit, dim=dim
        )

    def every_column(self, dim: int) -> list[float]:
        """A bound for each column."""
        assert self.columns is not None
        return list(self.columns) * (dim if len(self.columns) == 1 else 1)


@dataclass(frozen=True)
class CertifiedDraft:
    """What goes into a plan so that it can promise an ε."""

    topology: str
    algorithm: Mapping[str, Any]
    certificate: Mapping[str, Any]
    """The sections as they stand in a plan's file."""
    planned: CertificatePlan
    price_in_words: Sequence[str] = ()


def certified_draft(
    cards: Sequence[Card],
    topology: str,
    key: str,
    wanted: Wanted,
    *,
    dimension: int,
    objectives: str,
    rounds: int,
    weights: str = "paper",
) -> CertifiedDraft:
    """The least noise with which a plan for these members promises what is wanted, on this topology or on the best."""
    if key not in NOISE_ON:
        raise BadPlan(f"{key} has no noise that an ε could rest on; plan one of {', '.join(NOISE_ON)}")
    size, unit = wanted.size(dimension)
    fresh = NOISE_ON[key] == "gradients"
    if fresh and wanted.columns is not None:
        raise BadPlan(
            f"--columns bounds the coefficients of a record's objective, and {key} hides gradients, which grow with x; "
            "give --sensitivity for tasks that clip record by record, or --protect member and --clip"
        )
    planned = plan_certificate(
        networks_for(cards, topology, wanted.colluders, weights),
        key,
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        colluders=wanted.colluders,
        neighbouring=Neighbouring(
            transfer=size if wanted.protect == "transfer" else None,
            sensitivity=size if wanted.protect == "record" else None,
            rate=wanted.rate or 1.0,
        ),
        clip=wanted.clip,
        # Noise is scaled as the gradient is that it hides, so that the step does not matter.
        rounds=rounds if fresh else None,
        per_link="auto",
    )

    def on_grid(sd: float) -> float:
        """On a grid noise counts for a little less than it is."""
        return sd and rounded_up(math.hypot(sd, 8 * unit))

    by_link, own = planned.by_link, on_grid(planned.independent)
    sigma = [on_grid(one) for one in by_link] if isinstance(by_link, tuple) else on_grid(by_link)
    algorithm = with_certificate(
        key,
        sigma,
        own,
        unit=unit,
        clip=wanted.clip,
        objectives=ObjectiveClass.parse(objectives).in_dimension(dimension),
    )
    values = {one.name: getattr(algorithm, one.name) for one in dataclasses.fields(algorithm)}
    table = {
        key: value.name if isinstance(value, Algorithm) else plain(value) for key, value in values.items()
    }
    table = {name: value for name, value in table.items() if name not in NOT_IN_A_FILE and value is not None}
    bounds = (
        {} if wanted.columns is None else {"columns": wanted.every_column(dimension), "target": wanted.target}
    )
    kappa = planned.certificate.kappa
    certificate = {
        "protect": wanted.protect,
        "epsilon": wanted.epsilon,
        "delta": wanted.delta,
        "sensitivity": size,
        "sigma": sigma,
        "own": own,
        "mu": planned.certificate.mu,
        **bounds,
        **({} if kappa is None else {"kappa": kappa}),
        **({} if wanted.rate is None else {"rate": wanted.rate}),
    }
    functions = functions_of(algorithm)
    curved = functions is not None and functions.family.degree > 1
    price = planned.price.in_words(dimension, len(cards), curved=curved)
    return CertifiedDraft(planned.network.name, {"name": key} | table, certificate, planned, price)


def networks_for(cards: Sequence[Card], topology: str, colluders: int, weights: str) -> list[Network]:
    """The topology that was asked for; or those that so many colluders do not cut, and whose links can be had."""
    n = len(cards)
    if topology != AUTO:
        return [parse(sized(topology, n), weights=weights)]
    if colluders > n - 2:
        raise BadPlan(
            f"{colluders} colluders among {n} members leave nobody to hide behind; plan for {n - 2} at most"
        )
    degrees = {min(colluders + 1, n - 1), min(2 * (colluders + 1), n - 1)} - {1}
    texts = [f"harary:k={k},n={n}" for k in sorted(degrees) if k < n - 1]
    texts += [f"complete:n={n}"] if n <= DENSE or not texts else []
    ordered = sorted(cards, key=lambda card: card.name)
    found = [parse(text, weights=weights) for text in texts]
    possible = [one for one in found if _reachable(ordered, one)]
    if not possible:
        raise BadPlan(
            "no topology that was looked at can be had: some links would be between two members without an address; "
            "give --topology, or more members an address"
        )
    return possible


def _reachable(cards: Sequence[Card], network: Network) -> bool:
    """Whether one end of every link has an address."""
    hidden = {agent for agent, card in enumerate(cards) if card.address is None}
    return not any({i, j} <= hidden for i, j in network.links.tolist())
