"""What was run, in words and numbers that fit into JSON."""

from __future__ import annotations

import dataclasses
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import hocket
from hocket.algorithm import Algorithm
from hocket.runs.job import Job

LONG = 1000


def describe(job: Job) -> dict[str, Any]:
    """Everything that decides a run's numbers, except the data themselves."""
    problem, network = job.problem, job.network
    return {
        "problem": {"agents": problem.n, "dim": problem.dim, "feasible": str(problem.feasible)},
        "network": {
            "name": network.name,
            "agents": network.n,
            "links": len(network.links),
            "period": network.period,
        },
        "algorithm": describe_algorithm(job.algorithm),
        "step": str(job.step),
        "rounds": job.rounds,
        "seed": job.seed,
        "start": job.start.astype(np.float64).tolist()
        if job.start.size <= LONG
        else "one row per agent, too long to print",
        "dtype": str(job.dtype),
        "grad_at": job.grad_at,
        "versions": versions(),
    }


def describe_algorithm(algorithm: Algorithm) -> dict[str, Any]:
    """An algorithm's name and parameters."""
    values = {field.name: getattr(algorithm, field.name) for field in dataclasses.fields(algorithm)}
    return {"name": type(algorithm).__name__} | {
        name: value if isinstance(value, float | int | str | bool) else "given by the user"
        for name, value in values.items()
        if value is not None
    }


def versions() -> dict[str, str]:
    """The software under a run."""
    found = {"hocket": hocket.__version__, "python": platform.python_version()}
    for package in ("jax", "jaxlib", "numpy", "equinox"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
