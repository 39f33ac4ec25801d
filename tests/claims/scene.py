"""A run that is played in two worlds, one agent at a time: hocket's own algorithms and draws, and none of its formulas.

Every agent's generator is fed the real messages of the first world, and sends what it would in either, under any noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

import hocket as hk
from hocket.agent import Agent, no_step
from hocket.algorithm import SecureSum, SendEach, Setting, communicates, opened
from hocket.algorithms.function_sharing import functions_of
from hocket.networks.neighbour_tables import tabulate
from hocket.noise import threefry
from hocket.noise.draws import Draw, Pair, Paired, When
from hocket.steps import Step

Gradient = Callable[[int, Any], Any]
"""∇f_j at a point: of an agent by its number."""


class Plain:
    """A feasible set, or a penalty, without its module, whose bound methods are slow to look up."""

    def __init__(self, module: Any):
        for name in ("project", "prox"):
            if hasattr(module, name):
                setattr(self, name, getattr(module, name))


class Received(list):
    """The messages of the neighbours with their weights, and the very one that the agent sent in the real run."""

    def __init__(self, weights: list[float], messages: list[Any], own: float, sent: Any, real: Any):
        super().__init__(zip(weights, messages, strict=True))
        self.own, self.sent, self.real = own, sent, real

    def mixed_with(self, own: Any) -> Any:
        """Σ B w. Of what an agent mixes for itself, only what differs from its message is its own."""
        total = jax.tree.map(lambda a, s, r: self.own * (r + (a - s)), own, self.sent, self.real)
        for weight, message in self:
            total = jax.tree.map(lambda a, b, w=weight: a + w * b, total, message)
        return total


@dataclass(frozen=True, eq=False)
class Scene:
    """A run that is played in two worlds, and who looks on."""

    network: hk.Network
    algorithm: hk.Algorithm
    worlds: tuple[Gradient, Gradient]
    dim: int
    start: np.ndarray
    step: Step
    rounds: int
    coalition: frozenset[int]
    feasible: Any = field(default_factory=hk.problems.sets.Everywhere)
    penalty: Any = None
    grad_at: str = "mixed"
    seed: int = 0
    steps: tuple[Step, Step] | None = None
    """The steps of the two worlds, where they follow from data."""
    other: hk.Algorithm | None = None
    """The algorithm of the second world, where it follows from data too."""
    every: int = 1
    """What differs between the worlds takes part in one round of so many."""
    lies: bool = False
    """Whether members of the coalition send numbers of their own choice in place of their messages."""
    channel: Any = None
    """`hk.Channel`: messages that are lost or late, agents that are inactive; None where every one arrives."""

    @cached_property
    def honest(self) -> list[int]:
        return [j for j in range(self.network.n) if j not in self.coalition]

    @cached_property
    def played(self) -> tuple[hk.Algorithm, hk.Algorithm]:
        """The algorithm of each world."""
        return in_real_numbers(self.algorithm), in_real_numbers(self.other or self.algorithm)

    @cached_property
    def weights(self) -> list[np.ndarray]:
        return [np.asarray(self.network.B_at(k + 1)) for k in range(self.network.period)]

    @cached_property
    def plain(self) -> tuple[Any, Any]:
        return Plain(self.feasible), None if self.penalty is None else Plain(self.penalty)

    @cached_property
    def tables(self) -> Any:
        return tabulate(self.network, slots_needed=True)

    @cached_property
    def draws(self) -> dict[str, Draw]:
        asked = self.algorithm.noise(Setting(self.network, self.dim, self.step, self.rounds))
        key = threefry.seed_key(self.seed)
        return {name: draw.settled((key[0], key[1]), self.network) for name, draw in asked.items()}

    def when(self, draw: Draw) -> When:
        period = self.network.period
        if draw.once:
            return When(np.zeros(period, dtype=int), np.arange(period))
        rounds = np.arange(1, self.rounds + 2)
        return When(rounds, (rounds - 1) % period)

    @cached_property
    def shares(self) -> dict[str, np.ndarray]:
        """Every agent's real noise: (rounds or phases, agents, width)."""
        key, found = threefry.seed_key(self.seed), {}
        for name, draw in self.draws.items():
            stream = threefry.derive((key[0], key[1]), draw.label)
            raw = draw.raw(stream, self.when(draw), self.tables, np.float64)
            raw = Pair(*map(np.asarray, raw)) if isinstance(raw, Pair) else np.asarray(raw)
            dealt = draw.deal(draw.condense(raw), self.when(draw), self.tables)
            found[name] = np.array(dealt, dtype=float)
        return found

    def row(self, name: str, k: int) -> int:
        return (k - 1) % self.network.period if self.draws[name].once else k - 1

    @cached_property
    def alphas(self) -> tuple[list[float], list[float]]:
        both = self.steps or (self.step, self.step)
        return tuple([0.0, *one.table(1, self.rounds + 1).tolist()] for one in both)  # type: ignore[return-value]

    def agent(self, world: int, j: int, k: int, shares: dict[str, np.ndarray]) -> Agent:
        gradient = self.worlds[world if (k - 1) % self.every == 0 else 0]
        alphas = self.alphas[world]
        return Agent(
            index=j,
            alpha=lambda k: alphas[k] if k > 0 else 0.0,
            objective=lambda v: gradient(j, v),
            feasible=self.plain[0],
            shares={name: table[self.row(name, k)] for name, table in shares.items()},
            grad_at=self.grad_at,
            members=self.network.n,
            penalty=self.plain[1],
            local=no_step if k > self.rounds else None,
        )

    @cached_property
    def luck(self) -> Any:
        """By round: who is inactive, and by how many rounds each message is late; −1 where it is lost."""
        rng, n, about = np.random.default_rng(self.seed + 1), self.network.n, self.channel
        inactive = rng.uniform(size=(self.rounds + 2, n)) < about.inactive
        late = rng.integers(0, about.delay + 1, size=(self.rounds + 2, n, n))
        return inactive, np.where(rng.uniform(size=late.shape) < about.loss, -1, late)

    def inactive(self, k: int, j: int) -> bool:
        # Everybody sends in the end: what an agent has put off is seen at last.
        return self.channel is not None and k <= self.rounds and bool(self.luck[0][k, j])

    @cached_property
    def messages(self) -> list[tuple[int, bool, list[Any]]]:
        """All that is sent in the first world, by exchange and sender, with what is mixed of it."""
        n, sent = self.network.n, list[tuple[int, bool, list[Any]]]()
        states = [
            self.played[0].init(self.agent(0, j, 1, self._of(j, self.shares)), self.start[j])
            for j in range(n)
        ]
        round_of = self.played[0].round
        for k in range(1, self.rounds + 2):
            agents = [self.agent(0, j, k, self._of(j, self.shares)) for j in range(n)]
            talks: list[Any] = [round_of(agents[j], states[j], k) for j in range(n)]
            received: list[Any] = [None] * n
            after: list[Any] = [] if communicates(talks[0]) else talks
            while not after:
                outgoing = []
                for talk, words in zip(talks, received, strict=True):
                    try:
                        outgoing.append(talk.send(words))
                    except StopIteration as end:
                        after.append(end.value)
                if outgoing:
                    meant = [self._meant(one) for one in outgoing]
                    for liar in self.coalition if self.lies else ():
                        meant[liar] = jax.tree.map(lambda leaf, k=k: 0 * leaf + _lie(k), meant[liar])
                    sent.append((k, isinstance(outgoing[0], SecureSum), meant))
                    received = [self._received(sent, j, outgoing[j], meant[j]) for j in range(n)]
            states = [states[j] if self.inactive(k, j) else after[j] for j in range(n)]
        return sent

    def _of(self, j: int, shares: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: table[:, j] for name, table in shares.items()}

    def _meant(self, outgoing: Any) -> Any:
        if isinstance(outgoing, SendEach):
            raise NotImplementedError("a message of its own to each neighbour has no certificate")
        return outgoing.values if isinstance(outgoing, SecureSum) else opened(outgoing, outgoing[0])

    def _received(self, so_far: list[Any], j: int, outgoing: Any, sent: Any) -> Any:
        """What agent j is handed in the last exchange so far: real messages of the others, a real total."""
        k, _, meant = so_far[-1]
        if isinstance(outgoing, SecureSum):
            return jax.tree.map(lambda *values: sum(values), *meant)
        B = self.weights[(k - 1) % self.network.period]
        near = [i for i in range(self.network.n) if i != j and B[j, i] > 0]
        came = {i: self._came(so_far, i, j) for i in near}
        own = B[j, j] + sum(B[j, i] for i in near if came[i] is None)
        there = [i for i in near if came[i] is not None]
        return Received([B[j, i] for i in there], [came[i] for i in there], own, sent, meant[j])

    def _came(self, so_far: list[Any], i: int, j: int) -> Any:
        """What comes from agent i to agent j in the last exchange so far; None for nothing."""
        k, _, meant = so_far[-1]
        if self.channel is None:
            return meant[i]
        late = int(self.luck[1][k, i, j])
        sent_in = k - late
        if late < 0 or sent_in < 1 or self.inactive(sent_in, i):
            return None
        place = sum(1 for one in so_far[:-1] if one[0] == k)
        return [one for one in so_far if one[0] == sent_in][place][2][i]

    def sent_by(self, world: int, j: int, shares: dict[str, np.ndarray]) -> np.ndarray:
        """What one agent sends in a world, fed the real messages of the first, less what it really sent."""
        real, place, off = self.messages, 0, []
        state = self.played[world].init(self.agent(world, j, 1, shares), self.start[j])
        round_of = self.played[world].round
        for k in range(1, self.rounds + 2):
            talk: Any = round_of(self.agent(world, j, k, shares), state, k)
            received = None
            if not communicates(talk):
                state = talk
            while communicates(talk):
                try:
                    outgoing = talk.send(received)
                except StopIteration as end:
                    state = state if self.inactive(k, j) else end.value
                    break
                mine, (_, _, meant) = self._meant(outgoing), real[place]
                silent = self.inactive(k, j)
                off += [
                    np.ravel(a - b) * (not silent)
                    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(meant[j]), strict=True)
                ]
                place += 1
                received = self._received(real[:place], j, outgoing, mine)
        return np.concatenate([*off, np.zeros(0)])

    def off(self, shares: dict[str, np.ndarray]) -> np.ndarray:
        """How far what is seen in the second world, under this noise, is from what was seen in the first."""
        return self.seen([self.sent_by(1, j, self._of(j, shares)) for j in self.honest])

    def kept(self, source: dict[str, np.ndarray]) -> bool:
        """Whether a source of noise is drawn once and kept."""
        return all(self.draws[name].once for name in source)

    @cached_property
    def hidden_by(self) -> np.ndarray:
        """Numbers that take the first world's objectives to the second's, where noise functions can; else zeros."""
        functions = functions_of(self.algorithm)
        if isinstance(self.algorithm, hk.PrivateDgd) and self.sources:
            return self._in_gradients()
        if functions is None or not self.sources:
            return np.zeros(len(self.sources))
        family = functions.family
        width = family.width(self.dim)
        points = np.random.default_rng(5).uniform(-2, 2, size=(2 * width + 2, self.dim))
        design = np.concatenate(
            [np.stack([family.gradient(x, unit) for unit in np.eye(width)], axis=-1) for x in points]
        )
        wanted = np.zeros((self.network.n, width))
        for j in self.honest:
            gap = np.concatenate([self.worlds[0](j, x) - self.worlds[1](j, x) for x in points])
            wanted[j] = np.linalg.lstsq(design, gap, rcond=None)[0]
        columns = np.array([sum(one.values())[0].ravel() for one in self.sources]).T  # type: ignore[index]
        return np.linalg.lstsq(columns, wanted.ravel(), rcond=None)[0]

    def _in_gradients(self) -> np.ndarray:
        """The same where noise is on gradients, and what follows them is the same in both worlds."""
        cut = hk.Ball(self.algorithm.clip).project  # type: ignore[attr-defined]
        wanted = {}
        for place, (k, _, meant) in enumerate(self.messages, start=1):
            for j in self.honest:
                v = self._received(self.messages[:place], j, None, meant[j]).mixed_with(meant[j])
                v = self.feasible.project(v) if self.grad_at == "projected" else v
                wanted[k, j] = cut(self.worlds[0](j, v)) - cut(self.worlds[1](j, v))
        found = np.zeros(len(self.sources))
        for number, source in enumerate(self.sources):
            dealt = source["own"]
            row, j, place = (int(one[0]) for one in np.nonzero(dealt))
            found[number] = wanted[row + 1, j][place] / dealt[row, j, place]
        return found

    @cached_property
    def totals(self) -> np.ndarray:
        """Of every number that an agent sends, whether only its sum over honest agents is seen."""
        flags = [
            np.full(sum(np.size(leaf) for leaf in jax.tree.leaves(meant[0])), total)
            for _, total, meant in self.messages
        ]
        return np.concatenate([*flags, np.zeros(0, dtype=bool)]).astype(bool)

    @cached_property
    def parts(self) -> list[list[int]]:
        """Honest agents who are connected without the coalition: only sums over such are seen of totals."""
        import networkx as nx

        graph: Any = nx.Graph()
        graph.add_nodes_from(self.honest)
        active = self.network.links[self.network.active.all(axis=0)].tolist()
        graph.add_edges_from((i, j) for i, j in active if not {i, j} & self.coalition)
        return [sorted(part) for part in nx.connected_components(graph)]

    def seen(self, by_agent: Sequence[np.ndarray]) -> np.ndarray:
        """What the coalition sees of numbers by honest agent: messages one by one, totals in sums."""
        stacked = np.stack(by_agent)
        each = stacked[:, ~self.totals].reshape(-1, *stacked.shape[2:])
        sums = [
            stacked[[self.honest.index(j) for j in part]][:, self.totals].sum(axis=0) for part in self.parts
        ]
        return np.concatenate([each, *sums])

    @cached_property
    def sources(self) -> list[dict[str, np.ndarray]]:
        """What a unit of each independent normal number, unknown to the coalition, deals to all agents."""
        found = []
        for name, draw in self.draws.items():
            when, base = self.when(draw), self.shares[name]
            for row, column, unit in self._units(draw):
                if isinstance(draw, Paired):
                    forward = np.zeros((len(when.rounds), len(self.network.links), draw.width))
                    forward[row, column] = unit
                    raw: Any = Pair(forward, np.zeros_like(forward))
                else:
                    raw = np.zeros((len(when.rounds), self.network.n, draw.width))
                    raw[row, column] = unit
                dealt = np.asarray(draw.deal(draw.condense(raw), when, self.tables))
                found.append({name: np.broadcast_to(dealt, base.shape)})
        return found

    def _units(self, draw: Draw) -> list[tuple[Any, int, np.ndarray]]:
        """Rows, column and numbers of each independent draw, in its own standard deviation."""
        when, relative = self.when(draw), getattr(draw, "relative", None)
        size = np.ones(draw.width) if relative is None else np.asarray(relative)
        rows: list[Any] = [slice(None)] if draw.once else list(range(len(when.rounds)))
        found = []
        for row in rows:
            if isinstance(draw, Paired):
                if not draw.normal:
                    return []  # taken for known, as certificates take it
                phase = 0 if draw.once else when.phases[row] % len(draw.sd)
                late = draw.once or when.rounds[row] >= draw.first
                columns = [
                    (link, math.sqrt(2) * float(draw.sd[phase, link]) * late)
                    for link, ends in enumerate(self.network.links.tolist())
                    if not {*ends} & self.coalition
                ]
            else:
                columns = [(j, float(draw.sd)) for j in self.honest]
            for column, sd in columns:
                if sd > 0:
                    found += [(row, column, sd * size * unit) for unit in np.eye(draw.width)]
        return found


def _lie(k: int) -> float:
    """What a malicious member sends in round k: far from where the others are, on both sides."""
    return (3.0 + k) * (-1) ** k


def in_real_numbers(algorithm: Any) -> Any:
    """The algorithm without its grid: what a grid rounds is not looked at."""
    inner = getattr(algorithm, "algorithm", None)
    if inner is not None and getattr(inner, "grid", None) is not None:
        return replace(algorithm, algorithm=replace(inner, grid=None))
    return algorithm if getattr(algorithm, "grid", None) is None else replace(algorithm, grid=None)
