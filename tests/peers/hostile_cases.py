"""Which deviation is played where: each once in every run of the tests, all of them everywhere before a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hocket.links.handshake import SeedEscrow

from .hostile import ALGORITHMS, Deviation
from .hostile_stage import TOPOLOGIES, Stage, federation_of, play

EVERYWHERE = [(topology, algorithm) for topology in TOPOLOGIES for algorithm in ALGORITHMS]


def dealt(table: Sequence[Deviation], algorithm: str) -> list[tuple[str, Deviation]]:
    """The deviations that are played under this algorithm, each with a topology: all have their turn somewhere."""
    found = []
    for place, deviation in enumerate(table):
        its = deviation.algorithms
        if its[place % len(its)] == algorithm:
            found.append((list(TOPOLOGIES)[place // len(its) % len(TOPOLOGIES)], deviation))
    return found


def played(folder: Path, dealt: Sequence[tuple[str, Deviation]], algorithm: str) -> list[Stage]:
    """These deviations, each on a stage of its own."""
    return play(_stages(folder, dealt, algorithm))


def everywhere(folder: Path, table: Sequence[Deviation], topology: str, algorithm: str) -> list[Stage]:
    """All deviations in one place; on a ring two colluders also sit on both sides of a victim."""
    mine = [one for one in table if algorithm in one.algorithms]
    stages = list(_stages(folder / "one", [(topology, one) for one in mine], algorithm))
    if topology == "C5":
        pairs = [(topology, one) for one in mine if one.members == 2]
        for stage in _stages(folder / "two", pairs, algorithm):
            stages.append(Stage(stage.federation, stage.deviation, stage.folder, coalition=("birch", "elm")))
    return play(stages)


def _stages(folder: Path, dealt: Sequence[tuple[str, Deviation]], algorithm: str) -> Iterator[Stage]:
    federations = {
        key: federation_of(
            folder / "-".join(map(str, key)), key[0], algorithm, colluders=key[1], means=key[2]
        )
        for key in {(topology, one.members, one.means) for topology, one in dealt}
    }
    for place, (topology, one) in enumerate(dealt):
        federation = federations[topology, one.members, one.means]
        stage = Stage(federation, one, folder / f"{place}")
        if one.replays:
            before = Stage(federation, one, folder / f"{place}-before", secrets=SeedEscrow(12))
            stage.earlier = play([before])[0].overheard
        yield stage
