"""Which runs are made: every method at a noise of stated size, and every case of it, the most telling first.

All noise is given as the standard deviation of one coordinate in units of a gradient, so that one number means the same
for every method; here it becomes the bound that each algorithm takes. C5 and K5 are regular with equal weights, for
which the deviations are closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from hocket.algorithm import Algorithm
from hocket.algorithms import Centralised, Dgd, IndependentNoise, JointAverage
from hocket.errors import BadInput
from hocket.learning import Alone
from reproductions.attacks.trials import balanced, paired, shared

SGD_C, DGD, JOINT, ALONE, DP_SGD = "SGD-C", "DGD", "joint average", "alone", "DP-SGD"
NB, LB, FS, INDEPENDENT = "RSS-NB", "RSS-LB", "FS", "independent noise"
CANCELLING = (NB, LB, FS)
"""The paper's three."""
RING, COMPLETE = "C5", "K5"
EQUAL, DIRICHLET, LABELS = "equal", "Dirichlet", "labels"
USUAL_STEPS = 40
"""Local steps between exchanges in the paper."""


@dataclass(frozen=True)
class Method:
    """One way to learn together, or not."""

    name: str
    hides: str
    """What it hides from whom, in a few words."""
    algorithm: Callable[[float, int, int], Algorithm]
    """The algorithm for a standard deviation, a dimension and a degree."""
    level: Literal["none", "noise", "epsilon"] = "none"
    """What a case's level is: nothing, noise over the rms of a gradient, or ε."""
    connected: bool = True
    """Whether what is reached depends on who speaks with whom; else all networks are one case."""
    communicates: bool = True
    """Whether agents speak at all."""

    def at(self, level: float) -> str:
        """The method's name with its level."""
        match self.level:
            case "none":
                return self.name
            case "noise":
                return f"{self.name}, noise {level:.2g}"
            case "epsilon":
                return f"{self.name}, ε = {level:g}"


def independent(sd: float, dim: int, degree: int) -> Algorithm:
    """Normal noise of each agent alone."""
    return IndependentNoise(sd)


METHODS = {
    method.name: method
    for method in (
        Method(
            SGD_C,
            "nothing from the server, which holds all data",
            lambda *_: Centralised(),
            connected=False,
            communicates=False,
        ),
        Method(DGD, "nothing from neighbours", lambda *_: Dgd()),
        Method(JOINT, "all but the sum, by Theorem T", lambda *_: JointAverage(), connected=False),
        Method(
            ALONE,
            "everything: nobody sends a message",
            lambda *_: Alone(),
            connected=False,
            communicates=False,
        ),
        Method(NB, "who holds what, from a coalition", paired, "noise"),
        Method(LB, "who holds what, unless all neighbours collude", balanced, "noise"),
        Method(FS, "a constant offset of each agent's gradient", shared, "noise"),
        Method(INDEPENDENT, "what neighbours receive, until averaged", independent, "noise"),
        Method(DP_SGD, "each sample, from everybody, also in the model", lambda *_: Dgd(), "epsilon"),
    )
}


@dataclass(frozen=True)
class Case:
    """One run, but for the data."""

    split: str
    shards: str
    network: str
    """Empty where it makes no difference."""
    method: str
    level: float
    """Noise over the rms of a gradient, ε, or 0."""
    local_steps: int
    seed: int

    @property
    def slug(self) -> str:
        """A file name."""
        words = (
            self.split,
            self.shards,
            self.network or ("any" if METHODS[self.method].communicates else "apart"),
            self.method,
            f"{self.level:.3g}",
            f"H{self.local_steps}",
            f"seed{self.seed}",
        )
        return "_".join(words).replace(" ", "-").replace("'", "").replace(",", "")

    def __str__(self) -> str:
        where = f" on {self.network}" if self.network else ""
        return (
            f"{METHODS[self.method].at(self.level)}{where}, {self.split}, {self.shards} shards, "
            f"H = {self.local_steps}, seed {self.seed}"
        )


