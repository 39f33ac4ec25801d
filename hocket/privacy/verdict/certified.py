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
from hocket.problems.problem import Problem
from hocket.steps import Step

UNIT = 1.0
"""The norm of what is moved where no record's sensitivity is known: all μ are per unit then."""


def certificate_of(
    network: Network,
    algorithm: str | Algorithm | None,
    *,
    colluders: int,
    coalition: tuple[int, ...] | None,
    step: Step,
    rounds: int,
    runs: int,
    dim: int,
    problem: Problem | None,
    local_steps: int = 1,
    sigma: float = 1.0,
    batches: bool = False,
) -> Certificate | None:
    """What is certified of an algorithm that knows its noise: one record, or else a unit moved between any two.
    By its key it is the latter, for normal draws of deviation `sigma`.

    Nothing where agents take several steps between two exchanges: theorems are about one along the whole gradient.
    """
    if algorithm is None or local_steps > 1:
        return None
    try:
        if not isinstance(algorithm, Algorithm):
            return _by_key(
                network,
                algorithm,
                sigma,
                kept=BY_KEY[algorithm].noise_on == "objective",
                step=step,
                rounds=rounds,
                runs=runs,
                batches=batches,
                transfer=UNIT,
                **({"colluders": colluders} if coalition is None else {"coalition": coalition}),
            )
        return _certificate(
            network,
            algorithm,
            colluders=colluders,
            coalition=coalition,
            step=step,
            rounds=rounds,
            runs=runs,
            dim=dim,
            problem=problem,
            batches=batches,
        )
    except BadInput:  # a setting that the algorithm itself refuses
        return None


def _certificate(
    network: Network,
    algorithm: Algorithm,
    *,
    colluders: int,
    coalition: tuple[int, ...] | None,
    step: Step,
    rounds: int,
    runs: int,
    dim: int,
    problem: Problem | None,
    batches: bool,
) -> Certificate | None:
    dim = dim if problem is None else problem.dim
    plan: dict[str, Any] = {"step": step, "rounds": rounds, "dim": dim}
    mechanism = source_of(network, algorithm, sigma=None, own=0.0, anchor_sigma=0.0, **plan).mechanism
    if not isinstance(mechanism, Mechanism):
        return None
    protect = {} if mechanism.sensitivity is not None else {"transfer": UNIT}
    against: dict[str, Any] = {"colluders": colluders} if coalition is None else {"coalition": coalition}
    # Noise functions are the same in all runs on the same data; what is drawn in every round is fresh in each.
    kept = mechanism.on == "objective"
    asked: dict[str, Any] = plan | protect | against
    found = certify(network, algorithm, runs=runs, kept=kept, problem=problem, batches=batches, **asked)
    return found if found.holds else None


def _by_key(network: Network, key: str, sigma: float, **asked: Any) -> Certificate | None:
    if BY_KEY[key].noise_on is None or not sigma > 0:
        return None
    found = certify(network, key, sigma=sigma, **asked)
    normal = f"{found.algorithm} with normal draws of σ = {sigma:g}"
    if BY_KEY[key].noise_on == "gradients":
        normal += " and no projection after a step"
    return replace(found, algorithm=normal) if found.holds else None
