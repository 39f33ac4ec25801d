"""How much noise a plan deals: an algorithm, and its draws with the deviation that they have per coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import Centralised
from hocket.algorithms.function_sharing import functions_of
from hocket.errors import BadInput, NoTheorem
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Paired
from hocket.privacy.leakage.edges import as_normal, has_edges
from hocket.privacy.stand_ins import PERSISTENT, TYPICAL, by_coordinate
from hocket.steps import Constant, Step

NAMES = tuple(TYPICAL)
"""Algorithms that can be asked about by name, with the deviation of one draw."""


@dataclass(frozen=True)
class Levels:
    """An algorithm with its noise, for one coordinate."""

    algorithm: Algorithm
    draws: Mapping[str, Draw]
    bounded: bool = False
    """Whether draws were bounded, and are now as small as normal ones that hide no more."""

    def as_normal(self, network: Network, rounds: int, *, runs: int = 1, kept: bool = True) -> Levels:
        """The same with normal noise that hides no more from any estimator than what is drawn in all rounds and runs.
        `kept` says whether what is drawn once is kept over all runs."""
        counts = {
            name: runs
            * (1 if draw.once else rounds)
            * (len(network.links) if isinstance(draw, Paired) else network.n)
            for name, draw in self.draws.items()
            if has_edges(draw, kept=kept or runs == 1)
        }
        return replace(self, draws=as_normal(self.draws, counts), bounded=True) if counts else self

    def exposed(self) -> Levels:
        """The same with all noise known that is drawn once and carried by messages; noise functions are not carried."""
        if functions_of(self.algorithm) is not None:
            return self
        return replace(
            self, draws={name: draw.with_sd(0.0) if draw.once else draw for name, draw in self.draws.items()}
        )


def stands_for(algorithm: str | Algorithm, *, persistent: bool = False) -> Algorithm:
    """The algorithm itself, or an instance that stands for its name."""
    if isinstance(algorithm, Algorithm):
        return algorithm
    if algorithm not in NAMES:
        raise BadInput(
            f"unknown algorithm {algorithm!r}; choose one of {', '.join(NAMES)}, or pass the algorithm itself"
        )
    if persistent and algorithm not in PERSISTENT:
        raise BadInput(
            f"persistent: only {' and '.join(PERSISTENT)} have persistent noise; leave it away for {algorithm}"
        )
    return PERSISTENT[algorithm] if persistent else TYPICAL[algorithm]


def levels_of(
    network: Network,
    algorithm: str | Algorithm,
    sigma: float,
    persistent: float,
    dim: int,
    step: Step,
    rounds: int,
    *,
    runs: int = 1,
    kept: bool = True,
) -> Levels:
    """The noise of a plan, bounded draws as small as normal ones that hide no more; by name, alike on all links."""
    if isinstance(algorithm, Algorithm):
        levels = planned_levels(network, algorithm, dim=dim, step=step, rounds=rounds)
        return levels.as_normal(network, rounds + 1, runs=runs, kept=kept)
    setting = Setting(network, 1, Constant(1.0), 1)
    algorithm = by_coordinate(stands_for(algorithm, persistent=persistent > 0), setting)
    draws = algorithm.noise(setting)
    sd = {"persistent": persistent}
    return Levels(algorithm, {kind: draw.with_sd(sd.get(kind, sigma)) for kind, draw in draws.items()})


def planned_levels(network: Network, algorithm: Algorithm, *, dim: int, step: Step, rounds: int) -> Levels:
    """What an algorithm with its own Δ or bound deals under this plan; noise given by hand looks like random draws."""
    if getattr(algorithm, "given", None) is not None:
        algorithm = replace(algorithm, given=None)  # type: ignore[call-arg]
    if type(algorithm) is Centralised:
        raise NoTheorem(
            f"no leakage model covers {type(algorithm).__name__}: all data lie in one place, where nothing is hidden"
        )
    setting = Setting(network, dim, step, rounds)
    algorithm.validate(setting)
    algorithm = by_coordinate(algorithm, setting)
    one, all_of_them = (algorithm.noise(Setting(network, width, step, rounds)) for width in (1, dim))
    # Coordinates are alike and apart: one of them, with the deviation that it has among all.
    draws = {name: replace(draw, width=one[name].width) for name, draw in all_of_them.items()}
    _check_counted(algorithm, draws)
    return Levels(algorithm, draws)


def _check_counted(algorithm: Algorithm, draws: Mapping[str, Draw]) -> None:
    """Refuse draws that are not what their deviation says: a law of somebody's own, factors by coordinate, or one
    stream of random numbers under two names."""
    by_label: dict[int, str] = {}
    for name, draw in draws.items():
        why = ""
        if not type(draw).__module__.startswith("hocket."):
            kind = type(draw).__name__
            why = f"{kind} is not hocket's, and what it draws is not read; take Paired, Balanced, Own or Gaussian"
        elif draw.label in by_label:
            why = (
                f"label = {draw.label} is that of {by_label[draw.label]!r} too, so that both are the same random "
                "numbers and may cancel; give each kind of noise a label of its own"
            )
        elif functions_of(algorithm) is None and getattr(draw, "relative", None) is not None:
            why = "relative= changes its size coordinate by coordinate; leave it out, or multiply it in the round"
        if why:
            raise NoTheorem(f"no leakage model covers noise {name!r} of {type(algorithm).__name__}: {why}")
        by_label[draw.label] = name
