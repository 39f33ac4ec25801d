"""Objectives of a public form, fitted to what was received: the parameters, their predicted errors, and the rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from hocket.errors import BadInput
from hocket.privacy.attacks.attack import NO_PROJECTION, Assumed, Attack, What, Why
from hocket.privacy.attacks.equations import Equations
from hocket.privacy.attacks.guesses import guesses, mirrored
from hocket.privacy.attacks.least_squares import ROUNDINGS, Rows, Solution, agreeing, checked, solve
from hocket.privacy.attacks.system import Key, Received, System, Tiers, Use
from hocket.privacy.families import Family
from hocket.privacy.wording import Said
from hocket.problems.sets import FeasibleSet

UNLIKELY = 5.0
"""Standard deviations by which the misfit of noisy equations may exceed one."""
HALVINGS = 8
ENOUGH = 1e-6
"""Part of the misfit that another round must mend to be worth it."""
POLISHING = 30
"""Rounds of Gauss-Newton after which a fit that still moves is taken as it is."""
SWEEPS = 8
"""How often somebody's objective is exchanged for one that differs by what noise drawn once may be."""
EXACT = 1e-7
"""Part of the residuals' size below which a predicted error is rounding."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """Objectives fitted to views. Ask for an agent's parameters, or for its gradients as an `Attack`."""

    name: str
    system: System
    solution: Solution
    used: int
    """How many equations agree, of those that no noise is in."""
    misfit: float
    """What is left of the equations, as a part of the most that chance and rounding explain."""
    fits: bool
    """Whether chance or rounding explains the misfit: if not, objectives are of another form, or were projected."""
    unlikeliness: float
    """Squares left of noisy equations and of what is known beforehand: of two explanations the smaller is likelier."""
    assuming: tuple[Said, ...]

    @property
    def agents(self) -> tuple[int, ...]:
        """Whose objectives were fitted."""
        return tuple(dict.fromkeys(a for one in self.system.received for a in one.equations.agents))

    @property
    def rank(self) -> int:
        """How many combinations of the unknowns are determined by what was received."""
        return self.solution.rank

    @property
    def unknowns(self) -> int:
        """Parameters of everybody, and kept noise that nobody in the coalition knows."""
        return self.system.size

    def parameters(self, key: Key, part: str | None = None) -> Float[np.ndarray, " size"]:
        """One agent's parameters as fitted, or a part of them by its name: "curvatures", "slopes"."""
        return self.solution.u[self._places(key, part)]

    def predicted_sd(self, key: Key, part: str | None = None) -> Float[np.ndarray, " size"]:
        """The standard deviation of each parameter's error, rounding included; infinite if nothing is known of it."""
        return self.solution.sd(np.eye(self.unknowns)[self._places(key, part)])

    def determined(self, key: Key, part: str | None = None) -> np.ndarray:
        """Whether what was received pins each parameter down, by rank."""
        return self.solution.determined(np.eye(self.unknowns)[self._places(key, part)]) & self.fits

    def total(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """A part of the parameters summed over all agents, and the predicted error of the sum."""
        of = np.sum([np.eye(self.unknowns)[self._places(agent, part)] for agent in self.agents], axis=0)
        return of @ self.solution.u, self.solution.sd(of)

    def offset(self, agent: int) -> tuple[np.ndarray, np.ndarray]:
        """What noise that was drawn once adds to an agent's residuals, in the mean over rounds, and its error."""
        number, a = self._place(agent)
        shares = self.system.kept_shares(number)
        of = shares[:, a].mean(axis=0)
        return of @ self.solution.u, self.solution.sd(of)

    def attack(self, agent: int, key: Key | None = None) -> Attack:
        """An agent's gradient in every round, as the fitted objective has it; or that of a record, by its key."""
        number, a = self._place(agent)
        equations, key = self.system.received[number].equations, agent if key is None else key
        at, place, family = equations.at[:, a], self.system.places[key], self.system.families[key]
        of = np.zeros((*at.shape, self.unknowns))
        of[..., place] = family.jacobians(at, self.solution.u[place])
        sd = self.solution.sd(of)
        added = key != agent
        return Attack(
            self.name,
            (agent,),
            Said(What.RECORD_OF_FORM if added else What.OF_FORM, who=(agent,), form=family.name),
            bool(self.solution.determined(of).all() and self.fits),
            self._why(sd, Said(Why.OF_RECORD if added else Why.OF_AGENT, who=(agent,))),
            estimate=family.gradients(at, self.solution.u[place]),
            predicted_sd=np.where(sd < EXACT * self.system.typical, 0.0, sd),
            rows=tuple(equations.rounds.tolist()),
            at=at,
            assuming=self.assuming,
        )

    def _why(self, sd: np.ndarray, whose: Said) -> Said:
        """What gave the gradients away, or still hides them."""
        rank = Said(Why.RANK, rank=self.rank, unknowns=self.unknowns)
        if not self.fits:
            return Said(Why.MISFITTING, rank=rank)
        if not np.isfinite(sd).all():
            return Said(Why.UNDETERMINED, rank=rank, whose=whose)
        return Said(
            Why.SUMS_TO_ZERO if (sd < EXACT * self.system.typical).all() else Why.DIFFERING, rank=rank
        )

    def _place(self, agent: int) -> tuple[int, int]:
        for number, one in enumerate(self.system.received):
            if agent in one.equations.agents:
                return number, one.equations.agents.index(agent)
        raise BadInput(
            f"agent {agent} was not fitted; fitted were {', '.join(map(str, self.agents)) or 'none'}"
        )

    def _places(self, key: Key, part: str | None) -> np.ndarray:
        if key not in self.system.places:
            raise BadInput(
                f"agent {key} was not fitted; fitted were {', '.join(map(str, self.agents)) or 'none'}"
            )
        every, parts = np.arange(self.unknowns)[self.system.places[key]], self.system.families[key].parts
        if part is not None and part not in parts:
            raise BadInput(
                f"no part is called {part!r}; {self.system.families[key].name} have {', '.join(parts)}"
            )
        return every if part is None else every[np.ravel(parts[part])]


AnyFamily = Family | Mapping[int, Family]


def fit_of(
    name: str,
    received: Equations,
    family: AnyFamily,
    *,
    feasible: FeasibleSet | None = None,
    use: Use = "everything",
) -> ModelFit:
    """Objectives of some form, one for each agent, fitted to one view."""
    forms: dict[Key, Family] = {
        j: family[j] if isinstance(family, Mapping) else family for j in received.agents
    }
    system = System([Received(received, {j: [j] for j in received.agents})], forms, feasible, use=use)
    return fitted(name, system, assuming=assumed_of(received, forms, feasible))


def assumed_of(
    received: Equations, forms: Mapping[Key, Family], feasible: FeasibleSet | None
) -> tuple[Said, ...]:
    """What a fit takes for granted: the form, and that no step was cut short unless X is taken into account."""
    names = " or ".join(dict.fromkeys(form.name for form in forms.values()))
    taken = [one for one in received.assuming if feasible is None or one != NO_PROJECTION]
    return (*taken, Said(Assumed.FORM, form=names))


def fitted(
    name: str, system: System, *, assuming: tuple[Said, ...], restarts: int = 4, seed: int = 0
) -> ModelFit:
    """The objectives that explain the views best: the first that fit, unless their mirror images are likelier."""
    best = None
    with threadpool_limits(1, user_api="blas"):
        for guess in guesses(system, restarts, seed):
            found = _judged(name, system, _polished(system, guess), assuming)
            best = found if best is None or found.misfit < best.misfit else best
            if best.fits:
                break
        assert best is not None
        for _ in range(SWEEPS if best.fits and not system.straight else 0):
            # Equations without noise leave no room for a constant.
            blurred = [agent for agent in best.agents if np.any(best.attack(agent).predicted_sd)]
            others = mirrored(system, best.solution.u, blurred, seed)
            found = min(
                (_judged(name, system, _polished(system, one), assuming) for one in others),
                key=lambda one: one.unlikeliness if one.fits else np.inf,
                default=best,
            )
            if not found.fits or found.unlikeliness >= best.unlikeliness:
                break
            best = found
    return best


class _Polished(NamedTuple):
    used: int
    solution: Solution
    tiers: Tiers
    every: Rows
    """Equations without noise that have to hold, checked or not."""


def _judged(name: str, system: System, found: _Polished, assuming: tuple[Said, ...]) -> ModelFit:
    exact, noisy = found.every.b, found.tiers.noisy.b
    rounding = float(np.sqrt(np.mean(exact**2))) / ROUNDINGS if len(exact) else 0.0
    spare = max(len(noisy) - found.solution.rank, 1)
    noise = float(np.sqrt(np.sum(noisy**2) / spare)) / (1 + UNLIKELY / np.sqrt(2 * spare))
    misfit = max(rounding, noise)
    chance = float(sum(np.sum(part.b**2) for part in found.tiers[1:]))
    return ModelFit(name, system, found.solution, found.used, misfit, misfit <= 1, chance, assuming)


def _cost(tiers: Tiers) -> float:
    return float(np.nan_to_num(sum(np.sum(part.b**2) for part in tiers), nan=np.inf))


def _polished(system: System, u: np.ndarray) -> _Polished:
    """Gauss-Newton from u; steps that make things worse are halved.

    Equations without noise that disagree with most others are left out of a step: there a step was cut short, or the
    fit does not yet tell rightly which ones were.
    """
    every, scale = system.tiers(u), system.scale(u)
    keep = np.ones(len(every.exact.b), dtype=bool)
    for _ in range(2 if system.linear else POLISHING):
        before, keep = keep, agreeing(every.exact) if system.straight else keep
        tiers = _kept(every, keep)
        for step in _steps(tiers, scale):
            new = system.tiers(u + step)
            if system.linear or _cost(_kept(new, keep)) < _cost(tiers):
                break
        else:
            break
        gained = _cost(tiers) - _cost(_kept(new, keep))
        u, every = u + step, new
        if gained < ENOUGH * _cost(_kept(new, keep)) and (before == keep).all() and not system.linear:
            break
    if not system.linear:
        # Noisy equations of a round that is told wrongly mislead, and nothing shows which of them do: all must agree.
        some = system.straight and system.use == "sums"
        keep = agreeing(every.exact) if some else np.ones(len(every.exact.b), dtype=bool)
    held = _kept(every, keep)
    told = held if system.feasible is None else _kept(held, checked(held.exact, scale))
    return _Polished(int(keep.sum()), replace(solve(*told, scale), u=u), told, held.exact)


def _steps(tiers: Tiers, scale: np.ndarray) -> Iterator[np.ndarray]:
    """The best step; then less and less of what noisy equations ask for, as that may lead across an edge of X."""
    whole = solve(*tiers, scale).u
    yield whole
    if len(tiers.exact.b):
        nothing = Rows(tiers.exact.a[:0], tiers.exact.b[:0])
        firm = solve(tiers.exact, nothing, nothing, scale).u
        yield from (firm + (whole - firm) / 2**halving for halving in range(1, HALVINGS))
        yield firm
        whole = firm
    yield from (whole / 2**halving for halving in range(1, HALVINGS))


def _kept(tiers: Tiers, keep: np.ndarray) -> Tiers:
    return Tiers(Rows(tiers.exact.a[keep], tiers.exact.b[keep]), *tiers[1:])
