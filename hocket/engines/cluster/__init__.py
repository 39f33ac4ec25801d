"""The cluster: agents spread over the devices of many processes, words carried by JAX's own collectives."""

from hocket.engines.cluster.joining import join
from hocket.engines.cluster.playing import play_on_cluster

__all__ = ["join", "play_on_cluster"]
