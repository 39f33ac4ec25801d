"""What learning together is compared with: training alone, and DP-SGD."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, PyTree

from hocket.agent import Agent
from hocket.algorithm import Algorithm
from hocket.algorithms.private_dgd import check_budget
from hocket.errors import BadAlgorithm
from hocket.learning.clipping import SHORTEST, clipped_sum, too_short
from hocket.noise import threefry
from hocket.privacy.dp.sampling import dp_accounting

LEAST = 0.05
"""The smallest multiplier that is tried: less noise than this is none to speak of."""
PRECISION = 1e-3
ORDERS = (1.25, 1.5, 1.75, 2, 2.25, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128)
"""Of Rényi divergence, at which the account is kept: with these few it is as tight as with all, in half the time."""
CLIPS = f"it is the length of a gradient, positive and finite; {too_short('clip')}"
NOISE = 18
"""Names the random stream."""


class Alone(Algorithm):
    """Every agent descends on its own data and says nothing.

    A baseline: what joining is worth. Perfectly private, and as good as one shard allows.
    """

    def round(self, agent: Agent, state: Any, k: Any) -> Any:
        return agent.descend(state, k)


@dataclass(frozen=True)
class DpSgd:
    """(ε, δ)-differential privacy for every sample of every agent, by clipped and noisy gradients.

    A baseline, and the choice where the final model itself must not give a sample away: cancelling noise cannot do
    that. Adjacency: one sample of one agent replaced by any other; how many each agent has is public. Every local step
    draws a subset of the agent's own shard, all subsets of the batch's size being equally likely, and releases one
    noisy sum of clipped gradients; all that an agent ever says follows from those, from what it hears and from a public
    start. The account of all steps is kept by Google's dp-accounting, in Rényi differential privacy of sampling without
    replacement (Wang, Balle and Kasiviswanathan 2019), for the agent with the smallest shard; the others get more.

    That account assumes that subsets are secret: sampling amplifies privacy only against those who do not know who was
    drawn. In the simulator subsets, and noise with them, follow from the run's seed. So the promise is against those
    who do not know the seed: draw it in secret, `secrets.randbits(63)`, for one run alone. A second run by the same
    seed draws the same noise, which falls out of the difference of the two. For anybody who learns subsets but
    not noise, the promise is `epsilon_if_known`.

    Opacus and most other libraries promise something else at the same ε: that nobody tells a sample that was added or
    removed, which moves a sum half as far, under Poisson batches. The noise here is larger than that needs: σ = 4.38
    where 1.29 would do, for (8, 1e-5), clip 1, 287 samples, batches of 32 and 200 steps.

    The noise is rounded to floating point like all numbers here, which a determined attacker may exploit; for
    measuring, not for deployment.
    """

    epsilon: float
    """ε: the budget of the whole run; infinite for clipping without noise."""
    clip: float = 1.0
    """C: a sample's gradient longer than this is shortened to it."""
    failure: float = 1e-5
    """δ: the probability with which the promise may fail; well below one over the number of samples."""

    def __post_init__(self) -> None:
        check_budget(self, clip=(SHORTEST <= self.clip < math.inf, CLIPS))

    def sigma(self, *, samples: int, batch: int, steps: int) -> float:
        """Standard deviation of the noise on a sum of clipped gradients, for an agent with so many samples."""
        if batch > samples:
            raise BadAlgorithm(
                f"batch = {batch} with DpSgd, and an agent has {samples} samples: its account is of subsets of them; "
                f"choose batch={samples} at most, or give that agent more"
            )
        if self.failure >= 1 / samples:
            raise BadAlgorithm(
                f"failure = {self.failure:g} of DpSgd, and an agent has {samples} samples: handing one of them out "
                f"would keep that promise; choose it below {1 / samples:.1g}"
            )
        if self.epsilon == math.inf:
            return 0.0
        multiplier = noise_multiplier(self.epsilon, self.failure, samples=samples, batch=batch, steps=steps)
        # Replacing a sample moves the sum by twice the clipping norm at most.
        return multiplier * 2 * self.clip

    def epsilon_if_known(self, *, samples: int, batch: int, steps: int) -> float:
        """ε of the same noise without amplification: anybody who knows all subsets, and a sample that is in all of
        them."""
        if self.epsilon == math.inf:
            return math.inf
        multiplier = noise_multiplier(self.epsilon, self.failure, samples=samples, batch=batch, steps=steps)
        releases = dp_accounting().SelfComposedDpEvent(dp_accounting().GaussianDpEvent(multiplier), steps)
        return float(_accountant().compose(releases).get_epsilon(self.failure))


