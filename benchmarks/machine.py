"""Where figures were taken: they mean little without it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any

SHOWN = ("hocket", "jax", "numpy", "torch", "tenseal", "cryptography", "opacus", "tvopt", "disropt")


def describe() -> dict[str, Any]:
    """Processor, cores, memory, how busy it is, and versions."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version()} | dict(filter(all, map(_version, SHOWN))),
    }


def in_words(machine: dict[str, Any], load_after: float) -> str:
    """One paragraph for the head of a table."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}; load {machine['load']} before and "
        f"{load_after:.1f} after\n{versions}"
    )


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    named = (
        [line for line in about.read_text().splitlines() if "model name" in line] if about.exists() else []
    )
    return named[0].partition(": ")[2] if named else platform.processor() or "unknown processor"


def _version(name: str) -> tuple[str, str | None]:
    try:
        return name, importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return name, None
