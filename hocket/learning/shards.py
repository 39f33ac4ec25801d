"""A dataset divided among agents: every sample belongs to exactly one of them.

Who gets what follows from a public seed. It is part of the experiment, not of the privacy: real agents bring their own
data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

from hocket.errors import BadProblem
from hocket.learning.data.dataset import Dataset

Rows = Int[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class Shards:
    """What every agent holds."""

    parts: tuple[Dataset, ...]
    how: str
    """How it was divided, in words."""

    def __post_init__(self) -> None:
        if not self.parts:
            raise BadProblem("there are no shards; give every agent one")
        for j, part in enumerate(self.parts):
            if not len(part):
                raise BadProblem(
                    f"the shard of agent {j} is empty ({self.how}); use fewer agents, more data, another seed or, for "
                    "Dirichlet shards, a larger concentration"
                )
        shapes = {part.inputs.shape[1:] for part in self.parts}
        if len(shapes) > 1 or len({part.classes for part in self.parts}) > 1:
            raise BadProblem(
                f"the shards hold inputs of shapes {sorted(shapes)}; make samples and classes alike"
            )
        # Models divide bytes by 255 and take all else as it is, and stacked beside other types bytes are bytes no more.
        kinds = [str(part.inputs.dtype) for part in self.parts]
        if "uint8" in kinds and len({*kinds}) > 1:
            agent, others = kinds.index("uint8"), " and ".join(sorted({*kinds} - {"uint8"}))
            raise BadProblem(
                f"the inputs of agent {agent} are bytes (uint8), which models divide by 255, and others' are {others}, "
                "which they take as they are: in one stack bytes would count 255-fold; give all inputs one type"
            )

    @property
    def counts(self) -> list[int]:
        """How many samples each agent holds."""
        return [len(part) for part in self.parts]

    @cached_property
    def table(self) -> Int[np.ndarray, "agents classes"]:
        """How many samples of each label each agent holds."""
        return np.stack([np.bincount(part.labels, minlength=part.classes) for part in self.parts])

    def __len__(self) -> int:
        return len(self.parts)


def own_shards(parts: Sequence[Dataset]) -> Shards:
    """Shards that agents bring along."""
    return Shards(tuple(parts), "each agent's own data")


def equal_shards(data: Dataset, agents: int, *, seed: int = 0) -> Shards:
    """Shuffled and cut into parts that differ by one sample at most.

    The paper's choice, and the easiest case: all agents see the same mixture of labels.
    """
    _check_agents(agents)
    order = np.random.default_rng(seed).permutation(len(data))
    return _cut(data, [order[j::agents] for j in range(agents)], f"equal shards, seed {seed}")


def dirichlet_shards(data: Dataset, agents: int, *, concentration: float, seed: int = 0) -> Shards:
    """Every label is shared out in proportions drawn from a Dirichlet distribution.

    The choice for agents that differ: 0.1 is very uneven, 100 nearly even, in labels and in amounts.
    """
    _check_agents(agents)
    if not (np.isfinite(concentration) and concentration > 0):
        raise BadProblem(
            f"concentration = {concentration}; it must be positive and finite: 0.1 is very uneven"
        )
    rng = np.random.default_rng(seed)
    parts: list[list[Rows]] = [[] for _ in range(agents)]
    for label in range(data.classes):
        rows = rng.permutation(np.flatnonzero(data.labels == label))
        shares = rng.dirichlet(np.full(agents, concentration))
        cuts = np.round(np.cumsum(shares)[:-1] * len(rows)).astype(np.int64)
        for part, piece in zip(parts, np.split(rows, cuts), strict=True):
            part.append(piece)
    joined = [rng.permutation(np.concatenate(part)) for part in parts]
    return _cut(data, joined, f"Dirichlet shards of concentration {concentration:g}, seed {seed}")


def label_shards(data: Dataset, agents: int, *, seed: int = 0) -> Shards:
    """One label per agent, or as few as there can be.

    The hardest case: nobody could learn anything alone. With fewer agents than labels, label c goes to agent
    c mod agents; with more, the agents of a label share it out.
    """
    _check_agents(agents)
    order = np.random.default_rng(seed).permutation(len(data))
    labels = data.labels[order]
    parts = []
    for j in range(agents):
        if agents <= data.classes:
            parts.append(order[labels % agents == j])
        else:
            sharing = len(range(j % data.classes, agents, data.classes))
            parts.append(order[labels == j % data.classes][j // data.classes :: sharing])
    return _cut(data, parts, f"one label per agent where that is possible, seed {seed}")


def _cut(data: Dataset, parts: list[Rows], how: str) -> Shards:
    return Shards(
        tuple(data.take(rows, f"agent {j}'s part of {data.name}") for j, rows in enumerate(parts)), how
    )


def _check_agents(agents: int) -> None:
    if agents < 1:
        raise BadProblem(f"agents = {agents}; data can be divided among one or more")
