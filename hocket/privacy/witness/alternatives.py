"""Another instance with the same f̂: false objectives for some, and noise functions under which nothing shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float, Int, Shaped
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from hocket.errors import BadInput, NoTheorem
from hocket.networks.network import Network
from hocket.privacy.graph.connectivity import honest_components, leaving_links
from hocket.privacy.plain_values import plain_values
from hocket.privacy.witness.functions import Functions, gains, padded, read_coefficients
from hocket.privacy.wording import braced, named
from hocket.rationals import as_fractions
from hocket.runs.view import check_honest

Component = Sequence[int]
Nets = Shaped[np.ndarray, "links terms dim"]
"""Per link (i, j), i < j: what it carries from i to j on balance, s^{i,j} − s^{j,i}."""
Forest = list[tuple[int, int, int]]
"""Trees as (parent, child, link), parents first."""
GRAIN = 1024
"""Arbitrary noise is drawn in steps of bound / GRAIN: fractions with short denominators keep exact runs fast."""


def inner_links(network: Network, components: Sequence[Component]) -> Int[np.ndarray, " inner"]:
    """The links that join two agents of these components."""
    inside = np.zeros(network.n, dtype=bool)
    inside[[agent for part in components for agent in part]] = True
    return np.flatnonzero(inside[network.links].all(axis=1))


def spanning_forest(network: Network, components: Sequence[Component]) -> Forest:
    """A tree in each component, grown from its lowest agent on."""
    at: list[list[tuple[int, int]]] = [[] for _ in range(network.n)]
    for link in inner_links(network, components).tolist():
        i, j = network.links[link].tolist()
        at[i].append((j, link))
        at[j].append((i, link))
    forest: Forest = []
    for part in components:
        root = min(part)
        reached, queue = {root}, [root]
        for parent in queue:
            for child, link in at[parent]:
                if child not in reached:
                    reached.add(child)
                    queue.append(child)
                    forest.append((parent, child, link))
    return forest


def solve_on_trees(
    network: Network, forest: Forest, wanted: Shaped[np.ndarray, "agents terms dim"], nets: Nets
) -> Nets:
    """The nets with those of the trees replaced so that every agent gains what is wanted.

    Solvable where the wanted gains of each component sum to zero [paper, proof of Theorem 2, eq. for G_ST]. Exact
    where the numbers are fractions: only sums are taken, from the leaves to the root.
    """
    nets = nets.copy()
    nets[[link for _, _, link in forest]] = 0
    missing = wanted - gains(network, nets)
    for parent, child, link in reversed(forest):
        upwards = network.links[link, 1] == child  # a net runs from the lower to the higher number
        nets[link] = missing[child] if upwards else -missing[child]
        missing[parent] = missing[parent] + missing[child]
    return nets


def smallest_nets(
    network: Network, components: Sequence[Component], wanted: Shaped[np.ndarray, "agents terms dim"]
) -> Float[np.ndarray, "links terms dim"]:
    """Nets that give every agent what is wanted, the largest as small as possible; by linear programme, in floats."""
    links = inner_links(network, components)
    agents = np.array([agent for part in components for agent in part])
    incidence = gain_matrix(network, links)[agents]
    nets = np.zeros((len(network.links), *wanted.shape[1:]))
    for term, coordinate in np.ndindex(*wanted.shape[1:]):
        gain = wanted[agents, term, coordinate].astype(np.float64)
        if gain.any():
            nets[links, term, coordinate] = _least_largest(incidence, gain, len(links))
    return nets


def gain_matrix(network: Network, links: Int[np.ndarray, " inner"]) -> csr_array:
    """What every agent gains per unit that each of these links carries: +1 at its higher end, −1 at its lower."""
    ends, column = network.links[links], np.arange(len(links))
    rows, columns = np.concatenate([ends[:, 1], ends[:, 0]]), np.concatenate([column, column])
    signs = np.repeat([1.0, -1.0], len(links))
    return csr_array(coo_array((signs, (rows, columns)), shape=(network.n, len(links))))


def _least_largest(incidence: csr_array, gain: np.ndarray, links: int) -> Float[np.ndarray, " links"]:
    """The flow r with incidence · r = gain whose largest |r| is least: minimise m under −m ≤ r ≤ m."""
    one, m = eye_array(links), np.ones((links, 1))
    answer = scipy.optimize.linprog(
        c=np.append(np.zeros(links), 1.0),
        A_ub=vstack([hstack([one, -m]), hstack([-one, -m])]),
        b_ub=np.zeros(2 * links),
        A_eq=hstack([incidence, csr_array((len(gain), 1))]),
        b_eq=gain,
        bounds=(None, None),
        method="highs",
    )
    return answer.x[:links]


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
        numbers = plain_values(
            self, "agents", "absorbing", "tree", "largest_noise", "bound", "within_bound", "width"
        )
        return numbers | {"objectives": dict(zip(map(str, changed), objectives, strict=True))}


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
        check_honest(agent, members, n)
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
    true: Functions, touched: Sequence[Component], false: Mapping[int, Any], members: frozenset[int]
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
    touched: Sequence[Component],
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
