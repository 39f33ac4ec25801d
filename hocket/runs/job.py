"""One run as it was asked for: everything that decides its numbers, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, Setting
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.problems.problem import Problem
from hocket.steps import Step, as_step


@dataclass(frozen=True, eq=False)
class Job:
    """A problem, a network, an algorithm, and how long and from where to run it."""

    problem: Problem
    network: Network
    algorithm: Algorithm
    step: Step
    rounds: int
    seed: int
    start: Float[np.ndarray, "agents dim"]
    dtype: np.dtype
    grad_at: str

    @staticmethod
    def asked(
        problem: Problem,
        network: Network | list[Network],
        algorithm: Algorithm,
        *,
        step: Any,
        rounds: int,
        seed: int = 0,
        start: Any = None,
        dtype: Any = np.float64,
        grad_at: str = "mixed",
    ) -> Job:
        """Check what the user asked for; errors name the culprit."""
        network = Network.varying(network) if isinstance(network, list | tuple) else network
        if problem.n != network.n:
            raise BadInput(
                f"the problem has {problem.n} agents and the network {network.n}; they must be the same agents"
            )
        check_rounds(rounds)
        check_seed(seed)
        if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise BadInput(f"dtype {dtype} is not supported; use float64 or float32")
        if grad_at not in ("mixed", "projected"):
            raise BadInput(
                f"grad_at = {grad_at!r}; gradients are taken at the 'mixed' state v or at its 'projected' one"
            )
        origin = np.asarray(problem.feasible.project(np.zeros(problem.dim)))
        first = problem.check_start(origin if start is None else start)
        job = Job(
            problem,
            network,
            algorithm,
            as_step(step),
            int(rounds),
            int(seed),
            first,
            np.dtype(dtype),
            grad_at,
        )
        algorithm.check(job.plan)
        return job

    @cached_property
    def _arranged(self) -> tuple[Problem, Network]:
        return self.algorithm.arrange(self.problem, self.network)

    @property
    def own_problem(self) -> Problem:
        """The problem the algorithm really runs on: pooled for the centralised baseline."""
        return self._arranged[0]

    @property
    def own_network(self) -> Network:
        """The network the algorithm really runs on."""
        return self._arranged[1]

    @property
    def first_states(self) -> np.ndarray:
        """x_1 of every agent the algorithm runs on."""
        return self.start if self.own_network.n == len(self.start) else self.start.mean(axis=0, keepdims=True)

    @property
    def plan(self) -> Setting:
        """The public part that noise may depend on."""
        return Setting(self.own_network, self.own_problem.dim, self.step, self.rounds)


def check_rounds(rounds: Any) -> None:
    """A run has a round at least, and no more than can be counted."""
    if not isinstance(rounds, int | np.integer) or rounds < 1:
        raise BadInput(f"rounds = {rounds}; a run needs at least one round")
    if rounds >= 1 << 30:
        raise BadInput(f"rounds = {rounds}; at most 2^30 rounds fit the noise counters")


def check_seed(seed: Any) -> None:
    """A seed fills two words of 32 bits."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
        raise BadInput(f"seed = {seed}; it must be a whole number from 0 to 2^64 - 1")
