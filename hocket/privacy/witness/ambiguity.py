"""How much bounded noise leaves open: the interval in which an objective's coefficients can lie for a coalition.

Theorem 2 says that some instance is compatible with what was seen, for noise of any size. Ours is bounded, so that
only instances within a width are. What a coalition sees is taken to be every f̂_j, as the paper's proof does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.privacy.graph.connectivity import check_hiding, honest_components, leaving_links
from hocket.privacy.plain_values import plain_values
from hocket.privacy.witness.alternatives import gain_matrix, inner_links
from hocket.privacy.witness.functions import Functions, gains, opened, padded, read_coefficients
from hocket.privacy.witness.linear_programme import Flows, Knowledge, places, ranges
from hocket.privacy.wording import braced, counted, named
from hocket.problems.sets import FeasibleSet
from hocket.runs.run import Run
from hocket.runs.view import check_honest

Component = tuple[int, ...]


@dataclass(frozen=True)
class Interval:
    """Where the sum of one coefficient over the agents can lie."""

    power: int
    coordinate: int
    low: float
    high: float

    @property
    def width(self) -> float:
        """How much is left open."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"coordinate {self.coordinate}, x^{self.power}: {self.low:.6g} to {self.high:.6g}"


@dataclass(frozen=True)
class Ambiguity:
    """What a coalition cannot know about the sum of some honest agents' objectives."""

    coalition: tuple[int, ...]
    agents: tuple[int, ...]
    leaving: int
    """Honest links from these agents to other honest agents: what their noise hides behind."""
    bound: float
    """b, the largest coefficient of one directed draw."""
    degree: int
    """The highest power of the noise: coefficients above it are exposed."""
    width: float
    """The most by which a coefficient can be uncertain, powers 1 to `degree`: 4 b · leaving, or less with objectives
    known in full. It is reached where nothing else is known."""
    exposed: tuple[Component, ...]
    """Components of the honest graph that lie wholly among these agents: the sum over each is exposed."""
    knowing: Knowledge
    """What the coalition is supposed to know beforehand."""
    intervals: tuple[Interval, ...]
    """Given a run: where each coefficient can lie, by coordinate and power; a constant can lie anywhere."""
    outer: bool
    """Whether the intervals are an outer approximation: convexity was asked for at points of X only."""

    def __str__(self) -> str:
        what = "objective" if len(self.agents) == 1 else "sum of the objectives"
        lines = [
            f"coalition {braced(self.coalition)} knows each coefficient of x^1 to x^{self.degree} in the {what} of "
            f"{named(self.agents)} up to a width of {self.width:g}, hidden behind "
            f"{counted(self.leaving, 'honest link')} with noise of up to {self.bound:g}",
            f"coefficients above x^{self.degree} are exposed; the constant could be anything",
        ]
        lines += [f"the sum over {braced(part)} is exposed exactly" for part in self.exposed]
        if self.knowing:
            lines.append(f"supposing it knows of the honest objectives that {self.knowing}")
        if self.outer:
            lines.append("convexity was asked for at points of X only: the true intervals may be narrower")
        return "\n".join([*lines, *(f"  {interval}" for interval in self.intervals)])

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers."""
        intervals = [vars(interval) | {"width": interval.width} for interval in self.intervals]
        found = plain_values(
            self, "coalition", "agents", "leaving", "bound", "degree", "width", "exposed", "outer"
        )
        return found | {"knowing": str(self.knowing), "intervals": intervals}


def ambiguity(
    network: Network,
    coalition: Iterable[int],
    agents: Iterable[int],
    *,
    bound: float | None = None,
    degree: int | None = None,
    run: Run | None = None,
    knowing: Knowledge | None = None,
) -> Ambiguity:
    """How wide function sharing with this bound leaves an agent's objective open, or the sum over several agents.
    Before a run, from the plan alone: pass `bound` and `degree`. After one, pass `run` for the intervals themselves,
    and `knowing` for what they shrink to if the coalition knows more.

    >>> from hocket import Network
    >>> ambiguity(Network.complete(5), {4}, {0}, bound=1.0, degree=2).width
    12.0
    """
    members = check_hiding(coalition, network.n)
    asked = _honest(agents, members, network.n)
    functions = None
    if run is not None:
        functions = _of_this_network(run, network)
        bound = float(functions.dealt.bound) if bound is None else bound
        degree = functions.dealt.powers
    if bound is None or degree is None:
        raise BadInput("the width depends on the noise; pass bound= and degree=, or a run")
    if not (math.isfinite(bound) and bound >= 0):
        raise BadInput(
            f"bound = {bound}; it bounds the size of the noise and must be zero or more, and finite"
        )
    leaving = leaving_links(network, members, asked)
    parts = [part for part in honest_components(network, members) if not set(part).isdisjoint(asked)]
    knowing = knowing or Knowledge()
    if knowing.objectives:
        _honest(knowing.objectives, members, network.n)
    intervals: list[Interval] = []
    outer = False
    if run is not None and functions is not None:
        intervals = _intervals(functions, asked, parts, leaving, bound, knowing, run.problem.feasible)
        outer = knowing.convex and min(functions.terms - 1, knowing.degree or functions.terms) > 2
    elif knowing.convex or knowing.degree is not None or knowing.signs:
        raise BadInput("what follows from signs, degrees and convexity depends on what was seen; pass a run")
    return Ambiguity(
        coalition=tuple(sorted(members)),
        agents=asked,
        leaving=leaving,
        bound=bound,
        degree=degree,
        width=_widest(network, parts, asked, bound, knowing) if knowing.objectives else 4 * bound * leaving,
        exposed=tuple(part for part in parts if set(part) <= set(asked)),
        knowing=knowing,
        intervals=tuple(intervals),
        outer=outer,
    )


def _honest(agents: Iterable[int], members: frozenset[int], n: int) -> tuple[int, ...]:
    asked = tuple(sorted({int(agent) for agent in agents}))
    if not asked:
        raise BadInput("no agents are asked about; name at least one honest agent")
    return tuple(check_honest(agent, members, n) for agent in asked)


def _of_this_network(run: Run, network: Network) -> Functions:
    if run.network.n != network.n or not np.array_equal(run.network.links, network.links):
        raise BadInput(f"the run was on {run.network!r}, not on {network!r}; pass run.network")
    return opened(run)


def _intervals(
    functions: Functions,
    asked: Sequence[int],
    parts: Sequence[Component],
    leaving: int,
    bound: float,
    knowing: Knowledge,
    feasible: FeasibleSet,
) -> list[Interval]:
    """Every coefficient's interval, from f̂ without the noise that the coalition holds."""
    network = functions.network
    honest = sorted(agent for part in parts for agent in part)
    inner = inner_links(network, parts)
    known = _known(functions, knowing)
    held = functions.noise[:, 0] - functions.noise[:, 1]
    held[inner] = 0
    seen = (functions.obfuscated - gains(network, held))[honest, 1:].astype(np.float64)
    incidence = gain_matrix(network, inner)[honest]
    low, high = feasible.bounding_box(functions.dim)
    found = []
    for coordinate in range(functions.dim):
        flows = Flows(incidence, seen[:, :, coordinate], functions.dealt.powers, 2 * bound)
        if knowing:
            there = {
                int(places([agent], honest)[0]): row[:, coordinate]
                for agent, row in known.items()
                if agent in honest
            }
            limits = (float(low[coordinate]), float(high[coordinate]))
            ends = ranges(flows, places(asked, honest).tolist(), knowing, there, limits)
        else:
            ends = _free(flows, places(asked, honest), leaving)
        found += [
            Interval(power, coordinate, lowest, highest)
            for power, (lowest, highest) in enumerate(ends, start=1)
        ]
    return found


