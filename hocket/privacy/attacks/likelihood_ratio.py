"""The strongest test there is: which of two worlds did the words come from, by their likelihood ratio.

An eavesdropper on all links, and knows what a coalition knows, has the gradients under noise of known covariance, or
the objectives under noise that was dealt once. Both are normal, so that the logarithm of the likelihood ratio is a sum
that can be written down, whatever the gradients depend on: rounds are looked at one by one, each given those before it.
No other test tells the worlds apart better [Neyman and Pearson]; so certificates are held against this one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms.certified_rss_nb import CertifiedRssNb
from hocket.algorithms.function_sharing import functions_of
from hocket.algorithms.parts.clipped_messages import cut
from hocket.engines.transcripts import Transcripts, transcripts
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Paired
from hocket.noise.functions import Family
from hocket.privacy.profile import profile
from hocket.problems.problem import Problem
from hocket.runs.view import check_coalition
from hocket.steps import Step, as_step

CUT = 1e-9
"""Singular values below this part of the largest are none: in that direction there is no noise."""
Scores = Float[np.ndarray, " runs"]


class LikelihoodRatios(NamedTuple):
    """ln of (how likely in the second world / how likely in the first), for runs of each."""

    first: Scores
    second: Scores


class Comparison(NamedTuple):
    """All that a test of two worlds knows beforehand."""

    worlds: tuple[Problem, Problem]
    network: Network
    algorithm: Algorithm
    coalition: frozenset[int]
    step: Step
    rounds: int

    @property
    def honest(self) -> list[int]:
        return [j for j in range(self.network.n) if j not in self.coalition]

    @property
    def inner(self) -> Any:
        """The algorithm, or the one whose start it masks."""
        return getattr(self.algorithm, "algorithm", self.algorithm)

    @property
    def draws(self) -> dict[str, Draw]:
        setting = Setting(self.network, self.worlds[0].dim, self.step, self.rounds)
        return dict(self.algorithm.noise(setting))

    @property
    def ratio(self) -> Float[np.ndarray, " rounds"]:
        """What fresh noise is scaled by beside the gradient that it hides."""
        alpha = self.step.table(1, self.rounds + 1)
        return (
            np.ones(self.rounds) if profile(self.algorithm).scaled_with_gradient else alpha[1:] / alpha[:-1]
        )

    def covariance(self, kind: str) -> Float[np.ndarray, "honest honest"]:
        """Of one coordinate of what hidden draws of a kind deal the honest agents."""
        draw = self.draws.get(kind)
        h = len(self.honest)
        if draw is None:
            return np.zeros((h, h))
        if not isinstance(draw, Paired):
            return float(draw.sd) ** 2 * np.eye(h)
        dealt = np.zeros((h, len(self.network.links)))
        for link, (low, high) in enumerate(self.network.links.tolist()):
            if not {low, high} & self.coalition:
                net = np.sqrt(2) * draw.sd[0, link]
                dealt[self.honest.index(low), link], dealt[self.honest.index(high), link] = -net, net
        return dealt @ dealt.T

    def known(self, said: Transcripts, kind: str) -> np.ndarray:
        """What draws that the coalition knows deal the honest agents: (runs, words, honest, width)."""
        table = said.noise[kind]
        gained = table[..., 0, :] - table[..., 1, :]
        total = np.zeros((*gained.shape[:2], self.network.n, gained.shape[-1]))
        for link, (low, high) in enumerate(self.network.links.tolist()):
            if {low, high} & self.coalition:
                total[:, :, low] -= gained[:, :, link]
                total[:, :, high] += gained[:, :, link]
        return total[:, :, self.honest]


def likelihood_ratios(
    worlds: tuple[Problem, Problem],
    network: Network,
    algorithm: Algorithm,
    *,
    coalition: Collection[int],
    step: Step | float | Callable[[int], float],
    rounds: int,
    runs: int,
    start: Any = None,
) -> LikelihoodRatios:
    """Play so many runs in each of two worlds, and tell them apart as well as anybody can who hears all messages.

    The worlds are two problems that differ in what the coalition does not hold. Noise must be normal; X must not cut
    steps short (all of ℝ^D, or `CertifiedRssNb`). Runs have the seeds 0, 1, … in the first world, and the next ones in
    the second.
    """
    if network.period > 1:
        raise BadInput("likelihood ratios are for networks that stay the same; give one network")
    test = Comparison(
        worlds, network, algorithm, check_coalition(coalition, network.n), as_step(step), rounds
    )
    _check_normal(test)
    ratio = _of_objectives if functions_of(algorithm) is not None else _of_gradients
    found = []
    for number, problem in enumerate(worlds):
        seeds = range(number * runs, (number + 1) * runs)
        said = transcripts(problem, network, algorithm, rounds=rounds, seeds=seeds, step=step, start=start)
        found.append(ratio(test, said))
    return LikelihoodRatios(*found)


def _check_normal(test: Comparison) -> None:
    bounded = [name for name, draw in test.draws.items() if isinstance(draw, Paired) and not draw.normal]
    if bounded:
        raise BadInput(
            f"noise of kind {', '.join(bounded)} is uniform, and likelihood ratios here are of normal noise; take "
            "distribution='gaussian', or CertifiedRssNb"
        )


def _mixed(test: Comparison, said: Transcripts) -> np.ndarray:
    """Where the honest agents took their gradients: (runs, rounds, honest, dim)."""
    v = np.einsum("ji,rkid->rkjd", test.network.B, said.words[:, :-1])
    if isinstance(test.inner, CertifiedRssNb):  # which projects before the step
        with jax.enable_x64(True):
            v = np.asarray(jax.vmap(test.worlds[0].feasible.project)(v.reshape(-1, v.shape[-1]))).reshape(
                v.shape
            )
    return v[:, :, test.honest]


def _moved(test: Comparison, said: Transcripts, v: np.ndarray) -> np.ndarray:
    """By how much the next message moved, as a gradient."""
    alpha = test.step.table(1, test.rounds)[:, None, None]
    return (v - said.words[:, 1:, test.honest]) / alpha


def _gradients(test: Comparison, problem: Problem, v: np.ndarray) -> np.ndarray:
    """∇f_j(v) of the honest agents, at every point."""
    found = np.empty_like(v)
    with jax.enable_x64(True):
        for place, agent in enumerate(test.honest):
            group, row = problem.place(agent)
            data = group.data_of(row)
            points = v[:, :, place].reshape(-1, v.shape[-1])
            slopes = jax.vmap(lambda x, group=group, data=data: group.objective.gradient(x, data))(points)
            if (clip := getattr(test.inner, "clip", None)) is not None:
                slopes = jax.vmap(lambda slope, clip=clip: cut(slope, clip, None))(slopes)
            found[:, :, place] = np.asarray(slopes).reshape(v[:, :, place].shape)
    return found


def _of_gradients(test: Comparison, said: Transcripts) -> Scores:
    """Noise in words: gradients at known points, under noise that no other round's hold, but for anchors."""
    v = _mixed(test, said)
    seen = _moved(test, said, v)
    scale = test.ratio[:, None, None]
    seen = seen + scale * test.known(said, "paired")[:, 1:]
    if "persistent" in test.draws:
        seen = seen + test.known(said, "persistent")
    before, after = (_gradients(test, world, v) for world in test.worlds)
    fresh = test.covariance("paired") + test.covariance("own")
    whole = np.kron(np.diag(test.ratio**2), fresh)
    whole += np.kron(np.ones((test.rounds, test.rounds)), test.covariance("persistent"))
    return _score(whole, after - before, seen - (before + after) / 2)


