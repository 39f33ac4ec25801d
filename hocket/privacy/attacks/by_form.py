"""The attacks that know the public form of objectives, as an auditor tries each of them on a run; or why one does not
apply. What they have in common is decided here once: the form, and how much is too much to wait for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hocket.privacy.attacks import model_class, projection, sums
from hocket.privacy.attacks.attack import Attack
from hocket.privacy.attacks.equations import Equations, equations
from hocket.privacy.attacks.least_squares import solve
from hocket.privacy.attacks.model_fit import EXACT, ModelFit
from hocket.privacy.families import Family, class_form, of_problem
from hocket.privacy.topology.connectivity import honest_components
from hocket.problems.problem import Problem
from hocket.runs.view import View

MISFIT = (
    "no objectives of the public form were found that explain what was heard: the search may have failed, or it is not "
    "of that form, as with batches, several local steps and steps that X cut short"
)
PARTLY_HEARD = "of no honest component was everything heard that its agents mix"
INACTIVE = "no state was moved back into the feasible set"
NO_FORM = "nothing of the objectives is unknown but what the form leaves open"


CROSS_TERMS = "objectives are fitted coordinate by coordinate, and noise with cross terms is not dealt so"


@dataclass(frozen=True, eq=False)
class Tried:
    """One kind of attack on everybody who was heard, or why there is none."""

    name: str
    found: Mapping[int, Attack] = field(default_factory=dict[int, Attack])
    why: str = ""
    """Why it does not apply; empty where it does."""


def attacks_by_form(view: View, problem: Problem, *, active: bool) -> tuple[Tried, ...]:
    """The model, sum and projection attacks on a run of this problem; `active` says that X cut steps short."""
    fit = _fitted(view, problem, active=active)
    if isinstance(fit, str):
        return tuple(Tried(name, why=fit) for name in (model_class.NAME, sums.NAME, projection.NAME))
    forms = {j: fit.system.families[j] for j in fit.agents}
    return _everything(fit), _in_sums(fit), _projected(view, problem, forms, active=active)


def model_attacks(view: View, problem: Problem, *, active: bool) -> dict[int, Attack]:
    """The model attack alone, on everybody who was heard; nobody is in what comes back where it does not apply."""
    fit = _fitted(view, problem, active=active)
    return {} if isinstance(fit, str) else dict(_everything(fit).found)


def _fitted(view: View, problem: Problem, *, active: bool) -> ModelFit | str:
    """Objectives of the public form, fitted to all that was heard; or why they cannot be."""
    functions = view.algorithm.functions
    if functions is not None and not functions.family.separable:
        return CROSS_TERMS
    heard, feasible = equations(view), problem.feasible if active else None
    forms = {j: class_form(problem) or of_problem(problem, j)[0] for j in heard.agents}
    return _unfit(heard, forms) or sums.fit_of(model_class.NAME, heard, forms, feasible=feasible)


def _unfit(heard: Equations, forms: Mapping[int, Family]) -> str:
    if not len(heard.rounds):
        return heard.silence
    if any(form.size == 0 for form in forms.values()):
        return NO_FORM
    unknowns = sum(form.size for form in forms.values()) + heard.dim * len(heard.sources)
    if heard.values.size * unknowns > model_class.PATIENCE:
        return f"{unknowns:,} unknowns and {heard.values.size:,} equations take too long to fit while somebody waits"
    return ""


def _everything(fit: ModelFit) -> Tried:
    if not fit.fits:
        return Tried(fit.name, why=MISFIT)
    return Tried(fit.name, {j: fit.attack(j) for j in fit.agents})


def _in_sums(fit: ModelFit) -> Tried:
    """What sums over whole honest components determine by themselves, around what everything together says."""
    if not fit.fits:
        return Tried(sums.NAME, why=MISFIT)
    view = fit.system.heard[0].equations.view
    if not any({*part} <= {*fit.agents} for part in honest_components(view.network, view.coalition)):
        return Tried(sums.NAME, why=PARTLY_HEARD)
    system, u = replace(fit.system, use="sums"), fit.solution.u
    solved = solve(*system.tiers(u), system.scale(u))
    alone = replace(fit, name=sums.NAME, system=system, solution=replace(solved, u=u + solved.u))
    found = {j: change_of(alone, j) for j in fit.agents}
    told = {j: one for j, one in found.items() if one.identifiable}
    return Tried(sums.NAME, told, "" if told else next(one.why for one in found.values()))


def change_of(fit: ModelFit, agent: int) -> Attack:
    """How an agent's gradient changes from the first round to the last: what sums tell where slopes stay open."""
    whole = fit.attack(agent)
    assert whole.estimate is not None
    assert whole.at is not None
    ends = whole.at[[0, -1]]
    place = fit.system.places[agent]
    of = np.zeros((*ends.shape, fit.unknowns))
    of[..., place] = fit.system.families[agent].jacobians(ends, fit.solution.u[place])
    change = of[1] - of[0]
    sd = fit.solution.sd(change)
    told = bool(fit.solution.determined(change).all())
    return Attack(
        fit.name,
        (agent,),
        f"how the gradient of agent {agent} changes from the first round to the last",
        told,
        whole.why,
        estimate=whole.estimate[-1:] - whole.estimate[:1] if told else None,
        predicted_sd=np.where(sd < EXACT * fit.system.typical, 0.0, sd)[None] if told else None,
        at=ends,
        supposing=whole.supposing,
    )


def _projected(view: View, problem: Problem, forms: Mapping[int, Family], *, active: bool) -> Tried:
    if not active:
        return Tried(projection.NAME, why=INACTIVE)
    found: dict[int, Attack] = {}
    for j, form in forms.items():
        one = projection.projection_attack(view, j, problem.feasible, family=form)
        found[j] = one if isinstance(one, Attack) else one.gradient
    useful = {j: one for j, one in found.items() if one.identifiable}
    return Tried(
        projection.NAME, useful, "" if useful else "too few rounds are surely cut short, or surely not"
    )
