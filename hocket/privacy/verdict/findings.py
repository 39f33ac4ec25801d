"""What one algorithm leaves open to one kind of listener: by theorem where there is one, else by estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hocket.algorithm import Algorithm
from hocket.algorithms import COMPARED
from hocket.errors import NoTheorem
from hocket.networks.network import Network
from hocket.privacy.estimate.leakage import Leakage, leakage
from hocket.privacy.estimate.levels import stands_for
from hocket.privacy.estimate.worst_case import worst_leakage
from hocket.privacy.topology.guarantees import Exposure, exposure, refuse_without_theorem
from hocket.privacy.wording import named
from hocket.runs.run import Run
from hocket.runs.view import Threat

SOON = 3
"""Rounds after which a tap on words and noise knows all that pairwise noise ever hid."""


@dataclass(frozen=True)
class Option:
    """An algorithm to audit, with its noise level if it is given by name."""

    algorithm: str | Algorithm
    sigma: float = 1.0
    anchor_sigma: float = 0.0

    @property
    def stands_for(self) -> Algorithm:
        """The algorithm itself, or one that stands for its name."""
        return stands_for(self.algorithm, anchored=self.anchor_sigma > 0)


@dataclass(frozen=True, eq=False)
class Finding:
    """One line of a verdict."""

    option: Option
    label: str
    threat: Threat
    basis: Literal["theorem", "estimate"]
    coalition: tuple[int, ...]
    """The coalition it is about: the one named, or the worst that was found."""
    searched: tuple[int, int] | None
    """How many coalitions were searched, and of how many; None where one was named."""
    exact: tuple[int, ...]
    """Agents whose gradients, or objectives, are known exactly."""
    averaged: tuple[int, ...]
    """Agents whose noise averages out as rounds go by."""
    hidden: tuple[int, ...]
    """Agents of whom only sums with others are known."""
    leakage: Leakage
    least: float
    """The smallest standard deviation with which an honest gradient is known."""

    @property
    def weakest(self) -> int:
        """The honest agent who is known best."""
        return min(self.leakage.honest, key=lambda j: self.leakage.sd[j])

    @property
    def words(self) -> str:
        """The line in words."""
        parts = []
        if self.exact:
            parts.append(f"{named(self.exact)} known exactly")
        if self.averaged:
            parts.append(f"the noise of {named(self.averaged)} averages out in time")
        if self.hidden and self.basis == "theorem":
            parts.append(f"{named(self.hidden)} hidden but for sums")
        elif self.hidden:
            parts.append(f"{named(self.hidden)} not identifiable")
        return "; ".join(parts)

    @property
    def searched_words(self) -> str:
        """How far the search went."""
        if self.searched is None:
            return ""
        done, total = self.searched
        return f"all {total:,} searched" if done == total else f"searched {done:,} of {total:,}"

    @property
    def cell(self) -> str:
        """The line in a few characters."""
        groups = [("exact", self.exact), ("averaging", self.averaged), ("hidden", self.hidden)]
        return ", ".join(f"{len(who)} {what}{self._known_to(who)}" for what, who in groups if who)

    def _known_to(self, agents: tuple[int, ...]) -> str:
        least = min(self.leakage.sd[j] for j in agents)
        return f" ±{least:.2g}" if least else ""

    def to_json(self) -> dict[str, Any]:
        """The line in numbers."""
        return {
            "algorithm": self.label,
            "threat": self.threat,
            "basis": self.basis,
            "coalition": list(self.coalition),
            "searched": None if self.searched is None else list(self.searched),
            "exact": list(self.exact),
            "averaged": list(self.averaged),
            "hidden": list(self.hidden),
            "least_sd": self.least,
            "sd": self.leakage.sd.tolist(),
        }


def find(
    network: Network,
    option: Option,
    *,
    colluders: int,
    coalition: tuple[int, ...] | None,
    searched: tuple[int, int] | None,
    covered: bool,
    threat: Threat,
    rounds: int,
    **plan: Any,
) -> Finding:
    """One line of a verdict: about the coalition named, or about the worst of its size that can be found.
    `covered` says that Theorem 2 has a word on it; `searched` how far an earlier search went for this coalition.
    """
    plan |= {"sigma": option.sigma, "anchor_sigma": option.anchor_sigma, "threat": threat}
    soon = threat == "states+noise" and option.stands_for.soon_open
    plan["rounds"] = min(rounds, SOON) if soon else rounds
    if coalition is None:
        worst = worst_leakage(network, option.algorithm, colluders, **plan)
        found, searched = worst.leakage, (worst.searched, worst.total)
    else:
        found = leakage(network, option.algorithm, coalition=coalition, **plan)
    return _finding(option, found, exposure(network, found.coalition) if covered else None, searched)


def _finding(
    option: Option, found: Leakage, exposure: Exposure | None, searched: tuple[int, int] | None
) -> Finding:
    """What a leakage means; `exposure` is Theorem 2's word where it applies."""
    label = option.stands_for.effective().title
    exact = found.exact if exposure is None else exposure.surrounded
    averaged = tuple(j for j in found.identifiable if j not in exact) if exposure is None else ()
    return Finding(
        option=option,
        label=label,
        threat=found.threat,
        basis="estimate" if exposure is None else "theorem",
        coalition=found.coalition,
        searched=searched,
        exact=exact,
        averaged=averaged,
        hidden=tuple(j for j in found.honest if j not in {*exact, *averaged}),
        leakage=found,
        least=float(found.sd[list(found.honest)].min()),
    )


def standard_options(sigma: float) -> Sequence[Option]:
    """Everything there is to choose from, at the same bound per link: half of it anchored, or all of it fresh."""
    options = []
    for key, anchored in COMPARED.items():
        options += [Option(key, sigma / 2, sigma / 2)] if anchored else []
        options.append(Option(key, sigma))
    return options


def has_theorem(algorithm: str | Algorithm, run: Run | None) -> bool:
    """Whether Theorem 2 covers the algorithm and, of a run, the objectives: polynomials that its noise can match."""
    try:
        refuse_without_theorem(algorithm)
    except NoTheorem:
        return False
    if run is None or run.problem is None or isinstance(algorithm, str):
        return True
    degree, hidden = run.problem.degree, getattr(algorithm, "degree", 0)
    return degree is not None and degree <= hidden
