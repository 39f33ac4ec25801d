"""The mechanisms that the matrix is about: every public algorithm, those that promise something in several forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import hocket as hk
from hocket.algorithms import ALL


@dataclass(frozen=True)
class Base:
    """A mechanism as it stands where nothing is changed."""

    name: str
    build: Callable[[], hk.Algorithm]
    options: Mapping[str, str] = field(default_factory=dict)
    """What differs from the first values of the axes."""


BASES = [
    Base("RssNb", lambda: hk.RssNb.certified(1.0), {"workload": "slopes"}),
    Base(
        "RssNb own",
        lambda: hk.RssNb.certified(1.0, 0.5),
        {"workload": "least squares", "relation": "sensitivity", "feasible": "ball"},
    ),
    Base(
        "RssNb own free",
        lambda: hk.RssNb.certified(1.0, 0.5),
        {"workload": "least squares", "relation": "sensitivity"},
    ),
    Base(
        "RssNb clip",
        lambda: hk.RssNb.certified(1.0, 0.5, clip=1.0),
        {"workload": "least squares", "relation": "member"},
    ),
    Base("FunctionSharing", lambda: hk.FunctionSharing(2, sd=1.0), {"workload": "squares"}),
    Base(
        "FunctionSharing box",
        lambda: hk.FunctionSharing(2, sd=1.0),
        {"workload": "squares", "feasible": "box", "conduct": "malicious"},
    ),
    Base(
        "FunctionSharing own",
        lambda: hk.FunctionSharing(2, sd=1.0, own=0.5, family="quadratic"),
        {"workload": "least squares", "relation": "sensitivity"},
    ),
    Base(
        "FunctionSharing Nids",
        lambda: hk.FunctionSharing(2, sd=1.0, family="quadratic", inner=hk.Nids()),
        {"workload": "least squares", "relation": "transfer"},
    ),
    Base(
        "IndependentNoise",
        lambda: hk.IndependentNoise(1.0),
        {"workload": "slopes", "relation": "sensitivity", "by": "linearisation"},
    ),
    Base(
        "JointAverage",
        lambda: hk.JointAverage(own=1.0, clip=1.0),
        {"workload": "least squares", "relation": "member"},
    ),
    Base(
        "PrivateDgd",
        lambda: hk.PrivateDgd(4.0, clip=1.0, releases=4),
        {"workload": "least squares", "relation": "member"},
    ),
]
EXPECTED_TODAY: dict[str, str] = {}
"""Cells by name in which a promise is known to fall, with the issue that mends it. One that holds is an error."""
PROMISING = {hk.RssNb, hk.FunctionSharing, hk.IndependentNoise, hk.JointAverage, hk.PrivateDgd}
BASES += [
    Base(kind.__name__, lambda kind=kind: kind.typical() or kind(), {"workload": "slopes"})
    for kind in ALL
    if kind not in PROMISING
]
BY_NAME = {base.name: base for base in BASES}
