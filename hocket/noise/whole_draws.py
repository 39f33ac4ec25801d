"""Noise in whole numbers of a grid, for a run in one place: drawn on the host before the first round.

No compiled code draws a discrete Gaussian. What is drawn becomes a table, for anybody who looks at the run; agents do
not use it, since all of it is in the sum that they descend (`StoredSum`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import numpy as np

from hocket.networks.network import Network
from hocket.noise.discrete_gaussian import bits_of
from hocket.noise.draws import Draw, Gaussian, Paired
from hocket.noise.stored_sum import StoredSum
from hocket.noise.threefry import derive
from hocket.problems.problem import Problem


class WholePaired(Paired):
    """Pairwise noise on a grid, drawn beforehand or `given`; from then on a table like any other."""

    stored: StoredSum = eqx.field(static=True, kw_only=True)
    dim: int = eqx.field(static=True, kw_only=True)

    def settled(self, key: tuple[Any, Any], network: Network) -> Paired:
        on_links = [self.stored.on_link(sd) for sd in np.asarray(self.scale)[0].tolist()]
        if self.given is not None:
            table = np.asarray(self.given, dtype=np.float64)
            units = self.stored.units(table)
            for link, stored in enumerate(on_links):
                for drawn in units[:, link].reshape(-1, self.width):
                    stored.check_dealt(drawn, self.dim)
        else:
            stream = derive(key, self.label)
            rows = [one.of_link(bits_of(stream, link), self.dim) for link, one in enumerate(on_links)]
            table = self.stored.values(np.array(rows, dtype=object))[None]
        return Paired(self.scale, width=self.width, label=self.label, once=True, normal=True, given=table)


class WholeOwn(Gaussian):
    """What agents draw for themselves on a grid, beforehand."""

    stored: StoredSum = eqx.field(static=True, kw_only=True)
    dim: int = eqx.field(static=True, kw_only=True)

    def settled(self, key: tuple[Any, Any], network: Network) -> Gaussian:
        stream = derive(key, self.label)
        rows = [self.stored.of_own(bits_of(stream, agent), self.dim) for agent in range(network.n)]
        table = self.stored.values(np.array(rows, dtype=object))[None]
        return Gaussian(self.sigma, width=self.width, label=self.label, once=True, given=table)


def stored_in(draws: Mapping[str, Draw]) -> StoredSum | None:
    """How objectives and noise become one sum, where noise is declared on a grid beforehand; else None."""
    return next((draw.stored for draw in draws.values() if isinstance(draw, WholePaired)), None)


def stored_problem(
    stored: StoredSum, problem: Problem, network: Network, dealt: Draw, own: Draw | None
) -> Problem:
    """The problem whose objectives are f̂_j = f_j + p_j + own noise, each one sum of whole numbers."""
    assert isinstance(dealt, Paired)
    assert dealt.given is not None
    drawn = stored.units(np.asarray(dealt.given, dtype=np.float64)[0])
    gained = drawn[:, 0] - drawn[:, 1]  # by the higher-numbered end; the lower one loses as much
    total = np.zeros((problem.n, dealt.width), dtype=object)
    np.add.at(total, network.links[:, 1], gained)
    np.subtract.at(total, network.links[:, 0], gained)
    if isinstance(own, Gaussian) and own.given is not None:
        total = total + stored.units(own.given[0])
    for j in range(problem.n):
        found: tuple[Any, int] = problem.place(j)
        group, place = found
        records = stored.records_of(group.objective, group.data_of(place), problem.dim, problem.name(j))
        total[j] = stored.checked(total[j] + stored.objective(records))
    objective, data = stored.family.function(stored.values(total), problem.dim)
    names = None if problem.names is None else list(problem.names)
    return Problem(objective, data, feasible=problem.feasible, dim=problem.dim, names=names)
