"""The polynomials in a function-sharing run, as exact numbers: objectives f, noise functions s, and f̂ = f + p."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Shaped

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import FunctionSharing
from hocket.algorithms.function_sharing import functions_of, stored_of
from hocket.errors import BadInput, NoTheorem, NotRecorded
from hocket.networks.network import Network
from hocket.noise.functions import NoiseFunctions
from hocket.privacy.profile import profile
from hocket.privacy.wording import counted
from hocket.problems import Polynomial
from hocket.problems.problem import Problem
from hocket.rationals import as_fractions
from hocket.runs.run import Run
from hocket.steps import Constant

Coefficients = Shaped[np.ndarray, "terms dim"]
"""Ascending, a column per coordinate; object arrays of fractions."""


@dataclass(frozen=True, eq=False)
class Functions:
    """Every polynomial of a run in exact coefficients, all padded to one number of terms."""

    network: Network
    algorithm: Algorithm
    objectives: Shaped[np.ndarray, "agents terms dim"]
    """f_j."""
    dealt: NoiseFunctions
    """What its noise functions are drawn from."""
    noise: Shaped[np.ndarray, "links 2 terms dim"]
    """s^{i,j} and s^{j,i} on every link (i, j), i < j."""

    @property
    def terms(self) -> int:
        return self.objectives.shape[1]

    @property
    def dim(self) -> int:
        return self.objectives.shape[2]

    @property
    def obfuscated(self) -> Shaped[np.ndarray, "agents terms dim"]:
        """f̂_j = f_j + p_j, what agents really descend [paper, eq. (7)]."""
        return self.objectives + gains(self.network, self.noise[:, 0] - self.noise[:, 1])


def opened(run: Run) -> Functions:
    """Open a function-sharing run that kept its noise; refuse any other, saying why."""
    name = run.settings["algorithm"]["name"]
    if name != FunctionSharing.__name__:
        raise NoTheorem(
            f"this run is {name}'s, and Theorem 2 is about function sharing; "
            "ask hocket.leakage what a coalition can estimate instead"
        )
    run.check_received("what its words give away")
    if run.transcript is None or run.path is None:
        raise NotRecorded("this run kept no messages and no noise; run it again with keep='transcript'")
    if "function" not in run.transcript.noise:
        raise NoTheorem(
            "with bound 0 function sharing is plain DGD and hides nothing; choose a bound above 0"
        )
    algorithm, dealt = run.algorithm, functions_of(run.algorithm)
    if run.problem is None or algorithm is None or dealt is None:
        raise NotRecorded("a run loaded from disk has no objectives; look at it where it was run")
    if profile(algorithm).uncovered:
        raise NoTheorem(
            "this run's noise functions are waves, which hide no polynomial; use family='polynomial'"
        )
    if not dealt.family.separable:
        raise NoTheorem(
            "a witness and its widths are worked out for separable polynomials, and this run's noise functions have "
            "cross terms; for polynomials without any use family='polynomial'"
        )
    if stored_of(algorithm) is not None:
        raise NoTheorem(
            "a witness holds coefficients as they are against each other, and this run put them on a grid; run it "
            "without grid=, or ask for a certificate, which is about the grid itself"
        )
    draws = algorithm.noise(Setting(run.network, run.problem.dim, Constant(1.0), 1))
    if any(np.ptp(draw.sd) > 0 for draw in draws.values()):
        raise NoTheorem(
            "a witness and its widths are worked out for one bound on all links, and this run's links have a deviation "
            "each; ask for a certificate, which knows them"
        )
    if "own" in draws:
        raise NoTheorem(
            "this run's agents drew noise of their own, which no exchange of noise functions explains away; a "
            "certificate says what that hides"
        )
    objectives = _objectives(run.problem)
    drawn = as_fractions(run.transcript.noise["function"][0])
    drawn = drawn.reshape(*drawn.shape[:2], -1, run.problem.dim)
    terms = max(objectives.shape[1], drawn.shape[2])
    return Functions(run.network, algorithm, padded(objectives, terms), dealt, padded(drawn, terms))


def gains(
    network: Network, net: Shaped[np.ndarray, "links terms dim"]
) -> Shaped[np.ndarray, "agents terms dim"]:
    """What every agent gains if a link (i, j) carries `net` from i to j: p_j = Σ_i (s^{i,j} − s^{j,i})."""
    total = np.zeros((network.n, *net.shape[1:]), dtype=net.dtype)
    np.add.at(total, network.links[:, 1], net)
    np.subtract.at(total, network.links[:, 0], net)
    return total


def padded(coefficients: np.ndarray, terms: int) -> np.ndarray:
    """The same polynomials with zeros as their highest terms; the terms are the last axis but one."""
    *outer, given, dim = coefficients.shape
    zeros = np.full((*outer, terms - given, dim), Fraction(0))
    return np.concatenate([coefficients, zeros], axis=-2)


def read_coefficients(row: Any, dim: int) -> Coefficients:
    """A polynomial as users write it: ascending numbers that serve every coordinate, or a column for each."""
    given: np.ndarray
    try:
        given = as_fractions(row)
    except (TypeError, ValueError, OverflowError):
        given = np.empty(0)
    given = np.tile(given[:, None], dim) if given.ndim == 1 else given
    if given.ndim != 2 or given.shape[1] != dim or not given.size:
        raise BadInput(
            f"{row!r} is no polynomial; give finite ascending coefficients, or a column of them for each of "
            f"{counted(dim, 'coordinate')}"
        )
    return given


def _objectives(problem: Problem) -> Shaped[np.ndarray, "agents terms dim"]:
    rows: dict[int, np.ndarray] = {}
    for group in problem.groups:
        if not isinstance(group.objective, Polynomial):
            raise NoTheorem(
                f"the objective of {problem.name(int(group.members[0]))} is no polynomial, and Theorem 2 is about "
                "polynomials; of others, noise functions hide no more than their own span"
            )
        for place, agent in enumerate(group.members.tolist()):
            rows[agent] = read_coefficients(group.data_of(place), problem.dim)
    terms = max(len(row) for row in rows.values())
    return np.stack([padded(rows[agent], terms) for agent in range(problem.n)])
