"""What a specialist would write instead of hocket: one vectorised JAX scan per algorithm, no generality at all.

Each builder returns a function from nothing to (states, Σ α x), the outputs of a hocket run; the sum only where
averaging is asked for. Where there is more than one sensible way to write it, all are built and the fastest counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hocket.networks.network import Network
from hocket.noise import threefry

Mix = Callable[[Any], Any]
Gradient = Callable[[Any], Any]
Project = Callable[[Any], Any]


def mixes(network: Network) -> dict[str, Mix]:
    """Ways to average with the neighbours: a matrix product, a gather and a sum, a gather slot by slot."""
    n, degree = network.n, int(network.degrees.max())
    neighbour = np.zeros((n, degree), dtype=np.int32)
    weight = np.zeros((n, degree))
    lookup = _weights(network)
    for j in range(n):
        for slot, i in enumerate(network.neighbours(j)):
            neighbour[j, slot], weight[j, slot] = i, lookup[j, i]
    own, weight, neighbour = jnp.asarray(network.own[0])[:, None], jnp.asarray(weight), jnp.asarray(neighbour)
    ways = {
        "gather": lambda x: own * x + jnp.einsum("ns,nsd->nd", weight, x[neighbour]),
        "slots": lambda x: sum((weight[:, s : s + 1] * x[neighbour[:, s]] for s in range(degree)), own * x),
    }
    if n <= 2000:
        matrix = jnp.asarray(network.B)
        ways["dense"] = lambda x: matrix @ x
    return ways


def dgd(
    mix: Mix, gradient: Gradient, project: Project, alpha: Any, start: Any, *, averaging: bool = False
) -> Callable[[], Any]:
    """DGD as one scan over precomputed step sizes."""

    def next_round(carry: Any, a: Any) -> Any:
        x, total = carry
        v = mix(x)
        return (project(v - a * gradient(v)), total + a * x if averaging else None), None

    run = jax.jit(lambda x, alpha: lax.scan(next_round, (x, _no_sum(x, averaging)), alpha)[0])
    return lambda: run(start, alpha)


def rss_nb(
    network: Network,
    mix: Mix,
    gradient: Gradient,
    project: Project,
    alpha: Any,
    start: Any,
    *,
    delta: float,
    block: int,
    averaging: bool = False,
) -> Callable[[], Any]:
    """RSS-NB with hocket's own generator, noise drawn `block` rounds ahead of a nested scan."""
    _n, dim = start.shape
    links = network.links
    deal = _dealer(network)
    degree = network.degrees[0][links].max(axis=1)
    bound = jnp.asarray(delta / (2 * degree) / np.sqrt(dim))[:, None]
    place = jnp.arange(len(links) * dim, dtype=jnp.uint32).reshape(1, len(links), dim)
    key = tuple(jnp.asarray(word) for word in threefry.derive(tuple(threefry.seed_key(0)), 1))

    def draw(first: Any) -> Any:
        rounds = first + jnp.arange(block)
        forward, backward = threefry.uniform(
            key, rounds.astype(jnp.uint32).reshape(-1, 1, 1), place, jnp.float64
        )
        return deal(bound * (forward - backward) * (rounds >= 2)[:, None, None])

    def next_round(carry: Any, args: Any) -> Any:
        (x, total), (a, d) = carry, args
        v = mix(x + a * d)
        return (project(v - a * gradient(v)), total + a * x if averaging else None), None

    def next_block(carry: Any, args: Any) -> Any:
        first, a = args
        return lax.scan(next_round, carry, (a, draw(first)))[0], None

    def run(x: Any, alpha: Any) -> Any:
        firsts = 1 + block * jnp.arange(len(alpha) // block)
        return lax.scan(next_block, (x, _no_sum(x, averaging)), (firsts, alpha.reshape(-1, block)))[0]

    compiled = jax.jit(run)
    return lambda: compiled(start, alpha)


def _no_sum(x: Any, averaging: bool) -> Any:
    return jnp.zeros_like(x) if averaging else None


def _dealer(network: Network) -> Callable[[Any], Any]:
    """Each agent's share of what its links gained, slot by slot."""
    n, degree = network.n, int(network.degrees.max())
    link = np.zeros((n, degree), dtype=np.int32)
    sign = np.zeros((n, degree))
    filled = np.zeros(n, dtype=int)
    for index, (low, high) in enumerate(network.links.tolist()):
        for agent, way in ((low, -1), (high, 1)):
            link[agent, filled[agent]], sign[agent, filled[agent]] = index, way
            filled[agent] += 1
    link, sign = jnp.asarray(link), jnp.asarray(sign)
    return lambda gained: sum(sign[:, s, None] * gained[:, link[:, s]] for s in range(degree))


def _weights(network: Network) -> dict[tuple[int, int], float]:
    pairs = {}
    for (low, high), (to_high, to_low) in zip(network.links.tolist(), network.weight[0], strict=True):
        pairs[high, low], pairs[low, high] = to_high, to_low
    return pairs
