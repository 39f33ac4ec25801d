"""hocket's own exchange as its members do it over real links: noise from keys that two ends of a link share."""

from __future__ import annotations

import secrets

import numpy as np
from jaxtyping import Float
from rivals.exchanges import Exchange, mixed_on_ring

import hocket as hk
from hocket.algorithm import Setting
from hocket.federation.runtime.noise_shares import ChainStreams, shares
from hocket.federation.runtime.role import MemberRole


class OverLinks(Exchange):
    """RSS-NB with ChaCha20 noise, each end of a link drawing it for itself."""

    def __init__(self, agents: int, dim: int, *, delta: float, step: float):
        network = hk.Network.cycle(agents)
        plan = Setting(network, dim, hk.Constant(step), 1 << 20)
        dtype = np.dtype(np.float32)
        self.seats = [MemberRole(j, plan, hk.RssNb(delta), hk.Everywhere(), dtype) for j in range(agents)]
        keys = {frozenset(link): secrets.token_bytes(32) for link in network.links.tolist()}
        self.streams = [
            ChainStreams(
                1,
                {i: keys[frozenset((j, i))] for i in network.neighbours(j)},
                {},
                secrets.token_bytes(32),
                dtype,
            )
            for j in range(agents)
        ]

    def __call__(self, states: Float[np.ndarray, "agents dim"], k: int) -> Float[np.ndarray, "agents dim"]:
        words = []
        for role, streams, x in zip(self.seats, self.streams, states, strict=True):
            noise = shares(role, streams, streams.k)["paired"]
            words.append((x + x.dtype.type(role.step(streams.k)) * noise).tobytes())
            streams.advance()
        self.traffic = 2 * 2 * len(words[0])
        return mixed_on_ring([np.frombuffer(word, states.dtype) for word in words])
