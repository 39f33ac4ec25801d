"""Another instance with the same f̂: false objectives for some, and noise functions under which nothing shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from jaxtyping import Shaped

from hocket.errors import BadInput, NoTheorem
from hocket.privacy.functions import Functions, gains, padded, read_coefficients
from hocket.privacy.honest import honest_components, leaving_links
from hocket.privacy.rerouting import Forest, inner_links, smallest_nets, solve_on_trees, spanning_forest
from hocket.privacy.wording import braced, named
from hocket.rationals import as_fractions

GRAIN = 1024
"""Arbitrary noise is drawn in steps of bound / GRAIN: fractions with short denominators keep exact runs fast."""

Component = tuple[int, ...]
Fill = Literal["random", "least"]
"""What links off the tree carry: anything, or what keeps the largest noise function smallest."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """Other objectives and other noise functions that give every agent the same f̂_j."""

    functions: Functions
    agents: tuple[int, ...]
    """Whose objectives were replaced by the false ones asked for."""
    absorbing: tuple[int, ...]
    """Whose objectives took up the difference, so that the sum over each component stays."""
    tree: tuple[tuple[int, int], ...]
    """The links on which the noise was solved for; elsewhere in the components touched it is arbitrary."""
    largest_noise: float
    """The largest coefficient of the noise functions in the components touched."""
    width: float
    """By how much noise within the bound leaves each coefficient of the agents' sum open."""

    @property
    def bound(self) -> float:
        """The largest coefficient that the algorithm draws."""
        return float(self.functions.dealt.bound)

    @property
    def within_bound(self) -> bool:
        """Whether the algorithm could have drawn this noise."""
        return self.largest_noise <= self.bound

    def to_json(self) -> dict[str, Any]:
        """The instance in numbers: the objectives that changed, as ascending coefficients, a column per coordinate."""
        changed = sorted({*self.agents, *self.absorbing})
        objectives = self.functions.objectives[changed].astype(np.float64).tolist()
        return {
            "agents": list(self.agents),
            "absorbing": list(self.absorbing),
            "objectives": {str(agent): rows for agent, rows in zip(changed, objectives, strict=True)},
            "tree": [list(link) for link in self.tree],
            "largest_noise": self.largest_noise,
            "bound": self.bound,
            "within_bound": self.within_bound,
            "width": self.width,
        }


def alternative(
    true: Functions, coalition: frozenset[int], objectives: Mapping[int, Any], *, fill: Fill, seed: int
) -> Alternative:
    """Another instance of a run in which some honest agents hold other objectives, or the reason why there is none."""
    if fill not in ("random", "least"):
        raise BadInput(f"fill = {fill!r}; choose 'random' or 'least'")
    false = _false_objectives(true, coalition, objectives)
    touched = [
        part for part in honest_components(true.network, coalition) if not false.keys().isdisjoint(part)
    ]
    held, absorbing = _absorbed(true, touched, false, coalition)
    noise, forest = _other_noise(true, held, touched, fill, seed)
    changed = inner_links(true.network, touched)
    return Alternative(
        functions=dataclasses.replace(true, objectives=held, noise=noise),
        agents=tuple(sorted(false)),
        absorbing=absorbing,
        tree=tuple((min(pair), max(pair)) for *pair, _ in forest),
        largest_noise=float(abs(noise[changed]).max(initial=0)),
        width=4 * float(true.dealt.bound) * leaving_links(true.network, coalition, false),
    )


