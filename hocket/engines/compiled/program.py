"""What a compiled run computes with, how it reaches all agents, and where it stands.

Everything that is a number is an argument of the program, so changing a number never compiles again. The loop's
bounds are numbers too: one program runs one round or a million.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.experimental.layout import Layout, with_layout_constraint
from jaxtyping import Float, Int

from hocket.algorithm import Algorithm
from hocket.engines.compiled.channel import ChannelModel, Mail
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise.draws import Draw, When
from hocket.problems.problem import Problem

BLOCK_NUMBERS = 1 << 15
"""Noise is drawn for as many rounds at once as fit into this many numbers: enough to keep vector units busy, little
enough to stay in cache."""
LONGEST_BLOCK = 32
"""Rounds: what is left of a block where a run is measured is drawn again, and longer ones save next to nothing."""
VECTOR = 8
"""Numbers that the widest vector units of CPUs take at once: fewer runs do not lie side by side."""


class Population(eqx.Module):
    """Reaches every agent of a run. Rounds ask it for messages, measurements for sums and extremes over all agents.

    Everybody is here, and arrays lead with the agents at hand; `hocket.engines.cluster.shard` has some of them.
    """

    def count(self, tables: NeighbourTables) -> int:
        """How many agents there are in all."""
        return tables.n

    def said(self, words: Any) -> Any:
        """The messages of the agents at hand, and after them what agents elsewhere sent to them."""
        return words

    def told(self, words: Any) -> Any:
        """Every message to a single neighbour, slot by slot, and after them what agents elsewhere sent."""
        return words.reshape(-1, *words.shape[2:])

    def real(self, rows: Any) -> Any:
        """The agents' rows, where a row that only fills up a shard repeats a real one."""
        return rows

    def mean(self, rows: Any) -> Any:
        """The mean over all agents."""
        return rows.mean(axis=0)

    def summed(self, rows: Any) -> Any:
        """The sum over all agents."""
        return rows.sum(axis=0)

    def total(self, rows: Any) -> Any:
        """The sum over all agents, and over all that their rows hold."""
        return rows.sum()

    def largest(self, numbers: Any) -> Any:
        """The largest of all numbers of all agents."""
        return numbers.max()

    def every(self, true: Any) -> Any:
        """Whether it is true everywhere."""
        return true

    def farthest(self, distance: Any, most: int) -> tuple[Any, Any]:
        """Rows at hand that hold the largest distances, and the place of each among all agents, in order."""
        return jax.lax.top_k(distance, most)[1], jnp.arange(most)

    def roll(self, rows: Any) -> Any:
        """The rows of all agents, in the order of their numbers."""
        return rows


