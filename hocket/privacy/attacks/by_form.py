"""Attacks that know the public form of objectives: every round is an equation about the same few parameters.

Gradients that change tell more, not less. Noise that was drawn once is an offset that stays the same, and is fitted
along with the parameters; noise of single rounds averages out; and what links take from one agent and give to another
cancels between their equations.

*The sum attack* looks at sums over whole honest components alone: Σ_j (v_{j,k} − w_{j,k+1}) / α_k = Σ_j ∇f_j(v_{j,k}),
exactly, at points that differ between agents and are known. So every round is an equation about everybody's parameters,
the better conditioned the more noise there is: noise drives the points apart. Persistent noise sums to zero too.

*The projection attack* uses that P(v − α∇f) is where X says it is, whatever the gradient. So noise that was drawn once,
which a gradient would hide behind, stands bare in rounds that X cuts short, and can then be taken off in all others.
Which rounds these are nobody says, but v is known, and the gradient tells: so both are found together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Unpack

import numpy as np
from jaxtyping import Bool, Float

from hocket.algorithms.function_sharing import functions_of
from hocket.errors import BadInput
from hocket.privacy.attacks.attack import Attack, What, Why
from hocket.privacy.attacks.equations import Equations, equations
from hocket.privacy.attacks.least_squares import solve
from hocket.privacy.attacks.messages import Plan, check_target
from hocket.privacy.attacks.model_fit import EXACT, AnyFamily, ModelFit, fit_of
from hocket.privacy.attacks.system import cut_at
from hocket.privacy.families import Family, class_form, of_problem, polynomials
from hocket.privacy.graph.connectivity import honest_components
from hocket.privacy.wording import Said
from hocket.problems.problem import Problem
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import View

MODEL, SUM, PROJECTION = "model", "sum", "projection"
PATIENCE = 4_000_000
"""Coefficients of a system that is still solved while somebody waits: about a second a step."""


def model_attack(
    view: View,
    target: int,
    family: AnyFamily,
    *,
    feasible: FeasibleSet | None = None,
    skip: Collection[int] = (),
    **plan: Unpack[Plan],
) -> Attack:
    """An agent's gradient in every round, from objectives of a known form fitted to all that was received.
    The strongest where all of N[j] is received and the form is public. `feasible` takes projections into account.
    """
    equated = partial(equations, view, skip=skip, **plan)
    received = equated()
    if check_target(view, target) not in received.agents or not len(received.rounds):
        received = equated([target])  # links that come and go may leave no round in which all are received
        if received.silence is not None:
            return Attack(MODEL, (target,), Said(What.EACH_ROUND, who=(target,)), False, received.silence)
    return fit_of(MODEL, received, family, feasible=feasible).attack(target)


def model_fit(
    view: View,
    family: AnyFamily,
    *,
    feasible: FeasibleSet | None = None,
    skip: Collection[int] = (),
    **plan: Unpack[Plan],
) -> ModelFit:
    """The parameters behind `model_attack`, of all agents whose whole neighbourhood was received, fitted together."""
    received = equations(view, skip=skip, **plan)
    if received.silence is not None:
        raise BadInput(f"there is nothing to fit objectives to: {received.silence}")
    return fit_of(MODEL, received, family, feasible=feasible)


def sum_attack(
    view: View,
    *,
    family: AnyFamily | None = None,
    degree: int = 2,
    feasible: FeasibleSet | None = None,
    skip: Collection[int] = (),
    **plan: Unpack[Plan],
) -> ModelFit:
    """Everybody's parameters from sums over whole honest components, which noise that cancels does not hide.

    Objectives are separable polynomials up to `degree` unless a `family` is given, one for all or one for each agent.
    Of agents who weigh what they receive alike only sums are found, and of slopes only the sum. Rounds in which a step
    was cut short by X are told by `feasible`, left out by `skip`, or found since they disagree with most others, which
    takes a good majority of whole rounds. With `feasible` all ways are tried: `fits` says if one of them worked.
    """
    received = equations(view, skip=skip, **plan)
    whole = _whole_components(view, received)
    if not whole or received.silence is not None:
        why = received.silence or Said(Why.PARTLY)
        raise BadInput(f"the sum attack takes all messages around a whole honest component: {why}")
    received = equations(view, [j for part in whole for j in part], skip=skip, **plan)
    given = polynomials(degree, received.dim) if family is None else family
    found = fit_of(SUM, received, given, feasible=feasible, use="sums")
    if feasible is None or found.fits:
        return found
    others = (fit_of(SUM, one, given, use="sums") for one in _uncut(received, given, feasible))
    return next((one for one in others if one.fits), found)


def _whole_components(view: View, received: Equations) -> list[tuple[int, ...]]:
    """The honest components of which everything was received that its agents mix."""
    return [part for part in honest_components(view.network, view.coalition) if {*part} <= {*received.agents}]


def _uncut(received: Equations, family: AnyFamily, feasible: FeasibleSet) -> Iterator[Equations]:
    """The equations without rounds that X cut short: as noisy equations tell, or else as sums that disagree."""
    everything = fit_of(SUM, received, family, feasible=feasible)
    if everything.fits:
        cut = cut_at(everything.system.predictions[0], everything.solution.u)
        yield received.where(np.logical_not(cut.any(axis=(1, 2))))
    yield received


@dataclass(frozen=True, eq=False)
class Projection:
    """What steps that were cut short give away: the noise that was kept, and with it the gradient."""

    gradient: Attack
    """In every round."""
    kept: Float[np.ndarray, " dim"]
    """What noise that was drawn once adds to the agent's residuals, in the mean over rounds."""
    kept_sd: Float[np.ndarray, " dim"]
    """The standard deviation of its error."""
    cut: Bool[np.ndarray, "rounds dim"]
    """Where the step was cut short, coordinate by coordinate, as the fit has it."""

    def __str__(self) -> str:
        share = f"{np.mean(self.cut):.0%} of its steps were cut short by X"
        return f"{self.gradient}\n{share}; persistent noise known to ±{np.sqrt(np.mean(self.kept_sd**2)):.2g}"


