"""What one algorithm leaves open to one kind of listener: by theorem, or by estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hocket.algorithm import Algorithm
from hocket.algorithms import COMPARED
from hocket.networks.network import Network
from hocket.privacy.estimate.leakage import Leakage, leakage
from hocket.privacy.estimate.levels import stands_for
from hocket.privacy.estimate.model_class import KnownModel
from hocket.privacy.estimate.rehearsal import NOTHING_REHEARSED, Rehearsal, may_reach, rehearsal
from hocket.privacy.estimate.unsearched import least_deviation
from hocket.privacy.estimate.worst_case import BOUND_WORK, worst_searched
from hocket.privacy.plain_values import plain_values
from hocket.privacy.topology.guarantees import Exposure, exposure
from hocket.privacy.verdict.theorem import PrivacyClaim
from hocket.privacy.wording import SUPPOSED, judged, known, listed, searched_share
from hocket.problems.objective_class import ANY, ObjectiveClass
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import Threat
from hocket.steps import Step

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
    claim: PrivacyClaim
    """The theorem that covers it, or why none does."""
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
    gradient_size: float = SUPPOSED
    """How large a gradient's coordinates are, so that uncertainties can be judged."""
    labels: Sequence[object] | None = None
    """The agents' names, where they have some."""
    rehearsal: Rehearsal = NOTHING_REHEARSED
    """The forms of objectives that were asked about, and whether the feasible set was active."""
    bound: float | None = None
    """A deviation below which no coalition of that size knows a gradient that stays the same, searched or not."""

    @property
    def basis(self) -> Literal["theorem", "estimate"]:
        """Where the line comes from."""
        return "theorem" if self.claim else "estimate"

    @property
    def weakest(self) -> int:
        """The honest agent who is known best."""
        return min(self.leakage.honest, key=lambda j: self.leakage.sd[j])

    @property
    def form(self) -> KnownModel | None:
        """The public form that gives more away of whoever is known best; None where constant gradients do."""
        best = min(self.leakage.models, key=lambda one: one.sd[self.weakest], default=None)
        if best is None or best.sd[self.weakest] >= self.leakage.constant[self.weakest]:
            return None
        return best

    @property
    def words(self) -> str:
        """The line in words."""
        bare = self.option.stands_for.effective().hides_nothing
        parts = []
        if self.exact:
            parts.append(f"{self._listed(self.exact)} known exactly{': nothing hides it' if bare else ''}")
        if self.averaged:
            parts.append(
                f"{self._listed(self.averaged)} known ever better: nothing hides it"
                if bare
                else f"the noise of {self._listed(self.averaged)} averages out in time"
            )
        if self.hidden and self.basis == "theorem":
            parts.append(f"{self._listed(self.hidden)} hidden but for sums")
        elif self.hidden:
            parts.append(f"{self._listed(self.hidden)} known ever better only in sums with others")
        return "; ".join([*parts, *self._beside])

    @property
    def _beside(self) -> list[str]:
        """What a public form and an active set give away beside gradients that stay the same."""
        if self.basis == "theorem":
            return []
        forms = [one.in_words(self.labels) for one in self.leakage.models if one.exact or one is self.form]
        forms = [*dict.fromkeys(forms)]
        algorithm = self.option.stands_for
        if getattr(algorithm, "noise", None) is not None:
            forms.append(
                "noise given by hand counts as random draws within its bound, and whoever can guess it knows more"
            )
        # What is part of the gradient is cut short along with it, and shows no more of itself.
        if self.rehearsal.active and algorithm.keeps_noise and algorithm.noise_in == "words":
            forms.append("kept noise counts as known, since states may reach the sides of the feasible set")
        if algorithm.functions is not None and len(self.exact) < len(self.leakage.honest):
            forms.append(
                "noise functions are counted as an offset of the gradient and nothing more, which is cautious: what "
                "else they hide is left out"
            )
        return [*forms, *self.rehearsal.unfollowed]

    def _listed(self, agents: tuple[int, ...]) -> str:
        return listed(agents, self.labels)

    def fate(self, agent: int) -> str:
        """What becomes of one honest agent's gradient, in a few words."""
        if agent in self.exact:
            return "known exactly"
        if self.basis == "theorem":
            return "only in sums with others"
        return judged(self.leakage.sd[agent], self.gradient_size)

    def in_time(self, agent: int) -> str:
        """What patience adds to it."""
        if agent in self.exact or (self.leakage.sd[agent] == 0 and self.basis == "estimate"):
            return "nothing is left to know"
        if self.basis == "theorem":
            return "no more than that"
        return "ever better" if agent in self.averaged else "better only in sums with others"

    @property
    def searched_words(self) -> str:
        """How far the search went."""
        if self.searched is None:
            return ""
        share = searched_share(*self.searched)
        # A form is asked about two of them: the worst for constant gradients, and whoever hears most.
        return f"{share} for gradients that stay the same" if self.leakage.models else share

    @property
    def bound_words(self) -> str:
        """What is known of coalitions that were not searched."""
        if not self.bound:
            return ""
        return (
            f" Whichever {len(self.coalition)} they are, no gradient that stays the same is known better than "
            f"{judged(self.bound, self.gradient_size)}."
        )

    @property
    def cell(self) -> str:
        """The line in a few characters."""
        over_time = "open" if self.option.stands_for.effective().hides_nothing else "averaging"
        groups = [("exact", self.exact), (over_time, self.averaged), ("in sums", self.hidden)]
        return ", ".join(f"{len(who)} {what}{self._known_to(who)}" for what, who in groups if who)

    def _known_to(self, agents: tuple[int, ...]) -> str:
        least = min(self.leakage.sd[j] for j in agents)
        if least:
            return f" ±{least:.2g} ({known(least, self.gradient_size)})"
        return "" if agents == self.exact or self.basis == "theorem" else " (exactly, by their form)"

    def to_json(self) -> dict[str, Any]:
        """The line in numbers."""
        return {
            "algorithm": self.label,
            **plain_values(
                self, "threat", "basis", "claim", "coalition", "searched", "bound", "exact", "averaged"
            ),
            "in_sums": list(self.hidden),
            "least_sd": self.least,
            "gradient_size": self.gradient_size,
            "known": known(self.least, self.gradient_size),
            "sd": self.leakage.sd.tolist(),
            "forms": [one.to_json() for one in self.leakage.models],
        } | self.rehearsal.to_json()


