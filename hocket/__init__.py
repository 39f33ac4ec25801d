"""hocket: solve one problem together, peer to peer, and know what insiders can learn.

    import hocket as hk

Names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "Ball": "problems.sets",
    "Box": "problems.sets",
    "Everywhere": "problems.sets",
    "Simplex": "problems.sets",
    "L1": "problems",
    "ElasticNet": "problems",
    "GroupLasso": "problems",
    "Proximal": "problems",
    "Algorithm": "algorithm",
    "Say": "algorithm",
    "Tell": "algorithm",
    "Total": "algorithm",
    "Agent": "agent",
    "Centralised": "algorithms",
    "Dgd": "algorithms",
    "FunctionSharing": "algorithms",
    "IndependentNoise": "algorithms",
    "JointAverage": "algorithms",
    "AcceleratedTracking": "algorithms",
    "Admm": "algorithms",
    "AugDgm": "algorithms",
    "Choco": "algorithms",
    "Compressor": "algorithms.compressors",
    "ExactDiffusion": "algorithms",
    "Extra": "algorithms",
    "GradientTracking": "algorithms",
    "LocalTracking": "algorithms",
    "Nids": "algorithms",
    "Quantised": "algorithms.compressors",
    "RandomK": "algorithms.compressors",
    "TopK": "algorithms.compressors",
    "Safeguard": "algorithms",
    "PrivateDgd": "algorithms",
    "PushDiging": "algorithms",
    "PushSum": "algorithms",
    "RssLb": "algorithms",
    "RssNb": "algorithms",
    "Constant": "steps",
    "Derived": "steps",
    "Power": "steps",
    "Schedule": "steps",
    "HocketError": "errors",
    "Network": "networks.network",
    "Problem": "problems.problem",
    "audit": "privacy",
    "bytes_per_round": "engines.traffic",
    "certify": "privacy",
    "heterogeneous_polynomials": "problems.standard",
    "leakage": "privacy",
    "least_squares": "problems.standard",
    "logistic": "problems.standard",
    "paper_polynomials": "problems.standard",
    "polynomials": "problems.standard",
    "Run": "runs.run",
    "View": "runs.view",
    "Weather": "runs.weather",
    "solve": "engines.solver",
    "train": "learning",
    "Comparison": "bench",
    "Tuning": "bench",
    "compare": "bench",
    "tune": "bench",
    "Sweep": "engines.sweep",
    "sweep": "engines.sweep",
}
_PARTS = {"learning", "privacy", "problems", "studies", "theory"}
"""Packages that are reached as attributes, `hk.theory.lemma1`."""
# A checker wants names spelt out and present; these are loaded when first used.
__all__ = sorted([*_HOME, *_PARTS])  # pyright: ignore[reportUnsupportedDunderAll]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"hocket.{name}")
    if name not in _HOME:
        raise AttributeError(f"hocket has no {name!r}")
    value = getattr(importlib.import_module(f"hocket.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_PARTS})
