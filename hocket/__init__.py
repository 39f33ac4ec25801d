"""hocket: solve one problem together, peer to peer, and know what insiders can learn.

    import hocket as hk

Names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "agent": "Agent",
    "algorithm": "Algorithm Broadcast SecureSum SendEach",
    "algorithms": (
        "AcceleratedTracking Admm AugDgm Centralised CertifiedRssNb Choco Dgd ExactDiffusion Extra FunctionSharing "
        "GradientTracking IndependentNoise JointAverage LocalTracking Nids PrivateDgd PushDiging PushSum "
        "RssLb RssNb Safeguard"
    ),
    "algorithms.parts.compressors": "Compressor Quantised RandomK TopK",
    "bench": "Comparison Tuning compare tune",
    "engines.solver": "solve",
    "engines.sweep": "Sweep sweep",
    "engines.traffic": "bytes_per_round",
    "errors": "HocketError",
    "learning": "train",
    "networks.network": "Network",
    "privacy": "Adversary Horizon Neighbouring NoiseSpec audit certify leakage",
    "problems": "ElasticNet GroupLasso L1 Proximal",
    "problems.problem": "Problem",
    "problems.sets": "Ball Box Everywhere Simplex",
    "problems.standard": "heterogeneous_polynomials least_squares logistic paper_polynomials polynomials",
    "runs.run": "Run",
    "runs.channel": "Channel",
    "runs.view": "View",
    "steps": "Constant Derived Power Schedule",
}
"""Public names by the module that they come from."""
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_PARTS = {"learning", "privacy", "problems", "studies", "theory"}
"""Packages that are reached as attributes, `hk.theory.lemma1`."""
# A checker wants names spelt out and present; these are loaded when first used.
__all__ = sorted([*_HOME, *_PARTS])  # pyright: ignore[reportUnsupportedDunderAll]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"hocket.{name}")
    if name not in _HOME:
        raise AttributeError(f"hocket has no {name!r}{_meant(name)}")
    if _HOME[name].partition(".")[0] in ("agent", "algorithm", "algorithms"):
        importlib.import_module(
            "hocket.claims"
        )  # so that it sees these classes before anybody can change them
    value = getattr(importlib.import_module(f"hocket.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def _meant(name: str) -> str:
    """The question whether another public name was meant, whatever its capitals."""
    from hocket.errors import nearest

    known = {one.lower(): f"hk.{one}" for one in __all__}
    close = nearest(name.lower(), known)
    return "" if not close else next(f"; did you mean {known[one]}?" for one in known if repr(one) in close)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_PARTS})
