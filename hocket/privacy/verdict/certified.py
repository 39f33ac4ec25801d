"""The certificate that a verdict begins with, where an algorithm's noise has one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hocket.algorithm import Algorithm
from hocket.algorithms import BY_KEY
from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.certificates.certify import certify
from hocket.privacy.certificates.source import source_of
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem

UNIT = 1.0
"""The norm of what is moved where no record's sensitivity is known: all μ are per unit then."""


def certificate_of(
    network: Network,
    algorithm: str | Algorithm | None,
    *,
    colluders: int,
    coalition: tuple[int, ...] | None,
    dim: int,
    problem: Problem | None,
    local_steps: int = 1,
    sigma: float = 1.0,
    objectives: ObjectiveClass | None = None,
    **plan: Any,
) -> Certificate | None:
    """What is certified of an algorithm that knows its noise: one record, or else a unit moved between any two.
    By its key it is the latter, for normal draws of deviation `sigma`. `plan` is `step`, `rounds`, `runs` and perhaps
    `batches`, as `certify` has them.

    Nothing where agents take several steps between two exchanges: theorems are about one along the whole gradient.
    """
    if algorithm is None or local_steps > 1:
        return None
    plan |= {"colluders": colluders} if coalition is None else {"coalition": coalition}
    plan |= {"objectives": objectives}
    try:
        if not isinstance(algorithm, Algorithm):
            return _by_key(network, algorithm, sigma, plan | {"dim": dim})
        return _certificate(
            network, algorithm, problem, plan | {"dim": dim if problem is None else problem.dim}
        )
    except BadInput:  # a setting that the algorithm itself refuses
        return None


def _certificate(
    network: Network, algorithm: Algorithm, problem: Problem | None, plan: dict[str, Any]
) -> Certificate | None:
    setting = {name: plan[name] for name in ("step", "rounds", "dim")}
    mechanism = source_of(network, algorithm, sigma=None, own=0.0, anchor_sigma=0.0, **setting).mechanism
    if not isinstance(mechanism, Mechanism):
        return None
    protect: dict[str, Any] = {} if mechanism.sensitivity is not None else {"transfer": UNIT}
    # Noise functions are the same in all runs on the same data; what is drawn in every round is fresh in each.
    kept = mechanism.on == "objective"
    found = certify(network, algorithm, kept=kept, problem=problem, **plan, **protect)
    return found if found.holds else None


def _by_key(network: Network, key: str, sigma: float, plan: dict[str, Any]) -> Certificate | None:
    if BY_KEY[key].noise_on is None or not sigma > 0:
        return None
    kept = BY_KEY[key].noise_on == "objective"
    found = certify(network, key, sigma=sigma, kept=kept, transfer=UNIT, **plan)
    normal = f"{found.algorithm} with normal draws of σ = {sigma:g}"
    if BY_KEY[key].noise_on == "gradients":
        normal += " and no projection after a step"
    return replace(found, algorithm=normal) if found.holds else None
