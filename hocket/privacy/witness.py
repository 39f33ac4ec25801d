"""The proof of Theorem 2, carried out on a run: other objectives and other noise that look the same to a coalition."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from jaxtyping import Shaped

from hocket.errors import BadInput, NoTheorem
from hocket.objectives import Polynomial
from hocket.privacy.functions import Functions, functions_of, gains, padded, read_coefficients
from hocket.privacy.honest import check_hiding, honest_components
from hocket.privacy.rerouting import inner_links, smallest_nets, solve_on_trees, spanning_forest
from hocket.privacy.wording import braced, counted, named
from hocket.problem import Problem
from hocket.rationals import is_exact
from hocket.run import Run
from hocket.solving import solve
from hocket.standard_problems import polynomials
from hocket.steps import Constant, Power, Step
from hocket.theory.measured import measure
from hocket.view import View

GRAIN = 1024
"""Arbitrary noise is drawn in steps of bound / GRAIN: fractions with short denominators keep exact runs fast."""

Component = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Witness:
    """A second run with other objectives and other noise functions, and how the coalition's two views compare."""

    coalition: tuple[int, ...]
    agents: tuple[int, ...]
    """Whose objectives were replaced by the false ones asked for."""
    absorbing: tuple[int, ...]
    """Whose objectives took up the difference, so that the sum of each component stays."""
    objectives: Shaped[np.ndarray, "agents terms dim"]
    """The objectives of the second run, exact: ascending coefficients, a column per coordinate."""
    noise: Shaped[np.ndarray, "links 2 terms dim"]
    """Its noise functions t, exact; equal to the first run's on every link that touches the coalition."""
    tree: tuple[tuple[int, int], ...]
    """The links on which the noise was solved for; on the other honest links of the components it is arbitrary."""
    run: Run
    """The second run."""
    exact: bool
    """Whether both runs are in rational arithmetic, so that equality is a proof."""
    same_functions: bool
    """Whether every f̂_j is the same polynomial in both, up to the constants that no gradient shows."""
    equal: bool
    """Whether everything the coalition sees is the same, number by number."""
    difference: float
    """The largest difference between the two views; 0 where they are equal."""
    compared: int
    """Numbers in a view."""
    same_states: bool
    """Whether all states of all agents are the same, so that even a wiretap on everybody sees no difference."""
    largest_noise: float
    """The largest coefficient of the noise functions that were changed."""
    bound: float
    """What the algorithm would have drawn at most."""
    not_convex: tuple[int, ...]
    """Agents whose second objective is not convex on X, as the theorems on convergence ask."""

    @property
    def within_bound(self) -> bool:
        """Whether the algorithm could have drawn this noise."""
        return self.largest_noise <= self.bound

    @property
    def convex(self) -> bool:
        """Whether all objectives of the second run are convex on X."""
        return not self.not_convex

    def __str__(self) -> str:
        rounds = counted(self.run.rounds, "round")
        if self.equal:
            found = f"all {self.compared:,} numbers it sees in {rounds} are equal"
        else:
            found = f"of {self.compared:,} numbers it sees in {rounds} none differs by more than {self.difference:.2g}"
        how = "in exact arithmetic" if self.exact else "in floating point"
        within = "could have drawn it" if self.within_bound else "would not have drawn it"
        return "\n".join(
            [
                f"coalition {braced(self.coalition)} cannot tell whether {named(self.agents)} hold the objectives "
                f"of the run or the false ones: {found}, {how}",
                f"every f̂_j is {'the same' if self.same_functions else 'NOT the same'} polynomial in both runs",
                f"{named(self.absorbing)} absorb the difference" if self.absorbing else "nobody else changes",
                f"the noise reaches {self.largest_noise:.3g} in a coefficient: with bound {self.bound:g} the algorithm "
                + within,
                "all objectives are convex on X"
                if self.convex
                else f"not convex on X: the objectives of {named(self.not_convex)}",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """The verdict in numbers, without the runs."""
        floats = self.objectives.astype(np.float64)
        changed = sorted({*self.agents, *self.absorbing})
        return {
            "coalition": list(self.coalition),
            "agents": list(self.agents),
            "absorbing": list(self.absorbing),
            "objectives": {str(agent): floats[agent].tolist() for agent in changed},
            "tree": [list(link) for link in self.tree],
            "rounds": self.run.rounds,
            "exact": self.exact,
            "same_functions": self.same_functions,
            "equal": self.equal,
            "difference": self.difference,
            "compared": self.compared,
            "same_states": self.same_states,
            "largest_noise": self.largest_noise,
            "bound": self.bound,
            "within_bound": self.within_bound,
            "convex": self.convex,
            "not_convex": list(self.not_convex),
        }


def witness(
    run: Run,
    coalition: Iterable[int],
    objectives: Mapping[int, Any],
    *,
    fill: Literal["random", "least"] = "random",
    seed: int = 0,
    step: Any = None,
) -> Witness:
    """Show that a function-sharing run could have had other objectives, for all that a coalition has seen of it.
    For believing P2, or for showing it: run with engine="exact" for a proof, in floating point for long runs.

    `objectives` gives some honest agents false polynomials, as ascending coefficients; the others of each component
    touched absorb the difference evenly. The noise is solved for along a spanning tree. On other links it is
    arbitrary, drawn from `seed`, or with fill="least" chosen so that the largest of all is as small as possible.
    Pass `step` where it was a callable.
    """
    true = functions_of(run)
    members = check_hiding(coalition, run.network.n)
    false = _false_objectives(true, members, objectives)
    touched = [part for part in honest_components(run.network, members) if not false.keys().isdisjoint(part)]
    held, absorbing = _absorbed(true, touched, false, members)
    noise, tree = _other_noise(true, held, touched, fill, seed)
    second = _play_again(run, true, held, noise, step)
    hats = dataclasses.replace(true, objectives=held, noise=noise).obfuscated
    equal, difference, compared = _compare(run.view(set(members)), second.view(set(members)))
    changed = inner_links(run.network, touched)
    return Witness(
        coalition=tuple(sorted(members)),
        agents=tuple(sorted(false)),
        absorbing=absorbing,
        objectives=held,
        noise=noise,
        tree=tree,
        run=second,
        exact=is_exact(second.path),
        same_functions=bool((hats[:, 1:] == true.obfuscated[:, 1:]).all()),
        equal=equal,
        difference=difference,
        compared=compared,
        same_states=bool(np.array_equal(np.asarray(run.path), np.asarray(second.path))),
        largest_noise=float(abs(noise[changed]).max()) if len(changed) else 0.0,
        bound=float(true.algorithm.bound),
        not_convex=_not_convex(held, run.problem),
    )


def _false_objectives(true: Functions, members: frozenset[int], objectives: Mapping[int, Any]) -> dict[int, Any]:
    """The false polynomials in the run's number of terms, refusing what no noise could hide."""
    if not objectives:
        raise BadInput("no false objectives are given; name at least one honest agent and its coefficients")
    n, degree, found = true.network.n, true.algorithm.degree, {}
    for agent, row in objectives.items():
        if not 0 <= agent < n:
            raise BadInput(f"agent {agent} is unknown: this network has agents 0 to {n - 1}")
        if agent in members:
            raise BadInput(f"agent {agent} is in the coalition, which knows its objective; name an honest agent")
        given = read_coefficients(row, true.dim)
        if given.ndim != 2 or given.shape[1] != true.dim or not given.size:
            raise BadInput(
                f"the false objective of agent {agent} has shape {np.shape(row)}; give ascending coefficients, "
                f"or a column of them for each of {counted(true.dim, 'coordinate')}"
            )
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
    fill: str,
    seed: int,
) -> tuple[Shaped[np.ndarray, "links 2 terms dim"], tuple[tuple[int, int], ...]]:
    """Noise functions t with t = s on every other link, and h_j + Σ_i (t^{i,j} − t^{j,i}) = f̂_j for everybody."""
    if fill not in ("random", "least"):
        raise BadInput(f"fill = {fill!r}; choose 'random' or 'least'")
    network, inner = true.network, inner_links(true.network, touched)
    fixed = true.noise[:, 0] - true.noise[:, 1]
    fixed[inner] = 0
    wanted = true.obfuscated - held - gains(network, fixed)
    for part in touched:  # what remains of a component's sum is a constant, which no gradient shows
        wanted[part[0]] = wanted[part[0]] - wanted[list(part)].sum(axis=0)
    noise = true.noise.copy()
    if fill == "random":
        hidden = true.algorithm.degree + 1
        grains = np.random.default_rng(seed).integers(
            -GRAIN, GRAIN, size=(len(inner), 2, hidden, true.dim), endpoint=True
        )
        noise[inner, :, :hidden] = grains * (Fraction(true.algorithm.bound) / GRAIN)
        nets = noise[:, 0] - noise[:, 1]
    else:
        least = smallest_nets(network, touched, wanted)
        nets = np.vectorize(Fraction, otypes=[object])(least)
    nets = _only(nets, inner)
    forest = spanning_forest(network, touched)
    nets = solve_on_trees(network, forest, wanted, nets)
    solved = np.array([link for _, _, link in forest], dtype=np.int64) if fill == "random" else inner
    # Both ends share a net evenly: this stays within the bound wherever any split does.
    noise[solved] = np.stack([nets[solved] / Fraction(2), -nets[solved] / Fraction(2)], axis=1)
    return noise, tuple((min(pair), max(pair)) for *pair, _ in forest)


def _only(nets: np.ndarray, links: np.ndarray) -> np.ndarray:
    out = np.zeros_like(nets)
    out[links] = nets[links]
    return out


def _play_again(run: Run, true: Functions, held: np.ndarray, noise: np.ndarray, step: Any) -> Run:
    """The same job with other objectives and other noise, in the arithmetic of the first run."""
    exact, used = is_exact(np.asarray(run.path)), measure(run, step).step
    dtype = object if exact else np.float64
    assert run.path is not None and run.problem is not None
    width = (true.algorithm.degree + 1) * true.dim
    table = noise[None, :, :, : true.algorithm.degree + 1].reshape(1, len(noise), 2, width).astype(dtype)
    return solve(
        polynomials(list(held.astype(dtype)), feasible=run.problem.feasible, dim=true.dim),
        run.network,
        dataclasses.replace(true.algorithm, noise=table),
        rounds=len(run.path) - 1,
        step=_rational(used) if exact else used,
        seed=run.settings["seed"],
        start=run.path[0],
        keep="transcript",
        engine="exact" if exact else "simulator",
        dtype=np.float64 if exact else run.settings["dtype"],
        grad_at=run.settings["grad_at"],
    )


def _rational(step: Step) -> Step:
    """A step read back from a run's settings, whose whole numbers were printed and read as floats."""
    if not isinstance(step, Power | Constant):
        return step
    return dataclasses.replace(
        step, **{field.name: Fraction(getattr(step, field.name)) for field in dataclasses.fields(step)}
    )


def _compare(first: View, second: View) -> tuple[bool, float, int]:
    """Whether two views are equal, their largest difference, and how many numbers were compared."""
    equal, difference, compared = True, 0.0, 0
    for one, other in zip(_numbers(first), _numbers(second), strict=True):
        compared += one.size
        if not np.array_equal(one, other):
            equal = False
            difference = max(difference, float(abs(one - other).max()))
    return equal, difference, compared


def _numbers(view: View) -> Iterator[np.ndarray]:
    """Everything a coalition sees, in one order: words, noise on its links, its own states."""
    for table in (*view.words, *view.noise.values()):
        yield from (np.asarray(table[link]) for link in sorted(table))
    yield from (np.asarray(view.states[member]) for member in sorted(view.states))


def _not_convex(held: np.ndarray, problem: Problem) -> tuple[int, ...]:
    floats = held.astype(np.float64)
    return tuple(
        agent
        for agent in range(len(floats))
        if Polynomial().convex(floats[agent : agent + 1], problem.feasible, problem.dim) is False
    )
