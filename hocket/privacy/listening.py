"""One round as a coalition hears it: which linear combinations of honest states and noise reach its ears.

While no projection is active everything said is linear in the start, the gradients and the noise, coordinate by
coordinate [maths, 4]. With x the honest states, g their gradients, e the round's fresh noise and o the offsets that
were drawn once,

    heard        H x + α_k N e + a_k O o
    x afterwards M x + α_k N' e + a_k O' o − α_k (g + s o)

where a_k is how an anchor is scaled (zero without one) and s is 1 for function sharing, whose offset is a gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float

from hocket.network import Network
from hocket.privacy.belief import block_diagonal, compressed
from hocket.privacy.honest import honest_components
from hocket.privacy.levels import Levels
from hocket.view import Threat


@dataclass(frozen=True)
class Exchange:
    """The matrices of one round."""

    heard: Float[np.ndarray, "words honest"]
    heard_noise: Float[np.ndarray, "words sources"]
    heard_offset: Float[np.ndarray, "words offsets"]
    mixed: Float[np.ndarray, "honest honest"]
    mixed_noise: Float[np.ndarray, "honest sources"]
    mixed_offset: Float[np.ndarray, "honest offsets"]
    words: tuple[tuple[int, int | None], ...]
    """Each row's speaker, and to whom alone it spoke; None where all heard the same, or all were overheard."""


