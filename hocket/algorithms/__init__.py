"""The algorithms, one file each, every one written for a single agent."""

from hocket.algorithm import Algorithm
from hocket.algorithms.centralised import Centralised
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.function_sharing import FunctionSharing
from hocket.algorithms.independent_noise import IndependentNoise
from hocket.algorithms.private_dgd import PrivateDgd
from hocket.algorithms.rss_lb import RssLb
from hocket.algorithms.rss_nb import RssNb

__all__ = ["Centralised", "Dgd", "FunctionSharing", "IndependentNoise", "PrivateDgd", "RssLb", "RssNb"]

ALL = (Dgd, RssNb, RssLb, FunctionSharing, IndependentNoise, PrivateDgd, Centralised)
BY_KEY: dict[str, type[Algorithm]] = {kind.key: kind for kind in ALL}
"""Every algorithm by its name in configurations."""