def _of_objectives(test: Comparison, said: Transcripts) -> Scores:
    """Noise in objectives: their coefficients, solved for, under noise that was dealt once."""
    functions = functions_of(test.algorithm)
    assert functions is not None
    v = _mixed(test, said)
    first, second = (_gradients(test, world, v) for world in test.worlds)
    found = _coefficients(functions.family, v, _moved(test, said, v) - first)
    change = _coefficients(functions.family, v[:1], (second - first)[:1])[0]
    kept = np.isfinite(found).all(axis=(0, 1)).reshape(-1)
    found, change = found[..., kept], change[..., kept]
    found = found - test.known(said, "function")[:, 0][..., kept]
    draw: Any = test.draws["function"]
    relative = getattr(draw, "relative", None)
    size = np.ones(len(kept)) if relative is None else np.asarray(relative)
    covariance = test.covariance("function") + test.covariance("own")
    unit = size[kept]
    return _score(covariance, (change / unit)[None, None], ((found - change / 2) / unit)[:, None])


def _coefficients(family: Family, v: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Coefficients of functions of a family, from gradients at points: (runs, honest, width); NaN for constants."""
    dim = v.shape[-1]
    units = np.eye(family.width(dim))
    with jax.enable_x64(True):
        at = v.reshape(-1, dim)
        columns = [np.asarray(jax.vmap(lambda x, e=e: family.gradient(x, e))(at)) for e in units]
    design = np.stack([column.reshape(v.shape) for column in columns], axis=-1)
    design = np.moveaxis(design, 2, 1).reshape(v.shape[0], v.shape[2], -1, len(units))
    felt = design.any(axis=(0, 1, 2))
    right = np.moveaxis(slopes, 2, 1).reshape(*design.shape[:3], 1)
    found = np.full((*design.shape[:2], len(units)), np.nan)
    found[..., felt] = (np.linalg.pinv(design[..., felt], rcond=1e-12) @ right)[..., 0]
    return found


def _score(covariance: np.ndarray, change: np.ndarray, centred: np.ndarray) -> Scores:
    """changeᵀ C⁺ centred, over rounds and agents, coordinate by coordinate; infinite where there is no noise on it."""
    size, runs = len(covariance), len(centred)
    change = np.broadcast_to(change, centred.shape).reshape(runs, size, -1)
    centred = centred.reshape(runs, size, -1)
    values, axes = np.linalg.eigh(covariance)
    noisy = values > CUT * values.max(initial=0.0)
    bare = np.abs(axes[:, ~noisy].T @ change).max(initial=0.0)
    if bare > 1e-7 * np.abs(change).max(initial=1.0):
        raise BadInput(
            "the two worlds differ in a sum over honest agents, which no noise covers: an eavesdropper tells "
            "them apart for certain; move what differs from one agent to another, or give agents noise of their own"
        )
    precision = axes[:, noisy] / values[noisy] @ axes[:, noisy].T
    return np.einsum("rsc,rsc->r", change, precision @ centred)
