"""The cluster: agents spread over the devices of many processes, messages carried by JAX's own collectives."""

from hocket.engines.cluster.player import play_on_cluster
from hocket.engines.cluster.processes import join

__all__ = ["join", "play_on_cluster"]
