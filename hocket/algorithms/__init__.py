"""The algorithms, one file each, every one written for a single agent."""

from hocket.algorithm import Algorithm
from hocket.algorithms.accelerated_tracking import AcceleratedTracking
from hocket.algorithms.admm import Admm
from hocket.algorithms.aug_dgm import AugDgm
from hocket.algorithms.centralised import Centralised
from hocket.algorithms.choco import Choco
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.exact_diffusion import ExactDiffusion
from hocket.algorithms.extra import Extra
from hocket.algorithms.function_sharing import FunctionSharing
from hocket.algorithms.gradient_tracking import GradientTracking
from hocket.algorithms.independent_noise import IndependentNoise
from hocket.algorithms.joint_average import JointAverage
from hocket.algorithms.local_tracking import LocalTracking
from hocket.algorithms.nids import Nids
from hocket.algorithms.private_dgd import PrivateDgd
from hocket.algorithms.push_diging import PushDiging
from hocket.algorithms.push_sum import PushSum
from hocket.algorithms.rss_lb import RssLb
from hocket.algorithms.rss_nb import RssNb
from hocket.algorithms.safeguard import Safeguard

__all__ = [
    "AcceleratedTracking",
    "Admm",
    "AugDgm",
    "Centralised",
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

ALL = (
    Dgd,
    RssNb,
    RssLb,
    FunctionSharing,
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
BY_KEY: dict[str, type[Algorithm]] = {kind.key: kind for kind in ALL}
"""Every algorithm by its name in configurations: one that is added needs a place here to be named in one."""
BY_CLASS: dict[str, type[Algorithm]] = {kind.__name__: kind for kind in ALL}
COMPARED = {"function-sharing": False, "rss-nb": True, "rss-lb": False, "dgd": False, "independent": False}
"""What an audit compares by default, in this order, and of what it tries an anchored form too."""
PERSISTENT = RssNb
"""The algorithm whose noise can be kept in part, and is planned by how much."""
