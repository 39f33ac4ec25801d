"""The sum attack: noise that sums to zero over a component in every round leaves the sum of its gradients bare.

Σ_j (v_{j,k} − w_{j,k+1}) / α_k = Σ_j ∇f_j(v_{j,k}), exactly, at points that differ between agents and are known. So
every round is an equation about everybody's parameters, the better conditioned the more noise there is: noise is what
drives the points apart. Anchors sum to zero as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Unpack

import numpy as np

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import NO_PROJECTION
from hocket.privacy.attacks.equations import Equations, equations
from hocket.privacy.attacks.model_fit import ModelFit, fitted
from hocket.privacy.attacks.prediction import cut_at
from hocket.privacy.attacks.system import Heard, Key, System, Use
from hocket.privacy.attacks.words import Plan
from hocket.privacy.families import Family, polynomials
from hocket.privacy.topology.connectivity import honest_components
from hocket.problems.sets import FeasibleSet
from hocket.runs.view import View

NAME = "sum"
AnyFamily = Family | Mapping[int, Family]


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
    Of agents who weigh what they hear alike only sums are found, and of slopes only the sum. Rounds in which a step
    was cut short by X are told by `feasible`, left out by `skip`, or found since they disagree with most others, which
    takes a good majority of whole rounds. With `feasible` all ways are tried: `fits` says if one of them worked.
    """
    heard = equations(view, skip=skip, **plan)
    whole = [
        part for part in honest_components(view.network, view.coalition) if set(part) <= set(heard.agents)
    ]
    if not whole or not len(heard.rounds):
        why = heard.silence or "of no honest component was everything heard that its agents mix"
        raise BadInput(f"the sum attack takes all words around a whole honest component: {why}")
    heard = equations(view, [j for part in whole for j in part], skip=skip, **plan)
    given = polynomials(degree, heard.dim) if family is None else family
    found = fit_of(NAME, heard, given, feasible=feasible, use="sums")
    if feasible is None or found.fits:
        return found
    others = (fit_of(NAME, one, given, use="sums") for one in _whole(heard, given, feasible))
    return next((one for one in others if one.fits), found)


def _whole(heard: Equations, family: AnyFamily, feasible: FeasibleSet) -> Iterator[Equations]:
    """The equations without rounds that X cut short: as noisy equations tell, or else as sums that disagree."""
    everything = fit_of(NAME, heard, family, feasible=feasible)
    if everything.fits:
        cut = cut_at(everything.system.predictions[0], everything.solution.u)
        yield heard.where(np.logical_not(cut.any(axis=(1, 2))))
    yield heard


def fit_of(
    name: str,
    heard: Equations,
    family: AnyFamily,
    *,
    feasible: FeasibleSet | None = None,
    use: Use = "everything",
) -> ModelFit:
    """Objectives of some form, one for each agent, fitted to one view."""
    forms: dict[Key, Family] = {j: family[j] if isinstance(family, Mapping) else family for j in heard.agents}
    system = System([Heard(heard, {j: [j] for j in heard.agents})], forms, feasible, use=use)
    return fitted(name, system, supposing=suppositions(heard, forms, feasible))


def suppositions(
    heard: Equations, forms: Mapping[Key, Family], feasible: FeasibleSet | None
) -> tuple[str, ...]:
    """What a fit takes for granted: the form, and that no step was cut short unless X is taken into account."""
    names = " or ".join(dict.fromkeys(form.name for form in forms.values()))
    taken = [one for one in heard.supposing if feasible is None or one != NO_PROJECTION]
    return (*taken, f"objectives are {names}")
