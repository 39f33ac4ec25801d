"""Two neighbouring inputs, played: what a coalition that receives every message can tell of them at most.

Under noise on objectives: noise functions differ by just what the objectives do, so that both worlds have one f + p in
every agent. All that is sent must then be the same, whatever the options are, or Theorem A1 does not hold.

Under noise on gradients: an agent's rounds are played by themselves, without noise, and are given whatever other
members could make it mix. How far its messages move between the two worlds is what noise has to hide, and S bounds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import SecureSum

DIM = 2


def path_under_one_sum(
    moved: float, inner: Any, *, start: Any = None, seed: int = 0, **options: Any
) -> np.ndarray:
    """All states of a run in which curvature is moved from agent 1 to agent 2, and noise functions take it back."""
    net, rng = hk.Network.cycle(5), np.random.default_rng(seed)
    slopes, curved = 6 * rng.normal(size=(5, DIM)), np.ones((5, DIM))
    dealt = {(i, j): rng.normal(size=(3, DIM)) for i in range(5) for j in range(5) if i != j}
    curved[1] -= moved
    curved[2] += moved
    dealt[1, 2] = dealt[1, 2] - moved * np.array([[0.0], [0.0], [1.0]])
    data = [np.array([np.zeros(DIM), slopes[j], curved[j]]) for j in range(5)]
    problem = hk.polynomials(data, box=(-1, 1))
    if (prox := options.pop("prox", None)) is not None:
        problem = hk.Problem(hk.problems.Polynomial(), data, feasible=problem.feasible, dim=DIM, prox=prox)
    sharing = hk.FunctionSharing(2, 50.0, inner=inner, given=lambda i, j, k: dealt[i, j].ravel())
    options = {"rounds": 25, "step": 0.05} | options
    run = hk.solve(problem, net, sharing, start=start, seed=seed, keep="path", **options)
    assert run.path is not None
    return np.asarray(run.path)


class Forced:
    """What an agent receives, by which it mixes a point that somebody chose."""

    def __init__(self, point: np.ndarray):
        self.point = point

    def mixed_with(self, own: Any) -> np.ndarray:
        return self.point


def sent_without_noise(
    algorithm: Any,
    problem: hk.Problem,
    j: int,
    points: np.ndarray,
    step: hk.steps.Step,
    grad_at: str,
    function: np.ndarray | None = None,
) -> np.ndarray:
    """An agent's messages, where others make it mix these points one after the other: with all noise left out but for
    its noise `function`."""
    shares = {"paired": np.zeros(problem.dim), "own": np.zeros(problem.dim)}
    if function is not None:
        shares = {"function": function}
    agent = Agent(
        j,
        lambda k: step(k) if k > 0 else 0.0,
        lambda x: np.asarray(problem.gradient(j, x)),
        problem.feasible,
        shares,
        grad_at=grad_at,
        penalty=problem.penalty,
        members=problem.n,
    )
    state, sent = algorithm.init(agent, np.asarray(problem.feasible.project(np.zeros(problem.dim)))), []
    for k in range(1, len(points) + 2):
        talk = algorithm.round(agent, state, k)
        outgoing = next(talk)
        summed = isinstance(outgoing, SecureSum)
        sent.append(np.asarray(outgoing.values if summed else outgoing[0]))
        if k <= len(points):
            try:
                talk.send(problem.n * points[k - 1] if summed else Forced(points[k - 1]))
            except StopIteration as end:
                state = end.value
    return np.array(sent)


def moved_by(
    worlds: tuple[hk.Problem, hk.Problem],
    algorithm: Any,
    j: int,
    step: hk.steps.Step,
    grad_at: str,
    far: float,
) -> np.ndarray:
    """By how much two worlds move agent j's messages, over the step, round by round: members lie `far` out."""
    points = far * np.random.default_rng(1).normal(size=(6, worlds[0].dim))
    one, other = (sent_without_noise(algorithm, world, j, points, step, grad_at) for world in worlds)
    return (other - one)[1:] / -np.array([[step(k)] for k in range(1, 7)])