def find(
    network: Network,
    option: Option,
    *,
    colluders: int,
    coalition: tuple[int, ...] | None,
    searched: tuple[int, int] | None,
    claim: PrivacyClaim,
    threat: Threat,
    rounds: int,
    gradient_size: float = SUPPOSED,
    rehearsal: Rehearsal = NOTHING_REHEARSED,
    **plan: Any,
) -> Finding:
    """One line of a verdict: about the coalition named, or about the worst of its size that can be found.
    `claim` says whether a theorem has a word on it; `searched` how far an earlier search went for this coalition.
    """
    plan |= {"sigma": option.sigma, "anchor_sigma": option.anchor_sigma, "threat": threat}
    soon = threat == "states+noise" and option.stands_for.soon_open
    plan["rounds"] = min(rounds, SOON) if soon else rounds
    plan["models"] = [model.first_rounds(plan["rounds"]) for model in rehearsal.models]
    plan["active"] = rehearsal.active
    if coalition is None:
        worst = worst_searched(network, option.algorithm, colluders, **plan)
        found, searched = worst.leakage, (worst.searched, worst.total)
    else:
        found = leakage(network, option.algorithm, coalition=coalition, **plan)
    judgement = exposure(network, found.coalition) if claim else None
    line = _finding(option, claim, found, judgement, searched)
    return replace(line, gradient_size=gradient_size, labels=network.labels, rehearsal=rehearsal)


def bounded(
    line: Finding,
    network: Network,
    *,
    rounds: int,
    watch: Callable[[Sequence[Any]], Iterable[Any]],
    gradient_size: float,
    **plan: Any,
) -> Finding:
    """The same line with a bound on the coalitions that were not searched, where no theorem speaks of them."""
    done, total = line.searched or (0, 0)
    if done == total or line.claim:
        return line
    option, colluders = line.option, len(line.coalition)
    plan |= {"sigma": option.sigma, "anchor_sigma": option.anchor_sigma, "threat": line.threat}
    plan |= {"active": line.rehearsal.active, "rounds": rounds, "work": BOUND_WORK, "watch": watch}
    return replace(line, bound=least_deviation(network, option.algorithm, colluders, **plan))


def rehearsal_of(
    network: Network,
    option: Option,
    objectives: ObjectiveClass | None,
    feasible: FeasibleSet | None,
    *,
    rounds: int,
    step: Step,
    dim: int,
    gradient_size: float,
    **_: Any,
) -> Rehearsal:
    """What can be told before there are data: of a declared class its forms, of a set whether states may reach it."""
    algorithm = option.stands_for.effective()
    how: dict[str, Any] = {"step": step, "rounds": rounds, "gradient_size": gradient_size}
    declared = objectives is not None and objectives != ANY and not algorithm.hides_nothing
    seen = rehearsal(network, algorithm, objectives, **how) if declared and objectives else NOTHING_REHEARSED
    return replace(seen, active=may_reach(feasible, dim, algorithm, **how))


def projected_rounds(seen: Rehearsal) -> list[str]:
    """In how much of a run states were moved back into the feasible set."""
    sides = next((one.projected for one in seen.models if one.projected is not None), None)
    if sides is None:
        return []
    share = sides.any(axis=2).mean()
    return [f"{share:.2%} of all states lay on a side of the feasible set, where they are known"]


def _finding(
    option: Option,
    claim: PrivacyClaim,
    found: Leakage,
    exposure: Exposure | None,
    searched: tuple[int, int] | None,
) -> Finding:
    """What a leakage means; `exposure` is the theorem's word where it applies."""
    label = option.stands_for.effective().title
    exact = (
        tuple(j for j in found.honest if found.constant[j] == 0) if exposure is None else exposure.surrounded
    )
    averaged = tuple(j for j in found.identifiable if j not in exact) if exposure is None else ()
    return Finding(
        option=option,
        label=label,
        threat=found.threat,
        claim=claim,
        coalition=found.coalition,
        searched=searched,
        exact=exact,
        averaged=averaged,
        hidden=tuple(j for j in found.honest if j not in {*exact, *averaged}),
        leakage=found,
        least=found.least,
    )


def standard_options(sigma: float) -> Sequence[Option]:
    """Everything there is to choose from, at the same bound per link: half of it anchored, or all of it fresh."""
    options = []
    for key, anchored in COMPARED.items():
        options += [Option(key, sigma / 2, sigma / 2)] if anchored else []
        options.append(Option(key, sigma))
    return options