def _false_objectives(
    true: Functions, members: frozenset[int], objectives: Mapping[int, Any]
) -> dict[int, Any]:
    """The false polynomials in the run's number of terms, refusing what no noise could hide."""
    if not objectives:
        raise BadInput("no false objectives are given; name at least one honest agent and its coefficients")
    n, degree, found = true.network.n, true.dealt.powers, {}
    for agent, row in objectives.items():
        if not 0 <= agent < n:
            raise BadInput(f"agent {agent} is unknown: this network has agents 0 to {n - 1}")
        if agent in members:
            raise BadInput(
                f"agent {agent} is in the coalition, which knows its objective; name an honest agent"
            )
        given = read_coefficients(row, true.dim)
        terms = max(len(given), true.terms)
        change = padded(given, terms) - padded(true.objectives[agent], terms)
        if change[degree + 1 :].any():
            power = int(np.flatnonzero(change.any(axis=1)).max())
            raise NoTheorem(
                f"the false objective of agent {agent} differs in degree {power}, and noise of degree {degree} hides "
                f"nothing above that; keep the higher coefficients, or run with degree {power}"
            )
        found[int(agent)] = padded(given, terms)[: true.terms]
    return found


def _absorbed(
    true: Functions, touched: list[Component], false: Mapping[int, Any], members: frozenset[int]
) -> tuple[Shaped[np.ndarray, "agents terms dim"], tuple[int, ...]]:
    """All objectives of the second run, and who absorbs: the sum over each component must stay."""
    held, absorbing = true.objectives.copy(), []
    for agent, row in false.items():
        held[agent] = row
    for part in touched:
        change = (held[list(part)] - true.objectives[list(part)]).sum(axis=0)
        others = [agent for agent in part if agent not in false]
        if others:
            held[others] = held[others] - change / Fraction(len(others))
            absorbing += others
        elif change[1:].any():
            raise NoTheorem(_exposed(part, members))
    return held, tuple(absorbing)


def _exposed(part: Component, members: frozenset[int]) -> str:
    if len(part) == 1:
        return (
            f"no witness exists: agent {part[0]} is surrounded by {braced(members)}, which knows its objective "
            "exactly; link it to one more agent"
        )
    return (
        f"no witness exists: {named(part)} are a whole component of the honest graph without {braced(members)}, so "
        "that the sum of their objectives is exposed; keep that sum, or leave one of them out to absorb the difference"
    )


def _other_noise(
    true: Functions,
    held: Shaped[np.ndarray, "agents terms dim"],
    touched: list[Component],
    fill: Fill,
    seed: int,
) -> tuple[Shaped[np.ndarray, "links 2 terms dim"], Forest]:
    """Noise functions t under which everybody's f̂_j stays, equal to s outside the components touched."""
    network, inner = true.network, inner_links(true.network, touched)
    noise, forest = true.noise.copy(), spanning_forest(network, touched)
    noise[inner] = Fraction(0)
    wanted = true.obfuscated - held - gains(network, noise[:, 0] - noise[:, 1])
    for part in touched:
        # What a component wants in sum is zero, or a constant, which no gradient shows: let its root forgo that.
        wanted[part[0]] = wanted[part[0]] - wanted[list(part)].sum(axis=0)
    if fill == "random":
        hidden, rng = true.dealt.powers + 1, np.random.default_rng(seed)
        grains = rng.integers(-GRAIN, GRAIN, size=(len(inner), 2, hidden, true.dim), endpoint=True)
        noise[inner, :, :hidden] = as_fractions(grains) * (Fraction(true.dealt.bound) / GRAIN)
        solved = np.array([link for _, _, link in forest], dtype=np.int64)
    else:
        carried = as_fractions(smallest_nets(network, touched, wanted)[inner])
        noise[inner] = _shared(carried)
        solved = inner
    arbitrary = np.full_like(noise[:, 0], Fraction(0))
    arbitrary[inner] = noise[inner, 0] - noise[inner, 1]
    nets = solve_on_trees(network, forest, wanted, arbitrary)
    noise[solved] = _shared(nets[solved])
    return noise, forest


def _shared(nets: Shaped[np.ndarray, "links terms dim"]) -> Shaped[np.ndarray, "links 2 terms dim"]:
    """Both ends say half of a net each: this stays within the bound wherever any split does."""
    return np.stack([nets / Fraction(2), -nets / Fraction(2)], axis=1)
