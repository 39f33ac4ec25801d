"""The noise that a listener does not know, as independent numbers of deviation one: drawn once, or in every round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float

from hocket.networks.neighbour_tables import NeighbourTables
from hocket.networks.network import Network
from hocket.noise.draws import Draw, When
from hocket.privacy.estimate.posterior import compressed
from hocket.privacy.estimate.rule import Rule
from hocket.runs.view import Threat

CHUNK = 1 << 22
"""Numbers that are worked with at once where each agent has noise of its own."""
Key = tuple[int, frozenset[int]]
"""A phase of the network, and who has left."""
Shares = dict[int, Float[np.ndarray, "honest sources"]]
"""By input of the rule: every honest agent's share of some independent numbers; what is missing is zero."""


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

    def kept(self, keys: list[Key]) -> tuple[float, int, dict[Key, Shares]]:
        """Shares of what was drawn once as combinations of as few numbers as will do, and the numbers' size and count.

        Only such combinations of an agent's shares count as some round uses: of a noise function, its slope.
        """
        used = self._used() if self.once else np.zeros((0, 0))
        if not used.size:
            return 1.0, 0, {key: {} for key in keys}
        tables = [
            np.tensordot(used.T, self._all_kept(key), 1) for key in keys
        ]  # (combinations, honest, sources)
        factor = compressed(np.concatenate([*np.concatenate(tables)]))
        size = float(np.linalg.norm(factor, axis=1).max(initial=0.0)) or 1.0
        parts = np.split(factor / size, len(keys))
        dealt = {}
        for key, part in zip(keys, parts, strict=True):
            combinations = part.reshape(used.shape[1], len(self.honest), factor.shape[1])
            dealt[key] = {
                place: np.tensordot(row, combinations, 1)
                for place, row in zip(self.once, used, strict=True)
                if row.any()
            }
        return size, factor.shape[1], dealt

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
