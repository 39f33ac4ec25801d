"""The algorithms, one file each, every one written for a single agent."""

from hocket.algorithms.centralised import Centralised
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.function_sharing import FunctionSharing
from hocket.algorithms.independent_noise import IndependentNoise
from hocket.algorithms.private_dgd import PrivateDgd
from hocket.algorithms.rss_lb import RssLb
from hocket.algorithms.rss_nb import RssNb

__all__ = ["Centralised", "Dgd", "FunctionSharing", "IndependentNoise", "PrivateDgd", "RssLb", "RssNb"]
