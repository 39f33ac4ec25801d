"""What a plan tells together with the runs that the same data have served before it.

Members are the same if their names are. Anybody who took part before and is not in this plan keeps what it saw, and
nothing binds it any more: it counts as a colluder, beside as many as the plan expects. So does anybody who was dropped
from a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import only_sums
from hocket.errors import HocketError
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.served_plan import ServedPlan
from hocket.privacy.audit.theorem import privacy_claim
from hocket.privacy.leakage.dry_run import simulated_together
from hocket.privacy.leakage.estimate import Leakage
from hocket.privacy.leakage.leakage import PlannedRun, joint_leakage
from hocket.privacy.leakage.model_class import KnownModel, Model
from hocket.privacy.leakage.worst import worst_joint_leakage
from hocket.privacy.profile import profile
from hocket.privacy.wording import counted
from hocket.problems.objective_class import ANY, ObjectiveClass


@dataclass(frozen=True, eq=False)
class Sequel:
    """A plan, after what its data have told already."""

    plan: FederationPlan
    earlier: tuple[EarlierRun, ...] = ()
    left: tuple[tuple[str, int], ...] = ()
    """Who has left this run itself, with the last round of each."""

    def __post_init__(self) -> None:
        """Of data that merely share rows gradients are others: what they tell does not tell these."""
        object.__setattr__(self, "earlier", tuple(one for one in self.earlier if one.same_data))

    @property
    def unknown(self) -> tuple[EarlierRun, ...]:
        """Earlier runs whose plan nobody remembers."""
        return tuple(one for one in self.earlier if one.plan is None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Everybody who ever took part: this plan's members first, by their numbers."""
        before = [name for one in self.earlier if one.plan is not None for name in one.plan.names]
        return tuple(dict.fromkeys([*self.plan.names, *before]))

    @property
    def strangers(self) -> tuple[str, ...]:
        """Members of earlier runs who are not in this plan."""
        return self.names[len(self.plan.names) :]

    @cached_property
    def colluding(self) -> frozenset[int]:
        """Who is counted as a colluder, no matter who else is: those who are no longer members, and all who were
        dropped."""
        dropped = [name for one in self.earlier for name in one.left if name in self.names]
        return frozenset(map(self.names.index, [*self.strangers, *dropped]))

    @cached_property
    def runs(self) -> tuple[PlannedRun, ...]:
        """Those that are remembered, and this plan's."""
        return (*self.before, self.last)

    @property
    def before(self) -> tuple[PlannedRun, ...]:
        """The earlier runs that are remembered, and in which members followed gradients."""
        place = {name: agent for agent, name in enumerate(self.names)}
        known = [(one, one.plan) for one in self.earlier if one.plan is not None and not one.plan.is_study]
        # Runs under one name come one after the other; under another name noise that is kept is another.
        names = [None, *(one.dataset for one, _ in known)]
        return tuple(
            dataclasses.replace(
                plan.run,
                agents=tuple(place[name] for name in plan.names),
                leavers=_within(plan.names, one.left, plan.run.rounds),
                kept=last in (None, one.dataset),
            )
            for (one, plan), last in zip(known, names, strict=False)
        )

    @cached_property
    def last(self) -> PlannedRun:
        """This plan's own run."""
        return dataclasses.replace(
            ServedPlan.of(self.plan).run,
            leavers=_within(self.plan.names, dict(self.left), self.plan.run.rounds),
            kept=not self.earlier or not self.earlier[-1].dataset,
        )

    @property
    def repeats(self) -> bool:
        """Whether earlier runs, if any, were of the same members and links under the same kept noise functions, or
        said nothing but totals, as this one does."""
        same, totals = repr(self.last.algorithm), only_sums(self.plan.algorithm)
        return (functions_of(self.plan.algorithm) is not None or totals) and all(
            one.plan is not None
            and not one.dataset
            and one.plan.names == self.plan.names
            and np.array_equal(one.plan.run.network.links, self.plan.network.links)
            and (repr(one.plan.run.algorithm) == same or (totals and _only_totals(one.plan.run.algorithm)))
            for one in self.earlier
        )

    @cached_property
    def models(self) -> tuple[tuple[Model | None, ...], ...]:
        """Public forms of the objectives, each along the paths of all runs that it says something of.

        A class that one plan declares holds in the others too, as long as they are of models of the same size.
        """
        known = [one.plan for one in self.earlier if one.plan is not None and not one.plan.is_study]
        declared = [*(plan.objectives for plan in known), self.plan.objectives]
        classes = {(kind, run.dim) for kind, run in zip(declared, self.runs, strict=True) if kind != ANY}
        size = self.plan.audit.gradient_size
        found: list[tuple[Model | None, ...]] = []
        for kind, dim in sorted(classes, key=str):
            told = [
                place
                for place, (said, run) in enumerate(zip(declared, self.runs, strict=True))
                if said in (kind, ANY) and run.dim == dim and _tells(run, kind)
            ]
            if told:
                found += simulated_together(self.runs, kind, told=told, gradient_size=size)
        return tuple(found)

    def worst(self, colluders: int) -> Leakage:
        """What the worst coalition would know after all runs, among this plan's members."""
        found = worst_joint_leakage(self.runs, colluders, beside=self.colluding, models=self.models)
        return self._ours(found.leakage)

    def known(self, coalition: Sequence[int]) -> Leakage:
        """What this coalition would know after all runs, among this plan's members."""
        return self._ours(
            joint_leakage(self.runs, coalition={*coalition, *self.colluding}, models=self.models)
        )

    def words(self, worst: Leakage) -> list[str]:
        """What came before, and how much of what would be known comes from which run."""
        if not self.earlier:
            return []
        weakest = min(worst.honest, key=lambda j: worst.sd[j])
        coalition = {*worst.coalition, *self.colluding}
        last = len(self.runs) - 1
        apart = [f"from this run alone {self._known(slice(last, None), coalition, weakest)}"]
        if self.before:
            apart.append(f"from the earlier ones alone {self._known(slice(last), coalition, weakest)}")
        kinds = "; ".join(dict.fromkeys(one.words for one in self.earlier))
        dataset, name = self.plan.task.dataset, self.plan.names[weakest]
        names = dict.fromkeys(one.dataset or dataset for one in self.earlier)
        lines = [f"Earlier runs on {' and '.join(names)}: {kinds}."]
        lines += [f"{name} is another name of the same data." for name in names if name != dataset]
        if not self.unknown:
            lines.append(f"Of {name} the same would be known {', '.join(apart)}: what runs tell adds up.")
        if any(one.plan is not None and one.plan.is_study for one in self.earlier):
            lines.append(
                "Studies among them showed sums over all members and no gradients: what these sums tell is not in the "
                "numbers above."
            )
        if self.strangers:
            are = "is" if len(self.strangers) == 1 else "are"
            lines.append(
                f"{', '.join(self.strangers)} took part before and {are} not in this plan: counted "
                "as colluding here. What they brought shows in the difference of the runs' sums."
            )
        return lines

    def problems(self) -> list[str]:
        """Why nothing good can be said."""
        if not self.unknown:
            return []
        lost = ", ".join(one.served.plan[:16] for one in self.unknown)
        return [
            f"{counted(len(self.unknown), 'earlier run')} on the data {self.plan.task.dataset} left no plan ({lost}): "
            "nobody can say what was told, so every gradient must be assumed known. Restore the newest copy of "
            "accounts.db and of the folder algorithms in this member's home"
        ]

    def _known(self, some: slice, coalition: set[int], agent: int) -> str:
        """How well an agent is known from some of the runs."""
        models = [form[some] for form in self.models]
        try:
            sd = float(joint_leakage(self.runs[some], coalition=coalition, models=models).sd[agent])
        except (HocketError, IndexError):
            return "nothing"  # it took no part in them
        return "exactly" if sd == 0 else f"to ±{sd:.3g}"

    def _ours(self, found: Leakage) -> Leakage:
        """The same without those who are in earlier plans alone."""
        n = len(self.plan.names)
        return dataclasses.replace(
            found,
            coalition=tuple(agent for agent in found.coalition if agent < n),
            runs=len(self.earlier) + 1,
            sd=found.sd[:n],
            constant=found.constant[:n],
            covariance=found.covariance[:n, :n],
            subspace=found.subspace[:n],
            history=found.history | {"sd": found.history["sd"][:, :n]},
            models=tuple(_among(one, n) for one in found.models),
        )


def _tells(run: PlannedRun, kind: ObjectiveClass) -> bool:
    """Whether a form says more of a run than is said already: a theorem has the word, or nothing is hidden anyway."""
    assert isinstance(run.algorithm, Algorithm)
    return not profile(run.algorithm).hides_nothing and not privacy_claim(run.algorithm, kind, dim=run.dim)


def _among(known: KnownModel, n: int) -> KnownModel:
    exact = {part: tuple(agent for agent in agents if agent < n) for part, agents in known.exact.items()}
    return dataclasses.replace(known, sd=known.sd[:n], exact=exact, parameters=known.parameters[:n])


def _within(names: Sequence[str], left: Mapping[str, int], rounds: int) -> dict[int, int]:
    """The last rounds of those who left, by agent."""
    return {names.index(name): min(k, rounds) for name, k in left.items() if name in names}


def _only_totals(algorithm: str | Algorithm) -> bool:
    """Whether a run said nothing but totals; of one that is remembered by its name alone nobody knows."""
    return isinstance(algorithm, Algorithm) and only_sums(algorithm)
