"""The weights B with which agents average what they receive: rules that make them, checks they must pass.

On links that go both ways B is doubly stochastic; on directed ones its columns sum to one. A message that nobody sends
has weight 0.

Weights are kept by agent and by link, never as a table of n × n: `own[j]` is B[j, j]; for link (i, j), i < j,
`weight[l, 0]` is B[j, i], what j gives to the message of i, and `weight[l, 1]` is B[i, j].
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy  # pyright: ignore[reportMissingTypeStubs]
from jaxtyping import Float
from numpy.typing import ArrayLike

from hocket.errors import BadNetwork
from hocket.networks.directed import Sends, push
from hocket.networks.topologies import Links, check_connected

Weights = Literal["auto", "paper", "metropolis", "fastest", "push", "edges"] | ArrayLike
Own = Float[np.ndarray, " agents"]
Weight = Float[np.ndarray, "links 2"]

SUM_TOLERANCE = 1e-9
"""How far a row or column of a user's matrix may sum from 1: a matrix printed to ten digits still passes."""

DENSE_LIMIT = 1000
"""Agents up to which the spectral norm is taken of a dense matrix, which then takes at most a second."""


def weigh(n: int, links: Links, weights: Weights, sends: Sends | None = None) -> tuple[Own, Weight]:
    """Weights of a graph by the name of a rule, or from a matrix after checking it.
    `speaks` are the directions of directed links; None where all go both ways.
    """
    if not isinstance(weights, str):
        return from_matrix(n, links, weights, sends)
    if weights == "auto":
        weights = "paper" if sends is None else "push"
    if weights == "push":
        return push(n, links, np.ones((len(links), 2), dtype=bool) if sends is None else sends)
    rules = {"paper": paper, "metropolis": metropolis, "fastest": fastest}
    if weights not in rules:
        raise BadNetwork(
            f"unknown weights {weights!r}; choose {', '.join(map(repr, [*rules, 'push']))}, or pass a matrix"
        )
    if sends is not None:
        raise BadNetwork(
            f"weights {weights!r} are for links that go both ways, and these are directed; choose 'push', or pass a "
            "matrix whose columns sum to 1"
        )
    return rules[weights](n, links)


def paper(n: int, links: Links) -> tuple[Own, Weight]:
    """Metropolis weights as the paper counts, each agent among its own neighbours: 1/(2 + larger degree).
    The default; every agent keeps at least 2/(2 + degree) for its own message.
    """
    return _by_degree(n, links, 2)


def metropolis(n: int, links: Links) -> tuple[Own, Weight]:
    """Textbook Metropolis weights: 1/(1 + larger degree).
    Choose them to compare with other work; they mix a little faster.
    """
    return _by_degree(n, links, 1)


def fastest(n: int, links: Links, *, smallest: float = 1e-3) -> tuple[Own, Weight]:
    """Symmetric weights that minimise ‖B − 11ᵀ/n‖₂, every link and diagonal entry at least `smallest`.
    Choose them for small networks: the semidefinite programme takes seconds for 50 agents, minutes for 100.
    """
    try:
        import cvxpy
    except ImportError:
        raise BadNetwork(
            'weights="fastest" needs cvxpy; install it with: pip install "hocket[fastest]"'
        ) from None

    check_connected(n, links)  # one phase of a varying network may fall apart, and no weights make that mix
    degree = np.bincount(links.ravel(), minlength=n)
    busiest = int(degree.argmax())
    if (degree[busiest] + 1) * smallest > 1:
        raise BadNetwork(
            f"agent {busiest} has {degree[busiest]} links, too many to give each at least {smallest:g}; "
            'use weights="paper"'
        )
    incidence = np.zeros((n, len(links)))
    incidence[links[:, 0], np.arange(len(links))] = 1
    incidence[links[:, 1], np.arange(len(links))] = -1
    share = cvxpy.Variable(len(links))
    norm = cvxpy.Variable()
    deviation = np.eye(n) - 1 / n - incidence @ cvxpy.diag(share) @ incidence.T  # pyright: ignore[reportUnknownMemberType]
    programme = cvxpy.Problem(
        cvxpy.Minimize(norm),
        [
            norm * np.eye(n) >> deviation,
            norm * np.eye(n) >> -deviation,
            share >= smallest,
            np.abs(incidence) @ share <= 1 - smallest,
        ],
    )
    programme.solve(solver=cvxpy.CLARABEL)  # pyright: ignore[reportUnknownMemberType]
    if share.value is None:
        raise BadNetwork(f'no fastest weights found: the solver says {programme.status}; use weights="paper"')
    # The solver keeps its constraints to about 1e-8 only: shrink what exceeds `smallest` until all rows fit.
    spare = np.maximum(share.value - smallest, 0)
    wanted = np.bincount(links.ravel(), weights=spare.repeat(2), minlength=n)
    room = 1 - smallest * (degree + 1)
    shrink = np.minimum(1, np.divide(room, wanted, out=np.ones(n), where=wanted > 0))
    return _symmetric(n, links, smallest + spare * shrink[links].min(axis=1))