def projection_attack(
    view: View,
    target: int,
    feasible: FeasibleSet,
    *,
    family: AnyFamily | None = None,
    **plan: Unpack[Plan],
) -> Attack | Projection:
    """An agent's gradient and its persistent noise, told apart by the rounds in which X cut the agent's step short.

    It takes rounds of both kinds, or persistent noise that those of all others give away. Gradients are taken to change
    in proportion to x unless a `family` is given. Without an active set this is the model attack. Comes back as a bare
    `Attack`, without an estimate, where not all of N[j] was received.
    """
    alone = equations(view, [check_target(view, target)], **plan)
    if alone.silence is not None:
        return Attack(PROJECTION, (target,), Said(What.EACH_ROUND, who=(target,)), False, alone.silence)
    form = polynomials(2, alone.dim) if family is None else family
    known = [j for j in form if j in view.honest] if isinstance(form, Mapping) else None
    together = equations(view, known, **plan)
    if target in together.agents and len(together.rounds):
        fit = fit_of(PROJECTION, together, form, feasible=feasible)
        if fit.fits:
            return _projection(fit, target)
    return _projection(fit_of(PROJECTION, alone, form, feasible=feasible), target)


def projection_attacks(
    view: View, feasible: FeasibleSet, *, family: AnyFamily | None = None
) -> dict[int, Projection]:
    """The same on everybody who was received, from one fit of all together; nobody where that does not fit."""
    received = equations(view)
    if received.silence is not None:
        return {}
    form = polynomials(2, received.dim) if family is None else family
    fit = fit_of(PROJECTION, received, form, feasible=feasible)
    return {j: _projection(fit, j) for j in received.agents} if fit.fits else {}


def _projection(fit: ModelFit, target: int) -> Projection:
    place = fit.system.received[0].equations.agents.index(target)
    cut = cut_at(fit.system.predictions[0], fit.solution.u)[:, place]
    return Projection(fit.attack(target), *fit.offset(target), cut)


