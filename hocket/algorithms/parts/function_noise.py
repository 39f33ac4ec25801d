"""How large noise functions are, and what follows from that: their draws, a bound, the smoothness that they add."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.algorithm import Setting, derives_step
from hocket.algorithms.centralised import Centralised
from hocket.algorithms.parts.parameters import (
    check_distribution,
    check_each,
    check_size,
    sd_within_bound,
    tabulated,
)
from hocket.algorithms.totals import Totals
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Gaussian, Paired
from hocket.noise.functions import FAMILIES, NoiseFunctions
from hocket.noise.stds import Stds, is_by_link, on_links, values
from hocket.noise.stored_sum import check_unit
from hocket.noise.whole_draws import WholeOwn, WholePaired
from hocket.problems.problem import Problem
from hocket.steps import DEFAULT_STEP, Derived, Step

if TYPE_CHECKING:
    from hocket.algorithms.function_sharing import FunctionSharing

MOST_NUMBERS = 1 << 32
"""Coefficients that a bound on normal ones is derived for, where only their deviation is given: of any plan."""


def check_functions(algorithm: FunctionSharing) -> None:
    """Refuse noise functions that are none, or have no size or two."""
    for name in ("bound", "sd", "own"):
        check_size(name, getattr(algorithm, name))
    check_distribution(algorithm.distribution, algorithm.failure)
    if algorithm.family not in FAMILIES:
        raise BadAlgorithm(f"unknown family {algorithm.family!r}; choose one of {', '.join(FAMILIES)}")
    if algorithm.degree < 1:
        raise BadAlgorithm(
            f"degree = {algorithm.degree}; noise of degree below 1 has no gradient and hides nothing"
        )
    if (algorithm.bound is None) == (algorithm.sd is None):
        raise BadAlgorithm(
            "noise functions need their size: give either bound=, the largest coefficient, or sd=, the deviation "
            "of normal ones"
        )
    if isinstance(algorithm.inner, Centralised | Totals):
        raise BadAlgorithm(
            f"inner = {algorithm.inner.title}: it pools what all agents have, and noise functions hide nothing there; "
            "put a method inside whose agents send messages, such as hk.AugDgm()"
        )
    basis = algorithm.basis  # a family may refuse the degree
    if algorithm.grid is not None:
        check_unit(algorithm.grid)
        if algorithm.sd is None:
            raise BadAlgorithm("on a grid noise is normal; give sd= in place of bound=")
        if basis.covers is None:
            raise BadAlgorithm(
                f"the {algorithm.family} family hides no objective as a whole, so none can be put on a grid with it; "
                "use 'polynomial' or 'quadratic'"
            )


def level(algorithm: FunctionSharing) -> float:
    """The size of the noise as it was given: zero for none."""
    return (max(values(algorithm.sd)) if algorithm.bound is None else algorithm.bound) or 0.0


def is_silent(algorithm: FunctionSharing) -> bool:
    """Whether there is no noise, so that it is the algorithm inside."""
    return level(algorithm) == 0 and algorithm.own == 0 and algorithm.given is None


def noise_functions(algorithm: FunctionSharing) -> NoiseFunctions:
    """Its family, the largest coefficient, and whether none can exceed it; of normal ones except with probability
    `failure`, on any plan."""
    largest = level(algorithm)
    certain = not algorithm.normal or algorithm.given is not None or largest == 0
    if algorithm.sd is not None:
        largest /= sd_within_bound(events=MOST_NUMBERS, failure=algorithm.failure)
    return NoiseFunctions(algorithm.basis, largest, certain)


def sd_in(algorithm: FunctionSharing, setting: Setting) -> Stds:
    """The deviation of a normal coefficient: such that all of a plan's keep the bound, where that is given."""
    if algorithm.sd is not None:
        return algorithm.sd if is_by_link(algorithm.sd) else float(algorithm.sd)  # pyright: ignore[reportArgumentType]
    events = 2 * len(setting.network.links) * algorithm.basis.width(setting.dim)
    return float(level(algorithm)) * sd_within_bound(events=events, failure=algorithm.failure)


def function_noise(algorithm: FunctionSharing, setting: Setting) -> Mapping[str, Draw]:
    """Coefficients that are dealt in pairs once, and those that an agent draws for itself."""
    width = algorithm.basis.width(setting.dim)
    given = tabulated(algorithm.given, setting, first=1, width=width, once=True)
    check_each(given, setting, "bound", algorithm.bound, width=width)
    if is_silent(algorithm):
        return {}
    relative = algorithm.basis.relative_variance(setting.dim)
    size: dict[str, Any] = {"width": width, "once": True}
    size["relative"] = None if relative is None else np.sqrt(relative)
    scale = on_links(sd_in(algorithm, setting) if algorithm.normal else level(algorithm), setting.network)[
        None
    ]
    if (stored := algorithm.stored) is not None:
        whole: dict[str, Any] = size | {"stored": stored, "dim": setting.dim}
        dealt: Draw = WholePaired(scale, label=8, given=given, normal=True, **whole)
        alone: Draw = WholeOwn(np.asarray(algorithm.own), label=9, **whole)
    else:
        dealt = Paired(scale, label=5, given=given, normal=algorithm.normal, **size)
        alone = Gaussian(np.asarray(algorithm.own), label=7, **size)
    return {"function": dealt} | ({"own": alone} if algorithm.own else {})


def added_smoothness(algorithm: FunctionSharing, dim: int, network: Network) -> float:
    """How much smoothness noise functions add to any agent's objective at most; normal ones, except with probability
    `failure`."""
    basis, most = algorithm.basis, 2.0 * network.degrees.max()
    bend = basis.usual_bend(dim, network.n, algorithm.failure) if algorithm.normal else basis.bend(dim)
    if bend is None:
        raise BadAlgorithm(
            f"nothing bounds how much {basis.hides} bend; give step=, or noise functions that are quadratic at most"
        )
    if not algorithm.normal:
        return bend * most * level(algorithm)
    sd = on_links(sd_in(algorithm, Setting(network, dim, DEFAULT_STEP, 1)), network).ravel()
    dealt = np.bincount(network.links.ravel(), np.repeat(2 * sd**2, 2), minlength=network.n)
    return float(bend * np.sqrt(dealt.max() + algorithm.own**2))


def configured(
    algorithm: FunctionSharing, problem: Problem, network: Network, step: Step | None, added: float
) -> tuple[FunctionSharing, Step]:
    """Work out the inner algorithm's parameters and step, with the smoothness that noise functions add."""
    if not derives_step(algorithm):
        return algorithm, algorithm.inner.configure(problem, network, step)[1]
    if step is not None:
        # With a public step nothing is worked out from the objectives: every message would tell of it.
        if not isinstance(step, Derived):
            return algorithm, step
        try:
            more = added_smoothness(algorithm, problem.dim, network)
        except BadAlgorithm:  # nothing bounds it, and nothing is derived from it
            return algorithm, step
        inner, _ = algorithm.inner.configure(problem, network, step, added=added + more)
        return (algorithm if inner is algorithm.inner else dataclasses.replace(algorithm, inner=inner)), step
    more = added_smoothness(algorithm, problem.dim, network)
    _, step = algorithm.inner.configure(problem, network, None, added=added + more)
    if isinstance(step, Derived) and more and algorithm.normal:
        step = dataclasses.replace(step, why=f"{step.why}, except with probability {algorithm.failure:g}")
    if isinstance(step, Derived) and algorithm.own:  # the sum is another one, of which nothing is known
        step = dataclasses.replace(step, proved=False, why=f"{step.why}, without own noise")
    return algorithm, step
