"""FS: objectives hidden under noise functions that cancel over the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, final

import equinox as eqx

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Setting, x_of
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parts.function_noise import (
    check_functions,
    configured,
    function_noise,
    is_silent,
    noise_functions,
    sd_in,
)
from hocket.algorithms.parts.parameters import Distribution, Given, check_company
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw
from hocket.noise.functions import FAMILIES, Family, NoiseFunctions
from hocket.noise.stds import Stds, as_stds, hashable, on_links
from hocket.noise.stored_sum import StoredSum
from hocket.problems.problem import Problem
from hocket.steps import Step


@final
class FunctionSharing(Algorithm):
    """DGD on f_j + p_j, where the noise functions p_j are dealt in pairs once and sum to zero [paper, Alg. 3].

    Choose it when the guarantee matters most and secure sums are too dear: of those that gossip it is the only one with
    a privacy theorem (Theorem 2), and its noise cannot be averaged away. It hides the span of its `family`, up to the
    width that `bound` buys; with normal coefficients, `sd`, it has a certificate of differential privacy, and on a
    `grid` that is a theorem about the machine's own numbers.
    """

    name, title = "function-sharing", "FS"

    degree: int = eqx.field(static=True)
    """Highest power (or frequency) in the noise; at least the objectives' own degree, or the rest stays exposed."""
    bound: float | None = None
    """Largest magnitude of one coefficient in one directed draw; None with `sd`."""
    family: str = eqx.field(static=True, default="polynomial")
    """`polynomial` and `linear`, of each coordinate by itself; `quadratic`, with all cross terms; or `cosine`."""
    given: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> ascending coefficients."""
    distribution: Distribution = eqx.field(static=True, default="uniform")
    """`uniform`: coefficients within the bound for certain. `gaussian`: except with probability `failure`."""
    failure: float = 1e-6
    """δ: the probability that any coefficient of normal noise functions exceeds the bound."""
    sd: Stds | None = eqx.field(default=None, converter=as_stds)
    """σ: the standard deviation of one coefficient in one directed draw, which then is normal; in place of a bound. One
    number, one for each of `net.links` in order, or by ends, {(0, 1): 2.0, …}."""
    own: float = 0.0
    """τ: that of noise which an agent draws for itself, once, and which nothing cancels: it hides records, and moves
    the optimum."""
    grid: float | None = eqx.field(static=True, default=None)
    """The unit of a public grid, a power of two such as 2**-20: f_j, p_j and own noise are whole numbers of it, added
    exactly before the first message, and agents descend their sum alone."""
    inner: Algorithm = Dgd()
    """The algorithm that minimises the sum of f_j + p_j: the paper's DGD, or an exact one that needs tens of rounds.
    What is proved of this disguise never asks which."""

    def __check_init__(self) -> None:
        check_functions(self)

    @property
    def basis(self) -> Family:
        """The functions that its noise spans."""
        return FAMILIES[self.family](self.degree)

    @property
    def normal(self) -> bool:
        """Whether coefficients are drawn from a normal distribution."""
        return self.sd is not None or self.distribution == "gaussian"

    @property
    def stored(self) -> StoredSum | None:
        """How objective and noise become one sum of whole numbers before the first message; None without a grid."""
        if self.grid is None or self.sd is None:
            return None
        return StoredSum(self.basis, float(self.grid), hashable(self.sd), float(self.own))

    def init(self, agent: Agent, x: Any) -> Any:
        return self.inner.init(self._disguise(agent), x)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        return function_noise(self, setting)

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return (yield from self.inner.round(self._disguise(agent), state, k))  # lines 5 to 8, on f̂_j

    def _disguise(self, agent: Agent) -> Agent:
        """The agent with f̂_j = f_j + p_j for its objective: all that the inner algorithm sees of it [lines 1 to 4]."""
        if self.grid is None:
            if (dealt := self._dealt(agent)) is None:
                return agent.disguised(None)
            plain = agent.local is None  # local steps look at the data by themselves
            whole = self.basis.onto(agent.objective, dealt) if plain else None
            if whole is not None:
                return dataclasses.replace(agent.disguised(None), objective=whole)
            return agent.disguised(self.noise_gradient(agent))
        # The agent's objective is f̂_j already. What was dealt with a leaver, who knows it, no longer cancels.
        lost = agent.noise("lost")
        return agent.disguised(None if lost is None else lambda x: -self.basis.gradient(x, lost))

    def noise_gradient(self, agent: Agent) -> Callable[[Any], Any]:
        """∇p_j as a function of where it is asked for, own noise included."""
        return lambda v: self.basis.gradient(v, self._dealt(agent))

    def _dealt(self, agent: Agent) -> Any:
        """The coefficients of p_j; None without any."""
        dealt, own = agent.noise("function"), agent.noise("own")
        return dealt if own is None else dealt + own

    def validate(self, setting: Setting) -> None:
        check_company(setting)
        on_links(sd_in(self, setting), setting.network)
        self.inner.validate(setting)
        if self.inner.noise(setting):
            raise BadAlgorithm(
                f"{self.inner.title} has noise of its own, which nobody deals inside function sharing; put a method "
                "without any inside"
            )
        if self.stored is not None:
            self.stored.check(setting.dim, setting.network.n)

    def configure(
        self, problem: Problem, network: Network, step: Step | None, *, added: float = 0.0
    ) -> tuple[FunctionSharing, Step]:
        return configured(self, problem, network, step, added)

    def perturbation(self, agent: Agent, state: Any, outgoing: Any, k: Any) -> Any:
        return self.noise_gradient(agent)(x_of(state))


def functions_of(algorithm: Any) -> NoiseFunctions | None:
    """The noise functions of function sharing itself; None without noise and for anything else, also a subclass."""
    dealt = type(algorithm) is FunctionSharing and not is_silent(algorithm)
    return noise_functions(algorithm) if dealt else None


def stored_of(algorithm: Any) -> StoredSum | None:
    """How function sharing on a grid makes one sum of objective and noise; None for anything else."""
    return algorithm.stored if type(algorithm) is FunctionSharing else None
