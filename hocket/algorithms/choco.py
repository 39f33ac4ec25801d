"""CHOCO: gossip of compressed differences, with gradient steps in between."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Broadcast, Round
from hocket.algorithms.parts.compressors import Compressor, TopK
from hocket.algorithms.parts.noiseless import Noiseless
from hocket.algorithms.parts.parameters import check_positive
from hocket.networks.network import Network
from hocket.rationals import matching


class Shown(NamedTuple):
    """The estimate, the copy of it that all neighbours have, and the mix of the copies that this agent has."""

    x: Any
    copy: Any
    mixed: Any


class Choco(Noiseless):
    """h = P_X(x − α∇f(x)), send q = C(h − x̂), x̂ ← x̂ + q, s ← s + Bq, x ← h + γ(s − x̂): CHOCO-SGD [Koloskova, Stich and
    Jaggi 2019, Algorithm 6].

    Choose it where links are so slow that bytes count more than rounds: a message is a part of a vector, `TopK` or
    `RandomK` of its numbers, or all of them `Quantised`. As DGD it needs steps that fall.
    """

    name, title = "choco", "CHOCO"

    compressor: Compressor = eqx.field(static=True, default=TopK(0.1), converter=Compressor.parse)
    """What is said of a difference; in text as `top-k:0.1`, `random-k:20` or `quantised:4`."""
    gamma: float | None = None
    """γ: how far agents move towards each other's copies in a round; None for what suits the compressor."""

    def __check_init__(self) -> None:
        check_positive("gamma", self.gamma, "it is the part of the way that agents go", most=1)

    def init(self, agent: Agent, x: Any) -> Shown:
        return Shown(x, 0 * x, 0 * x)

    def round(self, agent: Agent, state: Shown, k: Any) -> Round:
        dim = state.x.shape[-1]
        stepped = agent.descend(state.x, k)
        decode = partial(self.compressor.decoded, k=k, dim=dim)
        message = self.compressor.encoded(stepped - state.copy, k)
        received = yield Broadcast(message, decode)
        shown = decode(message)  # what neighbours make of it, to the last bit
        copy, mixed = state.copy + shown, state.mixed + agent.mix(shown, received)
        return Shown(stepped + matching(self.pull(dim), stepped) * (mixed - copy), copy, mixed)

    def pull(self, dim: int) -> float:
        """γ as it was given, or what suits the compressor."""
        return self.compressor.pull(dim) if self.gamma is None else self.gamma

    def proved_gamma(self, network: Network, dim: int) -> float:
        """The γ with which agents come together at a proved rate, on their own [Koloskova et al. 2019, Theorem 2].

        Far smaller than what is borne: pass it as `gamma` where a theorem matters more than rounds.
        """
        delta, rho = self.compressor.kept(dim), 1 - network.lam
        beta = float(np.linalg.norm(np.eye(network.n) - network.B, 2))
        return rho**2 * delta / (16 * rho + rho**2 + 4 * beta**2 + 2 * rho * beta**2 - 8 * rho * delta)
