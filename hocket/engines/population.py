"""All agents of a run, as one compiled program sees them: everybody is here, or some are on other devices."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from hocket.networks.neighbour_tables import NeighbourTables


class Population(eqx.Module):
    """Reaches every agent of a run. Rounds ask it for words, measurements for sums and extremes over all agents.

    Arrays lead with the agents at hand.
    """

    @abstractmethod
    def count(self, tables: NeighbourTables) -> int:
        """How many agents there are in all."""

    @abstractmethod
    def said(self, words: Any) -> Any:
        """The words of the agents at hand, and after them what agents elsewhere said to them."""

    @abstractmethod
    def told(self, words: Any) -> Any:
        """Every word told by the agents at hand, slot by slot, and after them what agents elsewhere told them."""

    @abstractmethod
    def real(self, rows: Any) -> Any:
        """The agents' rows, where a row that only fills up a shard repeats a real one."""

    @abstractmethod
    def mean(self, rows: Any) -> Any:
        """The mean over all agents."""

    @abstractmethod
    def total(self, rows: Any) -> Any:
        """The sum over all agents, and over all that their rows hold."""

    @abstractmethod
    def largest(self, numbers: Any) -> Any:
        """The largest of all numbers of all agents."""

    @abstractmethod
    def every(self, true: Any) -> Any:
        """Whether it is true everywhere."""

    @abstractmethod
    def farthest(self, distance: Any, most: int) -> tuple[Any, Any]:
        """Rows at hand that hold the largest distances, and the place of each among all agents, in order."""

    @abstractmethod
    def roll(self, rows: Any) -> Any:
        """The rows of all agents, in the order of their numbers."""


class WholePopulation(Population):
    """Everybody is here."""

    def count(self, tables: NeighbourTables) -> int:
        return tables.n

    def said(self, words: Any) -> Any:
        return words

    def told(self, words: Any) -> Any:
        return words.reshape(-1, *words.shape[2:])

    def real(self, rows: Any) -> Any:
        return rows

    def mean(self, rows: Any) -> Any:
        return rows.mean(axis=0)

    def total(self, rows: Any) -> Any:
        return rows.sum()

    def largest(self, numbers: Any) -> Any:
        return numbers.max()

    def every(self, true: Any) -> Any:
        return true

    def farthest(self, distance: Any, most: int) -> tuple[Any, Any]:
        return jax.lax.top_k(distance, most)[1], jnp.arange(most)

    def roll(self, rows: Any) -> Any:
        return rows