class Program(eqx.Module):
    """All that a run computes with. Arrays are arguments of the compiled code, the rest is compiled in."""

    algorithm: Algorithm
    problem: Problem
    pooled: Problem
    """(1/n) Σ_j f_j in one place, on which gap and loss are measured."""
    agents: int = eqx.field(static=True)
    """How many objectives the pooled one stands for."""
    tables: NeighbourTables
    draws: dict[str, Draw]
    key: Any
    best: Float[Any, ""]
    """f*, or NaN where it is not known."""
    grad_at: str = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)
    averaging: bool = eqx.field(static=True)
    lanes: int = eqx.field(static=True, default=1)
    """Runs played side by side; their noise shares the cache."""
    gauge: Any = None
    """What is measured at recorded rounds (`measures.Gauge`); None for the gap and its company."""
    population: Population = Population()
    """How agents are reached that other devices play."""
    order: Int[Any, " agents"] | None = None
    """Where each agent stands when agents are lined up group by group; None where all are in one group."""
    channel: ChannelModel | None = None
    """A lossy channel; None where every message arrives, and then nothing of it is compiled."""

    @property
    def block(self) -> int:
        """Rounds of noise drawn at once."""
        numbers = sum(draw.size(self.tables) for draw in self.draws.values() if not draw.once)
        return int(np.clip(BLOCK_NUMBERS // max(numbers * self.lanes, 1), 1, LONGEST_BLOCK)) if numbers else 0

    @property
    def root(self) -> tuple[Any, Any]:
        return self.key[0], self.key[1]

    @property
    def pooled_numbers(self) -> int:
        """Numbers that the sum of all objectives reads at one point."""
        return sum(leaf.size for leaf in self.pooled_data)

    @property
    def pooled_data(self) -> list[Any]:
        """The arrays in which all objectives are pooled, or their shapes where the program has no more than these."""
        leaves = jax.tree.leaves(self.pooled)
        return [leaf for leaf in leaves if eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)]

    def total(self, x: Any) -> Any:
        """Σ_j f_j(x)."""
        return self.agents * self.pooled.total(x)

    def by_group(self, function: str, x: Any) -> Any:
        """A function of every agent's own objective at its own x: each group as one batch, never a switch."""
        parts = [
            jax.vmap(getattr(group.objective, function))(x[group.members], group.data)
            for group in self.problem.groups
        ]
        return parts[0] if self.order is None else jnp.concatenate(parts)[self.order]

    def phase(self, k: Any) -> Any:
        """The phase of the network in round k: plainly 0 for a fixed network, so that nothing is looked up."""
        return 0 if self.tables.period == 1 else (k - 1) % self.tables.period

    def when(self, rounds: Any) -> When:
        return When(rounds, (rounds - 1) % self.tables.period)


class Steps(NamedTuple):
    """Step sizes α_k for the rounds from `base` on, computed on the host so that every engine has the same."""

    base: Int[Any, ""]
    table: Float[Any, "*variants rounds"]
    row: Int[Any, ""] | None = None
    """Which variant's steps are taken, where many runs are played at once; None for a single one."""

    def __call__(self, k: Any) -> Any:
        if self.row is None:
            return entry(self.table, k - self.base)
        now = jax.lax.dynamic_index_in_dim(self.table, k - self.base, axis=1, keepdims=False)
        return entry(now, self.row)


class Carry(eqx.Module):
    """Where a run stands before round k: all it needs to go on, and to be resumed."""

    k: Int[Any, ""]
    state: Any
    kept: dict[str, Any]
    """Noise drawn once, by phase of the network and agent."""
    weighted: Any
    """Σ α_k x_k so far, for the time average of Theorem 3; None when it is not asked for."""
    mail: Mail | None = None
    """Messages on their way; None on a channel that loses nothing."""

    @property
    def moving(self) -> Moving:
        """The part that changes from round to round."""
        return Moving(self.state, self.weighted, self.mail)

    def at(self, k: Any, moving: Moving) -> Carry:
        """The carry before round k, or before its own if that is later."""
        return Carry(jnp.maximum(self.k, k), moving.state, self.kept, moving.weighted, moving.mail)


class Moving(NamedTuple):
    """The part of a carry that changes from round to round. A loop over less is faster where rounds are tiny."""

    state: Any
    weighted: Any
    mail: Any = None


def entry(rows: Any, index: Any) -> Any:
    """One row, by an index that is known to be in range."""
    return jax.lax.dynamic_index_in_dim(rows, index, keepdims=False, allow_negative_indices=False)


@custom_vmap
def beside(tree: Any) -> Any:
    """The same numbers; where many runs are played at once, run beside run in memory: vector units take what lies side
    by side, and an axis of one coordinate or of five links fills none of them.
    """
    return tree


@beside.def_vmap
def _(runs: int, batched: Any, tree: Any) -> tuple[Any, Any]:
    def laid(leaf: Any, of_runs: bool) -> Any:
        if not of_runs or runs < VECTOR or runs <= leaf.shape[-1] or jax.default_backend() != "cpu":
            return leaf
        return with_layout_constraint(leaf, Layout((*range(1, leaf.ndim), 0)))

    return jax.tree.map(laid, tree, batched[0]), batched[0]