@functools.cache
def noise_multiplier(epsilon: float, failure: float, *, samples: int, batch: int, steps: int) -> float:
    """The least noise, in units of the sum's sensitivity, that keeps `steps` releases within the budget."""
    accounting = dp_accounting()

    def releases(multiplier: float) -> Any:
        noisy = accounting.GaussianDpEvent(multiplier)
        return accounting.SelfComposedDpEvent(
            accounting.SampledWithoutReplacementDpEvent(samples, batch, noisy), steps
        )

    if _accountant().compose(releases(LEAST)).get_epsilon(failure) <= epsilon:
        return LEAST
    between = accounting.LowerEndpointAndGuess(LEAST, 1)
    return float(
        accounting.calibrate_dp_mechanism(_accountant, releases, epsilon, failure, between, tol=PRECISION)
    )


def _accountant() -> Any:
    accounting = dp_accounting()
    return accounting.rdp.RdpAccountant(ORDERS, accounting.NeighboringRelation.REPLACE_ONE)


class Clipping(eqx.Module):
    """Clip every sample's gradient to norm `clip`, sum up, add normal noise (Abadi et al. 2016)."""

    clip: Any
    sigma: Any
    """Standard deviation of each coordinate of the noise on the sum."""

    def gradient(
        self,
        losses: Callable[[PyTree, Any, Any], Any],
        parameters: PyTree,
        inputs: Any,
        labels: Any,
        *,
        key: tuple[Any, Any],
        agent: Any,
        t: Any,
    ) -> PyTree:
        """The noisy mean of the clipped gradients over a batch, from the losses of its samples."""

        total = clipped_sum(losses, parameters, inputs, labels, self.clip)
        flat, unravel = ravel_pytree(total)
        noise = normal(threefry.derive(key, NOISE), agent, t, len(flat))
        return unravel((flat + self.sigma * noise) / len(labels))


def normal(key: tuple[Any, Any], agent: Any, t: Any, dim: int) -> Float[Any, " dim"]:
    """Standard normal numbers of an agent's step t, by Box and Muller."""
    own = threefry.words(
        (key[0][None], key[1][None]), jnp.zeros(1, np.uint32), jnp.asarray(agent, np.uint32)[None]
    )
    half = jnp.arange((dim + 1) // 2, dtype=np.uint32)
    first, second = threefry.uniform((own[0], own[1]), jnp.asarray(t, np.uint32)[None], half, np.float32)
    radius = jnp.sqrt(-2 * jnp.log(jnp.maximum(jnp.abs(first), 2.0**-32)))  # a draw of zero stays finite
    cosine, sine = on_circle(second)
    return jnp.concatenate([radius * cosine, radius * sine])[:dim]


def on_circle(half_turns: Any) -> tuple[Any, Any]:
    """Cosine and sine of π times numbers from −1 to 1, to a millionth.

    By their series at half the angle: XLA's own, which serve angles of any size, take ten times as long on CPUs and
    would be most of a private training step.
    """
    half = np.float32(np.pi / 2) * half_turns
    square = half * half

    def series(first: int) -> Any:
        terms = [(-1) ** m / math.factorial(2 * m + first) for m in range(8)]
        return functools.reduce(lambda total, term: total * square + np.float32(term), reversed(terms), 0.0)

    sine, cosine = half * series(1), series(0)
    return 1 - 2 * sine * sine, 2 * sine * cosine