def from_matrix(n: int, links: Links, matrix: Any, sends: Sends | None = None) -> tuple[Own, Weight]:
    """A user's own B, dense or SciPy sparse and not necessarily symmetric, once it has passed every check.
    Choose it when the weights are given from outside; row j is what agent j gives to the messages it receives.
    """
    try:
        given = matrix if scipy.sparse.issparse(matrix) else np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadNetwork(f"weights must be a rule's name or an n × n matrix of numbers: {error}") from None
    if given.shape != (n, n):
        raise BadNetwork(f"the weights have shape {given.shape}, but {n} agents need ({n}, {n})")
    B = scipy.sparse.csr_array(given, dtype=np.float64, copy=True)
    B.sum_duplicates()  # in place, hence the copy
    entries = B.tocoo()
    row, col = entries.coords

    def refuse(bad: np.ndarray, why: str) -> None:
        for at in np.flatnonzero(bad)[:1]:
            raise BadNetwork(f"B[{row[at]}, {col[at]}] = {entries.data[at]:g}{why}")

    refuse(~np.isfinite(entries.data), " is not a finite number; weights lie between 0 and 1")
    refuse(entries.data < 0, " is negative; weights lie between 0 and 1")
    own = B.diagonal()
    for agent in np.flatnonzero(own <= 0)[:1]:
        raise BadNetwork(
            f"B[{agent}, {agent}] = 0, but an agent must keep a share of its own message; make it positive"
        )
    outgoing = np.ones((len(links), 2), dtype=bool) if sends is None else sends
    said = np.concatenate([links[outgoing[:, 0]], links[outgoing[:, 1]][:, ::-1]]) @ [n, 1]
    on_graph = (row == col) | np.isin(col.astype(np.int64) * n + row, said) | (entries.data == 0)
    refuse(~on_graph, ", but these two agents are not linked; add the link or make the entry 0")
    weight = np.column_stack([B[links[:, 1], links[:, 0]], B[links[:, 0], links[:, 1]]])
    for link, direction in np.argwhere((weight == 0) & outgoing)[:1]:
        sender, receiver = links[link, direction], links[link, 1 - direction]
        raise BadNetwork(
            f"B[{receiver}, {sender}] = 0, but agents {receiver} and {sender} are linked; "
            "give the entry a positive weight or drop the link"
        )
    lines, fix = ((1, "row"), (0, "column")), 'B must be doubly stochastic, as weights="paper" always is'
    if sends is not None:
        lines, fix = ((0, "column"),), 'on directed links columns sum to 1, as with weights="push"'
    for axis, line in lines:
        total = B.sum(axis=axis)
        for at in np.flatnonzero(np.abs(total - 1) > SUM_TOLERANCE)[:1]:
            raise BadNetwork(
                f"{line} {at} of the weights sums to {total[at]:.12g}, not 1 within {SUM_TOLERANCE:g}; {fix}"
            )
    return own, weight


def norm_off_average(B: Any) -> float:
    """‖B − 11ᵀ/n‖₂ of a sparse B: the factor by which one exchange at least shrinks disagreement."""
    n: int = B.shape[0]
    if n <= DENSE_LIMIT:
        return float(np.linalg.norm(B.toarray() - 1 / n, 2))

    def squared(x: np.ndarray) -> Any:
        # Subtracting the mean after Bᵀ B is the square of B − 11ᵀ/n, as B and Bᵀ both keep the mean.
        return B.T @ (B @ x) - x.mean()

    operator = scipy.sparse.linalg.LinearOperator((n, n), squared, dtype=np.float64)
    start = np.random.default_rng(0).normal(size=n)
    try:
        (largest,) = scipy.sparse.linalg.eigsh(
            operator, k=1, v0=start, ncv=60, tol=1e-10, maxiter=200, return_eigenvectors=False
        )
    except scipy.sparse.linalg.ArpackNoConvergence:
        raise BadNetwork(
            f"λ of these {n} agents is too close to 1 to be computed in reasonable time; add links"
        ) from None
    return float(np.sqrt(max(largest, 0)))


def _by_degree(n: int, links: Links, extra: int) -> tuple[Own, Weight]:
    degree = np.bincount(links.ravel(), minlength=n)
    return _symmetric(n, links, 1 / (extra + degree[links].max(axis=1)))


def _symmetric(n: int, links: Links, share: Float[np.ndarray, " links"]) -> tuple[Own, Weight]:
    # The diagonal takes what is left, so rows and columns sum to 1 to rounding.
    own = 1 - np.bincount(links.ravel(), weights=share.repeat(2), minlength=n)
    return own, np.column_stack([share, share])