@dataclass(frozen=True)
class Size:
    """How much to run."""

    seeds: int = 3
    networks: tuple[str, ...] = (RING, COMPLETE)
    levels: tuple[float, float] = (0.5, 5.0)
    """Noise over the rms of a gradient, per coordinate and local step: a low and a high one, for curves."""
    sweep: tuple[float, ...] = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
    local_steps: tuple[int, ...] = (1, 10, 40, 160)
    skewed: tuple[str, ...] = (DIRICHLET, LABELS)
    epsilons: tuple[float, ...] = (1.0, 8.0)
    epochs: float = 1.0
    """As a part of the subject's."""
    samples: int | None = None
    """How many to learn from at most; None for all."""


FULL = Size()
QUICK = Size(
    seeds=1, networks=(RING,), sweep=(), local_steps=(), skewed=(), epsilons=(), epochs=0.2, samples=6_000
)
"""Compiling takes longest, so no method is there that has to be compiled again: neither other H nor DP-SGD."""

Part = Literal["curves", "noise", "steps", "shards", "price"]
CURVES, NOISE, STEPS, SHARDS, PRICE = "curves", "noise", "steps", "shards", "price"
PARTS: dict[Part, str] = {
    CURVES: "accuracy against epochs on both networks, at two noise levels",
    PRICE: "one row for each kind of privacy",
    NOISE: "the noise at which accuracy starts to fall",
    STEPS: "what exchanging rarely costs and saves",
    SHARDS: "agents that hold different labels",
}


def cases(splits: Iterable[str], size: Size, only: Iterable[str] = ()) -> list[Case]:
    """All cases in order of importance, or those of some parts only."""
    wanted = list(only) or list(PARTS)
    for part in wanted:
        if part not in PARTS:
            raise BadInput(f"the experiment has no part called {part!r}; its parts are {', '.join(PARTS)}")
    splits = list(splits)
    found = dict.fromkeys(case for part in PARTS if part in wanted for case in _part(part, splits, size))
    if not found:
        raise BadInput(
            f"an experiment of this size has no runs of {', '.join(wanted)}; leave --quick out, or ask for other parts"
        )
    return list(found)


def _part(part: Part, splits: list[str], size: Size) -> Iterator[Case]:
    first, low = splits[0], size.levels[0]
    for seed in range(size.seeds):
        match part:
            case "curves":
                for split in splits:
                    for network in size.networks:
                        yield from _compared(size.levels, split=split, network=network, seed=seed)
            case "price":
                yield one(ALONE, split=first, seed=seed)
                yield one(INDEPENDENT, low, split=first, seed=seed)
                for epsilon in size.epsilons:
                    yield one(DP_SGD, epsilon, split=first, seed=seed)
            case "noise":
                for level in size.sweep:
                    for method in (*CANCELLING, INDEPENDENT):
                        yield one(method, level, split=first, seed=seed)
            case "steps":
                for local_steps in size.local_steps:
                    for method in (DGD, JOINT, NB, LB):
                        yield one(method, low, split=first, local_steps=local_steps, seed=seed)
            case "shards":
                for shards in size.skewed:
                    for network in size.networks:
                        yield from _compared((low,), split=first, shards=shards, network=network, seed=seed)
                    yield one(ALONE, split=first, shards=shards, seed=seed)


def _compared(levels: Iterable[float], **about: Any) -> Iterator[Case]:
    """The paper's algorithms beside their yardsticks."""
    for yardstick in (SGD_C, DGD, JOINT):
        yield one(yardstick, **about)
    for level in levels:
        for method in CANCELLING:
            yield one(method, level, **about)


def one(
    method: str,
    level: float = 0.0,
    *,
    split: str,
    seed: int,
    shards: str = EQUAL,
    network: str = RING,
    local_steps: int = USUAL_STEPS,
) -> Case:
    """A case without what its method does not know."""
    kind = METHODS[method]
    return Case(
        split,
        shards,
        network if kind.connected else "",
        method,
        level if kind.level != "none" else 0.0,
        local_steps,
        seed,
    )
