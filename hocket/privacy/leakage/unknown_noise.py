"""The noise that a listener does not know, as independent numbers of deviation one: drawn once, or in every round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from hocket.networks.neighbour_tables import NeighbourTables
from hocket.networks.network import Network
from hocket.noise.draws import Draw, When
from hocket.privacy.leakage.posterior import compressed
from hocket.privacy.leakage.rule import Rule
from hocket.runs.view import Threat

CHUNK = 1 << 22
"""Numbers that are worked with at once where each agent has noise of its own."""
Key = tuple[int, frozenset[int]]
"""A phase of the network, and who has left."""
Shares = dict[int, Float[np.ndarray, "honest sources"]]
"""By input of the rule: every honest agent's share of some independent numbers; what is missing is zero."""


class KeptNumber(NamedTuple):
    """One number that is drawn once: what runs that keep it have in common."""

    name: str
    """Of the kind of noise."""
    term: tuple[int, ...]
    ends: tuple[int, ...]
    """The link on which it is dealt, lower agent first, or the agent that draws it for itself."""
    sd: tuple[float, ...]


class KeptShares(NamedTuple):
    """Of all that was drawn once, what an agent's rule makes use of."""

    places: list[int]
    used: Float[np.ndarray, "shares combinations"]
    tables: Mapping[Key, Float[np.ndarray, "combinations honest sources"] | None]
    """None where nothing is kept."""
    labels: tuple[KeptNumber, ...]
    """What every source is."""


class KeptOffsets(NamedTuple):
    """The same in as few numbers as will do, all of the same size."""

    size: float
    number: int
    """How many they are."""
    shares: dict[Key, Shares]


def as_few_numbers(runs: list[KeptShares], columns: list[np.ndarray] | None = None) -> list[KeptOffsets]:
    """What was drawn once in some runs, as combinations of the same few numbers in all of them.

    `columns` says of every run's sources which of all sources they are; one run has its own.
    """
    places = columns if columns is not None else [np.arange(len(run.labels)) for run in runs]
    width = max((int(place.max(initial=-1)) for place in places), default=-1) + 1
    blocks: list[np.ndarray] = []
    for run, place in zip(runs, places, strict=True):
        for table in run.tables.values():
            block = np.zeros((0 if table is None else len(table) * table.shape[1], width))
            if table is not None:
                block[:, place] = table.reshape(len(block), len(place))
            blocks.append(block)
    # Runs that are dealt the same take no numbers of their own.
    distinct: dict[tuple[int, bytes], int] = {}
    which = [distinct.setdefault((len(block), block.tobytes()), len(distinct)) for block in blocks]
    firsts = [blocks[which.index(one)] for one in range(len(distinct))]
    factor = compressed(np.concatenate([np.zeros((0, width)), *firsts]))
    size = float(np.linalg.norm(factor, axis=1).max(initial=0.0)) or 1.0
    parts = np.split(factor / size, np.cumsum([len(block) for block in firsts])[:-1])
    found = iter(which)
    return [
        KeptOffsets(size, factor.shape[1], {key: _by_place(run, parts[next(found)]) for key in run.tables})
        for run in runs
    ]


def _by_place(run: KeptShares, part: np.ndarray) -> Shares:
    rows = len(part) // max(1, run.used.shape[1])
    combinations = part.reshape(run.used.shape[1], rows, part.shape[1])
    return {
        place: np.tensordot(row, combinations, 1)
        for place, row in zip(run.places, run.used, strict=True)
        if row.any()
    }


