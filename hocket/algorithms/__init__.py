"""The algorithms, one file each, every one written for a single agent.

The paper's four and the baselines stand here, exact methods in `exact`, those for directed links in `push`.
"""

from hocket.algorithm import Algorithm
from hocket.algorithms.centralised import Centralised
from hocket.algorithms.certified_rss_nb import CertifiedRssNb
from hocket.algorithms.choco import Choco
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.exact.accelerated_tracking import AcceleratedTracking
from hocket.algorithms.exact.admm import Admm
from hocket.algorithms.exact.aug_dgm import AugDgm
from hocket.algorithms.exact.exact_diffusion import ExactDiffusion
from hocket.algorithms.exact.extra import Extra
from hocket.algorithms.exact.gradient_tracking import GradientTracking
from hocket.algorithms.exact.local_tracking import LocalTracking
from hocket.algorithms.exact.nids import Nids
from hocket.algorithms.exact.safeguard import Safeguard
from hocket.algorithms.function_sharing import FunctionSharing
from hocket.algorithms.independent_noise import IndependentNoise
from hocket.algorithms.joint_average import JointAverage
from hocket.algorithms.private_dgd import PrivateDgd
from hocket.algorithms.push.push_diging import PushDiging
from hocket.algorithms.push.push_sum import PushSum
from hocket.algorithms.rss_lb import RssLb
from hocket.algorithms.rss_nb import RssNb

__all__ = [
    "AcceleratedTracking",
    "Admm",
    "AugDgm",
    "Centralised",
    "CertifiedRssNb",
    "Choco",
    "Dgd",
    "ExactDiffusion",
    "Extra",
    "FunctionSharing",
    "GradientTracking",
    "IndependentNoise",
    "JointAverage",
    "LocalTracking",
    "Nids",
    "PrivateDgd",
    "PushDiging",
    "PushSum",
    "RssLb",
    "RssNb",
    "Safeguard",
]

ALL: tuple[type[Algorithm], ...] = (
    Dgd,
    RssNb,
    RssLb,
    FunctionSharing,
    CertifiedRssNb,
    JointAverage,
    IndependentNoise,
    PrivateDgd,
    Centralised,
    AugDgm,
    GradientTracking,
    Extra,
    Nids,
    ExactDiffusion,
    Admm,
    AcceleratedTracking,
    LocalTracking,
    Choco,
    PushSum,
    PushDiging,
    Safeguard,
)
BY_KEY: dict[str, type[Algorithm]] = {kind.name: kind for kind in ALL}
"""Every algorithm by its name in configurations: one that is added needs a place here to be named in one."""
BY_CLASS: dict[str, type[Algorithm]] = {kind.__name__: kind for kind in ALL}
EXACT = (
    AugDgm,
    GradientTracking,
    Extra,
    Nids,
    ExactDiffusion,
    Admm,
    AcceleratedTracking,
    LocalTracking,
    Safeguard,
)
"""Those whose fixed point is the optimum itself, on links that go both ways."""
PUSH = (PushSum, PushDiging)
"""Those for directed links."""
NOISELESS = (Dgd, Choco, *EXACT, *PUSH)
"""Those that add nothing to what agents send."""
COMPARED = {"function-sharing": False, "rss-nb": True, "rss-lb": False, "dgd": False, "independent": False}
"""What an audit compares by default, in this order, and of what it tries persistent noise too."""
SENTENCES = {
    "function-sharing": "function sharing",
    "gradient-tracking": "gradient tracking",
    "push-sum": "subgradient-push",
    "joint-average": "joint averaging",
    "masked-totals": "sums over all members",
}
"""Names in a sentence, where that is not the title."""


def in_a_sentence(algorithm: Algorithm | type[Algorithm]) -> str:
    """An algorithm's name as a sentence has it."""
    return SENTENCES.get(algorithm.name, algorithm.title)


def title_of(algorithm: Algorithm) -> str:
    """An algorithm's title, and whether its noise is persistent, so that figures and tables tell it from the other."""
    persistent = isinstance(algorithm, RssNb | CertifiedRssNb) and algorithm.persistent > 0
    return f"{algorithm.title}, persistent" if persistent else algorithm.title
