"""Attacks on sums over honest agents: of objectives under function sharing, and of gradients under secure sums.

Over a whole honest component all noise functions that are not known cancel: Σ_S f_j = Σ_S f̂_j − (noise across the cut,
which the coalition holds) [paper, Theorem 2, necessity]. Each f̂_j is read off its agent's residuals, so all of N[S]
must be received: by members next to all of it, or by a wiretap.

Where agents send nothing but secure sums of where their own steps lead, Σ_j P(x_k − α_k ∇f_j(x_k)), members know their
own parts, and what is left is the sum over the honest: of their gradients, exactly, at the common point. By Theorem T
there is nothing else to be had. That is over all honest agents; of those that are cut off from each other a coalition
knows the sums one by one, from messages that only links have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Unpack

import numpy as np
import scipy.linalg
from jaxtyping import Float

from hocket.algorithms.function_sharing import functions_of
from hocket.claims import only_sums
from hocket.errors import BadInput
from hocket.noise.draws import Paired
from hocket.privacy.attacks.attack import NO_PROJECTION, Attack, What, Why
from hocket.privacy.attacks.messages import Plan, check_target, dimension, planned_draws, with_plan
from hocket.privacy.attacks.residuals import Points, Residuals, residuals, slopes
from hocket.privacy.profile import profile
from hocket.privacy.wording import Said
from hocket.runs.view import View

ROUNDINGS = 100.0
"""Misfit, in units of expected rounding, up to which values count as those of a polynomial."""
PINNED = 1e-6
"""Rounding, relative to the coefficients, up to which they count as determined."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A polynomial in each coordinate, ascending, and how far rounding may have moved its coefficients."""

    coefficients: Float[np.ndarray, "terms dim"]
    sd: Float[np.ndarray, "terms dim"]


def fit_polynomial(
    at: Float[np.ndarray, "rounds dim"],
    values: Float[np.ndarray, "rounds dim"],
    *,
    terms: int,
    rounding: Float[np.ndarray, " rounds"],
) -> Fit | None:
    """The separable polynomials through all values, by least squares; None where none fits up to rounding."""
    columns = [_column(x, y, terms, rounding) for x, y in zip(at.T, values.T, strict=True)]
    found = [column for column in columns if column is not None]
    if len(found) < len(columns):
        return None
    coefficients, sd = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    return Fit(coefficients, sd)