class Listening:
    """What a coalition hears of every round of a plan.
    The one description of a view that leakage, identifiability and the averaging attack share.
    """

    def __init__(
        self,
        network: Network,
        levels: Levels,
        *,
        coalition: frozenset[int] = frozenset(),
        threat: Threat = "coalition",
        leavers: Mapping[int, int] | None = None,
    ):
        self.network = network
        self.levels = levels
        self.leavers = dict(leavers or {})
        self.coalition = coalition | set(self.leavers)
        self.threat: Threat = threat
        self.honest = np.array(sorted(set(range(network.n)) - self.coalition), dtype=int)
        self._exchange = cache(self._build)
        links = network.links
        self._inside = np.asarray(np.isin(links, self.honest).all(axis=1))
        place = np.full(network.n, -1)
        place[self.honest] = np.arange(len(self.honest))
        self._ends = place[links]
        # One offset per agent suffices while the same links always carry it; else one per link, which may fall silent.
        self.by_link = levels.offset == "anchor" and not network.constant_support

    @property
    def n(self) -> int:
        """How many agents are honest."""
        return len(self.honest)

    @property
    def offset_factor(self) -> Float[np.ndarray, "offsets sources"]:
        """A factor of the covariance of what was drawn once: agents' net offsets, or links' where some fall silent."""
        if self.levels.offset is None:
            return np.zeros((0, 0))
        once = np.sqrt(2) * self._known(self.levels.offset_sd)[self._inside]
        if self.by_link:
            return np.diag(once)
        return compressed(self.incidence(self._inside) * once)

    @cached_property
    def blurred(self) -> Float[np.ndarray, "honest directions"]:
        """Directions of the honest states of which fresh noise leaves no lasting memory.

        Noise that cancels leaves the sum over each honest component alone, so that is remembered.
        """
        if self.levels.own_sd > 0:
            return np.eye(self.n)
        noisy = [self.round(self.levels.first + phase).mixed_noise for phase in range(self.network.period)]
        basis = [np.zeros((self.n, 0))]
        for component in honest_components(self.network, self.coalition):
            part = np.searchsorted(self.honest, component)
            if any(noise[part].any() for noise in noisy):
                columns = np.zeros((self.n, len(part) - 1))
                columns[part] = scipy.linalg.helmert(len(part)).T  # sums to zero over the component
                basis.append(columns)
        return np.hstack(basis)

    def incidence(self, links: Bool[np.ndarray, " links"]) -> Float[np.ndarray, "honest links"]:
        """+1 where an honest agent gains a link's net noise, −1 where it loses it."""
        ends = self._ends[links]
        matrix = np.zeros((self.n, len(ends)))
        column = np.arange(len(ends))
        matrix[ends[:, 0], column] -= 1.0
        matrix[ends[:, 1], column] += 1.0
        return matrix

    def round(self, k: int) -> Exchange:
        """The exchange of round k."""
        gone = frozenset(agent for agent, last in self.leavers.items() if k > last)
        return self._exchange((k - 1) % self.network.period, gone, k >= self.levels.first)

    def _build(self, phase: int, gone: frozenset[int], noisy: bool) -> Exchange:
        active = self.network.active[phase] & ~np.isin(self.network.links, list(gone)).any(axis=1)
        weights = self._weights(phase, active)
        to_each = self._to_each if self.levels.kind == "balanced" else self._to_all
        return to_each(weights, active, phase, 1.0 if noisy else 0.0)

    def _weights(self, phase: int, active: Bool[np.ndarray, " links"]) -> Float[np.ndarray, "agents agents"]:
        """B_k, with the weight of links that were dropped moved to the diagonal."""
        (i, j), weight = self.network.links.T, self.network.weight[phase]
        B = np.diag(self.network.own[phase])
        np.add.at(B, (j, j), np.where(active, 0.0, weight[:, 0]))
        np.add.at(B, (i, i), np.where(active, 0.0, weight[:, 1]))
        B[j[active], i[active]], B[i[active], j[active]] = weight[active].T
        return B

    def _to_all(self, B: np.ndarray, active: np.ndarray, phase: int, noisy: float) -> Exchange:
        """Everybody says one word to all its neighbours."""
        H = B[np.ix_(self.honest, self.honest)]
        listeners = self.coalition if self.threat == "coalition" else range(self.network.n)
        near = active & np.isin(self.network.links, list(listeners)).any(axis=1)
        reached = np.isin(self.honest, self.network.links[near])
        if self.levels.kind == "own":
            noise = np.diag(np.full(self.n, self.levels.own_sd))
        else:
            fresh = np.sqrt(2) * self._known(self.levels.fresh_sd[phase])
            inside = self._inside & active
            noise = compressed(self.incidence(inside) * fresh[inside])
        dealt = self.incidence(self._inside) * active[self._inside] if self.by_link else np.eye(self.n)
        if self.levels.offset is None:
            dealt = np.zeros((self.n, 0))
        return Exchange(
            heard=np.eye(self.n)[reached],
            heard_noise=noisy * noise[reached],
            heard_offset=dealt[reached],
            mixed=H,
            mixed_noise=noisy * H @ noise,
            mixed_offset=H @ dealt,
            words=tuple((j, None) for j in self.honest[reached].tolist()),
        )

    def _to_each(self, B: np.ndarray, active: np.ndarray, phase: int, noisy: float) -> Exchange:
        """Everybody says to each neighbour its own word, its noise balanced over them."""
        honest = set(self.honest.tolist())
        heard, heard_noise, mixed_noise = [], [], []
        words: list[tuple[int, int | None]] = []
        for place, j in enumerate(self.honest.tolist()):
            near = np.flatnonzero((B[:, j] > 0) & (np.arange(len(B)) != j))
            listening = np.array([self.threat != "coalition" or i not in honest for i in near], dtype=bool)
            state = np.eye(self.n)[place]
            if listening.all():
                # Σ_i B[i, j] w_{j,i} / Σ_i B[i, j] = x_j: the balance itself gives the state away, and so the noise.
                if len(near):
                    words.append((j, None))
                    heard.append(state[None])
                    heard_noise.append(np.zeros((1, 0)))
                    mixed_noise.append(np.zeros((self.n, 0)))
                continue
            b = B[near, j]
            balanced = (
                noisy * self.levels.balanced_sd[phase, j] * (np.eye(len(near)) - np.outer(b, b) / (b @ b))
            )
            towards = np.zeros((self.n, len(near)))
            for column, i in enumerate(near.tolist()):
                if i in honest:
                    towards[np.searchsorted(self.honest, i), column] = B[i, j]
            words += [(j, i) for i in near[listening].tolist()]
            heard.append(np.repeat(state[None], listening.sum(), axis=0))
            heard_noise.append(balanced[listening])
            mixed_noise.append(towards @ balanced)
        noise = compressed(
            np.vstack([block_diagonal(*heard_noise), np.hstack(mixed_noise)])
            if heard
            else np.zeros((self.n, 0))
        )
        return Exchange(
            heard=np.vstack([np.zeros((0, self.n)), *heard]),
            heard_noise=noise[: len(words)],
            heard_offset=np.zeros((len(words), 0)),
            mixed=B[np.ix_(self.honest, self.honest)],
            mixed_noise=noise[len(words) :],
            mixed_offset=np.zeros((self.n, 0)),
            words=tuple(words),
        )

    def _known(self, sd: Iterable[float]) -> np.ndarray:
        """Pairwise noise that the listener knows is no noise to it."""
        return np.zeros(len(self.network.links)) if self.threat == "states+noise" else np.asarray(sd)
