"""The mechanisms that the matrix is about: every public algorithm, those that promise something in several forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import hocket as hk
from hocket.algorithms import ALL
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.claims import MECHANISMS, NOISE_ON
from hocket.privacy.stand_ins import TYPICAL


@dataclass(frozen=True)
class Base:
    """A mechanism as it stands where nothing is changed."""

    name: str
    build: Callable[[], hk.Algorithm]
    options: Mapping[str, str] = field(default_factory=dict)
    """What differs from the first values of the axes."""

    @property
    def kind(self) -> type[hk.Algorithm]:
        return type(self.build())

    @property
    def promises(self) -> bool:
        """Whether some of its cells are played."""
        return self.kind in {*PROMISING, *READ}


PROMISING: tuple[type[hk.Algorithm], ...] = (
    *(kind for kind in MECHANISMS if kind is not MaskedStart),
    hk.PrivateDgd,
)
"""Those on the closed list of `hocket.claims`; a start that is masked is an axis of its own."""
READ: tuple[type[hk.Algorithm], ...] = (hk.IndependentNoise,)
"""Those of whom the general accountant alone, which reads code, says anything; nothing is stated of them."""
BASES = [
    Base("CertifiedRssNb", lambda: hk.CertifiedRssNb(1.0), {"workload": "slopes"}),
    Base(
        "CertifiedRssNb own",
        lambda: hk.CertifiedRssNb(1.0, 0.5),
        {"workload": "least squares", "relation": "sensitivity", "feasible": "ball"},
    ),
    Base(
        "CertifiedRssNb own free",
        lambda: hk.CertifiedRssNb(1.0, 0.5),
        {"workload": "least squares", "relation": "sensitivity"},
    ),
    Base(
        "CertifiedRssNb clip",
        lambda: hk.CertifiedRssNb(1.0, 0.5, clip=1.0),
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
BASES += [
    Base("RssNb", lambda: hk.RssNb(3.0), {"workload": "slopes"}),
    Base("RssNb gaussian", lambda: hk.RssNb(3.0, distribution="gaussian"), {"workload": "slopes"}),
    Base("RssNb persistent", lambda: hk.RssNb(3.0, persistent=0.5), {"workload": "slopes"}),
    Base(
        "RssNb gaussian persistent",
        lambda: hk.RssNb(3.0, persistent=0.5, distribution="gaussian"),
        {"workload": "least squares", "relation": "sensitivity", "feasible": "ball"},
    ),
]
BASES += [
    Base(kind.__name__, lambda kind=kind: TYPICAL.get(kind.name) or kind(), {"workload": "slopes"})
    for kind in ALL
    if kind not in {*PROMISING, *READ, hk.RssNb}
]
BY_NAME = {base.name: base for base in BASES}


def missing() -> Iterator[str]:
    """What `hocket.claims` has on its list and no base stands for."""
    here = "tests/claims/bases.py"
    for kind in {*PROMISING, *READ} - {base.kind for base in BASES}:
        yield f"{kind.__name__} may carry a promise and stands in no cell: add it to BASES in {here}"
    for name in NOISE_ON:
        if name not in {kind.name for kind in PROMISING}:
            yield f"{name!r} has certificates by its name and no mechanism: see NOISE_ON in hocket.claims"
    for kind in PROMISING:
        if kind not in ALL:
            yield f"{kind.__name__} may carry a promise and is not public: add it to hocket.algorithms.ALL"
