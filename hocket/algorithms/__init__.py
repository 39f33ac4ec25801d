"""The algorithms, one file each, every one written for a single agent."""

from hocket.algorithm import Algorithm
from hocket.algorithms.centralised import Centralised
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.function_sharing import FunctionSharing
from hocket.algorithms.independent_noise import IndependentNoise
from hocket.algorithms.joint_average import JointAverage
from hocket.algorithms.private_dgd import PrivateDgd
from hocket.algorithms.rss_lb import RssLb
from hocket.algorithms.rss_nb import RssNb

__all__ = [
    "Centralised",
    "Dgd",
    "FunctionSharing",
    "IndependentNoise",
    "JointAverage",
    "PrivateDgd",
    "RssLb",
    "RssNb",
]

ALL = (Dgd, RssNb, RssLb, FunctionSharing, JointAverage, IndependentNoise, PrivateDgd, Centralised)
BY_KEY: dict[str, type[Algorithm]] = {kind.key: kind for kind in ALL}
"""Every algorithm by its name in configurations: one that is added needs a place here to be named in one."""
BY_CLASS: dict[str, type[Algorithm]] = {kind.__name__: kind for kind in ALL}
COMPARED = {"function-sharing": False, "rss-nb": True, "rss-lb": False, "dgd": False, "independent": False}
"""What an audit compares by default, in this order, and of what it tries an anchored form too."""
ANCHORED = RssNb
"""The algorithm whose noise can be kept in part, and is planned by how much."""