class UnknownNoise:
    """Everything drawn of which no listener knows more than its deviation."""

    def __init__(
        self,
        network: Network,
        tables: NeighbourTables,
        draws: Mapping[str, Draw],
        rule: Rule,
        honest: np.ndarray,
        threat: Threat,
    ):
        self.network, self.tables, self.draws, self.rule, self.honest = network, tables, draws, rule, honest
        inside = np.isin(network.links, honest).all(axis=1)
        self._shared = np.flatnonzero(inside & (threat != "states+noise"))
        first = rule.given.start + 1
        self.once = self._places(first, once=True)
        self.fresh = self._places(first, once=False)
        self.firsts = [getattr(draw, "first", 0) for draw in draws.values()]

    def _places(self, first: int, *, once: bool) -> list[int]:
        chosen = [self.rule.shares[name] for name, draw in self.draws.items() if draw.once == once]
        return [first + place for share in chosen for place in range(share.start, share.stop)]

    def silenced(self, gone: frozenset[int]) -> Bool[np.ndarray, " links"]:
        """Links that fell silent when somebody left."""
        return np.asarray(np.isin(self.network.links, list(gone)).any(axis=1))

    def dealt_afresh(self, key: Key, k: int) -> Iterator[Shares]:
        """All shares of round k's fresh noise, some sources at a time."""
        for name, draw in self.draws.items():
            if not draw.once:
                yield from self._dealt(name, draw, key, k)

    def kept_shares(self, keys: list[Key]) -> KeptShares:
        """Shares of what was drawn once, by the number that was drawn on a link or by an agent.

        Only such combinations of an agent's shares count as some round uses: of a noise function, its slope.
        """
        used = self._used() if self.once else np.zeros((0, 0))
        if not used.size:
            return KeptShares(self.once, np.zeros((len(self.once), 0)), dict.fromkeys(keys), ())
        tables = {key: np.tensordot(used.T, self._all_kept(key), 1) for key in keys}
        return KeptShares(self.once, used, tables, tuple(self._labels()))

    def _labels(self) -> Iterator[KeptNumber]:
        """What every column of `_all_kept` stands for."""
        for name, draw in self.draws.items():
            if not draw.once:
                continue
            sd = np.atleast_2d(np.asarray(draw.sd))
            for term in range(draw.width):
                if draw.private:
                    sources = draw.spread(When(np.array([0]), np.array([0])), self.tables).shape[2]
                    for agent in self.honest.tolist():
                        yield from (
                            KeptNumber(name, (term, source), (agent,), (float(sd.max()),))
                            for source in range(sources)
                        )
                else:
                    yield from (
                        KeptNumber(
                            name,
                            (term, draw.width),
                            tuple(self.tables.links[link].tolist()),
                            (float(sd[:, link].max()),),
                        )
                        for link in self._shared.tolist()
                    )

    def _used(self) -> Float[np.ndarray, "shares combinations"]:
        """An orthonormal basis of the combinations of an agent's kept shares that its rule uses."""
        count, first = len(self.once), self.rule.given.start + 1
        rows = [self.rule.setup[:, :, [2 + place - first for place in self.once]]]
        rows += [self.rule.rounds[..., self.once]]
        table = np.concatenate([one.reshape(-1, count) for one in rows])
        table = table[np.abs(table).max(axis=1, initial=0.0) > 0]
        if not len(table):
            return np.zeros((count, 0))
        # Each use counts alike, however small its step.
        _, size, axes = np.linalg.svd(
            table / np.linalg.norm(table, axis=1, keepdims=True), full_matrices=False
        )
        basis = axes[: np.count_nonzero(size > 1e-9 * size[0])].T
        return np.where(np.abs(basis) > 1e-12, basis, 0.0)

    def _all_kept(self, key: Key) -> Float[np.ndarray, "shares honest sources"]:
        parts = [
            shares
            for name, draw in self.draws.items()
            if draw.once
            for shares in self._dealt(name, draw, key, 0)
        ]
        widths = [next(iter(shares.values())).shape[1] for shares in parts]
        table = np.zeros((len(self.once), len(self.honest), sum(widths)))
        for shares, end, width in zip(parts, np.cumsum(widths), widths, strict=True):
            for place, rows in shares.items():
                table[self.once.index(place), :, end - width : end] = rows
        return table

    def _dealt(self, name: str, draw: Draw, key: Key, k: int) -> Iterator[Shares]:
        """The shares of one kind of noise: the same for each of its terms, and independent."""
        phase, gone = key
        when = When(np.array([k]), np.array([phase]))
        spread = draw.without(self.silenced(gone), self.tables).spread(when, self.tables)[self.honest]
        first = self.rule.given.start + 1 + self.rule.shares[name].start
        for term in range(draw.width):
            places = [first + number * draw.width + term for number in range(spread.shape[1])]
            blocks = self._own(spread) if draw.private else [spread[:, :, self._shared].swapaxes(0, 1)]
            for block in blocks:
                yield dict(zip(places, block, strict=True))

    def _own(self, spread: Float[np.ndarray, "honest numbers sources"]) -> Iterator[np.ndarray]:
        """Noise of each agent's own: columns for some agents at a time."""
        h, numbers, sources = spread.shape
        several = max(1, CHUNK // (h * numbers * sources))
        for begin in range(0, h, several):
            some = np.arange(begin, min(h, begin + several))
            block = np.zeros((numbers, h, len(some), sources))
            block[:, some, np.arange(len(some))] = spread[some].swapaxes(0, 1)
            yield block.reshape(numbers, h, -1)