def _widest(
    network: Network, parts: Sequence[Component], asked: Sequence[int], bound: float, knowing: Knowledge
) -> float:
    """The width at its widest: at agents known in full, what flows in must flow out, as far as anybody can foresee.

    The width is concave in the noise that was really drawn, and even; so it is largest where that is zero.
    """
    honest = sorted(agent for part in parts for agent in part)
    flows = Flows(
        gain_matrix(network, inner_links(network, parts))[honest], np.zeros((len(honest), 1)), 1, 2 * bound
    )
    known = {
        int(place): np.zeros(1) for place in places([a for a in honest if a in knowing.objectives], honest)
    }
    ((low, high),) = ranges(flows, places(asked, honest).tolist(), Knowledge(), known, (0.0, 0.0))
    return high - low


def _free(flows: Flows, asked: np.ndarray, leaving: int) -> list[tuple[float, float]]:
    """In closed form: each link that leaves adds a net between −2b and 2b."""
    middle = flows.seen[asked].sum(axis=0)
    reach = np.where(np.arange(1, flows.powers + 1) <= flows.degree, flows.limit * leaving, 0.0)
    return list(zip((middle - reach).tolist(), (middle + reach).tolist(), strict=True))


def _known(functions: Functions, knowing: Knowledge) -> dict[int, Float[np.ndarray, "powers dim"]]:
    found = {}
    for agent, row in knowing.objectives.items():
        given = read_coefficients(row, functions.dim)
        terms = max(len(given), functions.terms)
        if padded(given, terms)[functions.terms :].any():
            raise BadInput(
                f"the objective known of agent {agent} has degree above {functions.terms - 1}, which nothing seen has"
            )
        found[agent] = padded(given, terms)[1 : functions.terms].astype(np.float64)
    return found