@dataclass(frozen=True, eq=False)
class Tried:
    """One kind of attack on everybody who was received, or why there is none."""

    name: str
    found: Mapping[int, Attack] = field(default_factory=dict[int, Attack])
    why: Said | None = None
    """Why it does not apply; None where it does."""


def attacks_by_form(view: View, problem: Problem, *, active: bool) -> tuple[Tried, ...]:
    """The model, sum and projection attacks on a run of this problem, as an auditor tries them; `active` says that X
    cut steps short."""
    fit = _fitted(view, problem, active=active)
    if isinstance(fit, Said):
        return tuple(Tried(name, why=fit) for name in (MODEL, SUM, PROJECTION))
    forms = {j: fit.system.families[j] for j in fit.agents}
    return _everything(fit), _in_sums(fit), _projected(view, problem, forms, active=active)


def model_attacks(view: View, problem: Problem, *, active: bool) -> dict[int, Attack]:
    """The model attack alone, on everybody who was received; nobody is in what comes back where it does not apply."""
    fit = _fitted(view, problem, active=active)
    return {} if isinstance(fit, Said) else dict(_everything(fit).found)


def _fitted(view: View, problem: Problem, *, active: bool) -> ModelFit | Said:
    """Objectives of the public form, fitted to all that was received; or why they cannot be."""
    functions = functions_of(view.algorithm)
    if functions is not None and not functions.family.separable:
        return Said(Why.CROSS_TERMS)
    received = equations(view)
    forms = {j: class_form(problem) or of_problem(problem, j)[0] for j in received.agents}
    if received.silence is not None:
        return received.silence
    if any(form.size == 0 for form in forms.values()):
        return Said(Why.NO_FORM)
    unknowns = sum(form.size for form in forms.values()) + received.dim * len(received.sources)
    if received.values.size * unknowns > PATIENCE:
        return Said(Why.TOO_LARGE, unknowns=unknowns, equations=received.values.size)
    return fit_of(MODEL, received, forms, feasible=problem.feasible if active else None)


def _everything(fit: ModelFit) -> Tried:
    if not fit.fits:
        return Tried(fit.name, why=Said(Why.MISFIT))
    return Tried(fit.name, {j: fit.attack(j) for j in fit.agents})


def _in_sums(fit: ModelFit) -> Tried:
    """What sums over whole honest components determine by themselves, around what everything together says."""
    if not fit.fits:
        return Tried(SUM, why=Said(Why.MISFIT))
    received = fit.system.received[0].equations
    if not _whole_components(received.view, received):
        return Tried(SUM, why=Said(Why.PARTLY))
    system, u = replace(fit.system, use="sums"), fit.solution.u
    solved = solve(*system.tiers(u), system.scale(u))
    alone = replace(fit, name=SUM, system=system, solution=replace(solved, u=u + solved.u))
    found = {j: _change_of(alone, j) for j in fit.agents}
    told = {j: one for j, one in found.items() if one.identifiable}
    return Tried(SUM, told, None if told else next(one.why for one in found.values()))


def _change_of(fit: ModelFit, agent: int) -> Attack:
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
        Said(What.CHANGE, who=(agent,)),
        told,
        whole.why,
        estimate=whole.estimate[-1:] - whole.estimate[:1] if told else None,
        predicted_sd=np.where(sd < EXACT * fit.system.typical, 0.0, sd)[None] if told else None,
        at=ends,
        assuming=whole.assuming,
    )


def _projected(view: View, problem: Problem, forms: Mapping[int, Family], *, active: bool) -> Tried:
    if not active:
        return Tried(PROJECTION, why=Said(Why.INACTIVE))
    found: dict[int, Attack] = {}
    for j, form in forms.items():
        one = projection_attack(view, j, problem.feasible, family=form)
        found[j] = one if isinstance(one, Attack) else one.gradient
    useful = {j: one for j, one in found.items() if one.identifiable}
    return Tried(PROJECTION, useful, None if useful else Said(Why.FEW_CUT))