def _column(
    x: np.ndarray, y: np.ndarray, terms: int, rounding: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    centre, half = (x.max() + x.min()) / 2, (x.max() - x.min()) / 2
    if len(np.unique(x)) < terms:
        return None
    # On [−1, 1] the powers are far enough apart; there the system is solved, and then moved back.
    half = half or 1.0
    rows = np.vander((x - centre) / half, terms, increasing=True) / rounding[:, None]
    q, r = np.linalg.qr(rows)
    if np.linalg.cond(r) * np.finfo(np.float64).eps > 1:
        return None
    scaled = scipy.linalg.solve_triangular(r, q.T @ (y / rounding))
    misfit = rows @ scaled - y / rounding
    if np.sqrt(np.mean(misfit**2)) > ROUNDINGS:
        return None
    moved = _unscaled(centre, half, terms)
    factor = scipy.linalg.solve_triangular(r.T, moved.T, lower=True).T
    return moved @ scaled, np.linalg.norm(factor, axis=1)


def _unscaled(centre: float, half: float, terms: int) -> np.ndarray:
    """The matrix from coefficients in z = (x − centre) / half to coefficients in x."""
    matrix = np.zeros((terms, terms))
    for m in range(terms):
        for q in range(m + 1):
            matrix[q, m] = math.comb(m, q) * (-centre) ** (m - q) / half**m
    return matrix


def component_attack(
    view: View,
    agents: Iterable[int],
    *,
    degree: int | None = None,
    **plan: Unpack[Plan],
) -> Attack:
    """The sum of some honest agents' objectives under function sharing: exact over whole honest components.

    Polynomials come back as the coefficients of the sum's gradient, ascending, up to the noise's degree or `degree`;
    anything else as the sum of the gradients in each round, every agent's where it took it.
    """
    view = with_plan(view, **plan)
    if profile(view.algorithm).noise_in is not None and functions_of(view.algorithm) is None:
        raise BadInput(
            f"this attack sums up noise functions, and this run is {type(view.algorithm).__name__}'s; "
            "use strongest_average"
        )
    group = tuple(sorted({check_target(view, agent) for agent in agents}))
    if not group:
        raise BadInput("the attack is aimed at nobody; name at least one honest agent")
    found = [residuals(view, agent) for agent in group]
    for one in found:
        if one.silence is not None:
            why = Said(Why.WHOLE_COMPONENT, silence=one.silence)
            return Attack("component", group, _subject(group), False, why)
    terms = degree if degree is not None else _noise_degree(view)
    fits = [_fit(view, one, terms) for one in found] if terms else [None]
    if all(fits):
        return _coefficients(view, found, [fit for fit in fits if fit is not None])
    return _gradients(view, found)


def _coefficients(view: View, found: list[Residuals], fits: list[Fit]) -> Attack:
    """The sum as a polynomial."""
    total = np.sum([fit.coefficients for fit in fits], axis=0)
    power = np.arange(1, len(total) + 1)
    # x^m in a noise function is m x^(m−1) in its gradient; powers above the noise's degree are never hidden.
    hidden = np.where(
        power <= _noise_degree(view), power * _net_sd(view) * np.sqrt(_leaving(view, found)), 0.0
    )
    details = {"predicted_sd": np.tile(hidden[:, None], total.shape[1]), "rows": tuple((power - 1).tolist())}
    return _outcome(view, found, estimate=total, polynomial=True, **details)


def _gradients(view: View, found: list[Residuals]) -> Attack:
    """The sum of the gradients, round by round; noise inside the group cancels as far as its agents agree."""
    rounds = reduce(np.intersect1d, [one.rounds for one in found])
    rows = {one.target: np.searchsorted(one.rounds, rounds) for one in found}
    variance = np.zeros((len(rounds), found[0].at.shape[1]))
    if (functions := functions_of(view.algorithm)) is not None:
        basis = functions.family
        slope = {one.target: slopes(basis, one.at[rows[one.target]]) for one in found}
        for i, j in sorted({link for one in found for link in one.hidden}):
            # The link's net noise is gained by j and lost by i.
            left = _weighed(view, slope.get(j, 0.0) - slope.get(i, 0.0))
            variance = variance + _net_sd(view) ** 2 * (left**2).sum(axis=1)
        if (own := planned_draws(view).get("own")) is not None:
            for at in slope.values():
                variance = variance + float(own.sd) ** 2 * (_weighed(view, at) ** 2).sum(axis=1)
    return _outcome(
        view,
        found,
        estimate=np.sum([one.values[rows[one.target]] for one in found], axis=0),
        predicted_sd=np.sqrt(variance),
        rows=tuple(rounds.tolist()),
        at=found[0].at[rows[found[0].target]] if len(found) == 1 else None,
    )


def _outcome(
    view: View, found: list[Residuals], *, estimate: Points, polynomial: bool = False, **details: Any
) -> Attack:
    group = tuple(one.target for one in found)
    leaving = _leaving(view, found)
    why = Said(Why.ALL_KNOWN, who=group)
    if leaving:
        why = Said(Why.LEAVING, leaving=leaving, who=group)
    elif any(one.hidden for one in found):
        why = Said(Why.CANCEL, who=group)
    what, assuming = _subject(group, polynomial=polynomial), found[0].assuming
    return Attack("component", group, what, not leaving, why, estimate=estimate, assuming=assuming, **details)


def _subject(group: tuple[int, ...], *, polynomial: bool = False) -> Said:
    one = What.POLYNOMIAL if polynomial else What.OBJECTIVE
    several = What.SUM_POLYNOMIAL if polynomial else What.SUM_OBJECTIVE
    return Said(one if len(group) == 1 else several, who=group)


def _leaving(view: View, found: list[Residuals]) -> int:
    """Links with unknown noise from the group to other agents."""
    group = {one.target for one in found}
    return sum(len(group & set(link)) == 1 for link in {link for one in found for link in one.hidden})


def _net_sd(view: View) -> float:
    """The standard deviation of a coefficient in the net noise of one link."""
    draw = planned_draws(view).get("function")
    return float(np.sqrt(2) * draw.sd.max()) if isinstance(draw, Paired) else 0.0


def _weighed(view: View, slope: Any) -> np.ndarray:
    """Slopes by coefficient, with the weight that each one's noise has beside the others'."""
    draw = planned_draws(view).get("function")
    relative = draw.relative if isinstance(draw, Paired) else None
    return np.asarray(slope) if relative is None else np.asarray(slope) * relative[:, None]


def _noise_degree(view: View) -> int:
    """The highest power hidden; 0 where the noise is not polynomial, or there is none."""
    functions = functions_of(view.algorithm)
    return 0 if functions is None else functions.powers


def _fit(view: View, one: Residuals, terms: int) -> Fit | None:
    """f̂_j's gradient less all known noise; None where it is no polynomial of that degree, or seen too closely."""
    assert view.step is not None
    dtype = next(iter(view.words[0].values())).dtype
    eps = np.finfo(dtype if np.issubdtype(dtype, np.floating) else np.float64).eps
    alpha = view.step.table(1, view.rounds)[one.rounds - 1]
    size = np.abs(one.at).max() + np.abs(alpha[:, None] * one.values).max()
    fit = fit_polynomial(one.at, one.values, terms=terms, rounding=eps * size / alpha)
    if fit is None or np.linalg.norm(fit.sd) > PINNED * np.linalg.norm(fit.coefficients):
        return None
    return fit


def total_attack(view: View, **plan: Unpack[Plan]) -> Attack:
    """The sum of the honest agents' gradients in every round but the last, from secure sums alone: exact, if one
    step is taken between two of them and members know their own objectives.
    """
    view = with_plan(view, any_messages=True, **plan)
    if not only_sums(view.algorithm):
        raise BadInput(
            f"this attack is on secure sums, and agents of {type(view.algorithm).__name__} send messages"
        )
    if view.objectives is None or view.step is None:
        raise BadInput(
            "members' own parts are not known here: the run was loaded from disk without its problem"
        )
    dimension(view)
    means = next(iter(view.words[0].values())).astype(np.float64) / view.network.n
    alpha = view.step.table(1, view.rounds)[:-1, None]
    at, after = means[:-1], means[1:]
    # n (x_k − x_{k+1}) = α_k Σ_j ∇f_j(x_k), over everybody
    everybody = view.network.n * (at - after) / alpha
    own = sum(np.array([view.objectives(member, x) for x in at]) for member in sorted(view.coalition))
    group = view.honest
    return Attack(
        "total",
        group,
        Said(What.EACH_ROUND if len(group) == 1 else What.SUM_EACH_ROUND, who=group),
        True,
        Said(Why.SUM_SHOWN),
        estimate=everybody - own,
        predicted_sd=np.zeros_like(at),
        rows=tuple(range(1, len(at) + 1)),
        at=at,
        assuming=(NO_PROJECTION,),
    )
