"""FS: objectives hidden under noise functions that cancel over the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, Round, Say, Setting
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parameters import (
    Distribution,
    Given,
    check_company,
    check_distribution,
    check_size,
    sd_within_bound,
    tabulated,
)
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Paired
from hocket.noise.functions import FAMILIES, Family, NoiseFunctions
from hocket.problems.problem import Problem


class FunctionSharing(Algorithm):
    """DGD on f_j + p_j, where the noise functions p_j are dealt in pairs once and sum to zero [paper, Alg. 3].

    Choose it when the guarantee matters most: it is the only algorithm here with a privacy theorem (Theorem 2), and
    its noise cannot be averaged away. What it hides is the span of its `family`, up to the width that `bound` buys.
    """

    key: ClassVar[str] = "function-sharing"
    label: ClassVar[str] = "FS"
    in_words: ClassVar[str] = "function sharing"
    analysed: ClassVar[bool] = True
    beyond_theorem3: ClassVar[str] = (
        "Theorem 3 is stated for RSS-NB and RSS-LB; its proof also covers FS, as DGD on f_j + p_j, and "
        "hocket.theory.finite_time gives that bound on the α-weighted time average"
    )
    plain: ClassVar[bool] = True
    caveat: ClassVar[str] = (
        "Function sharing hides the span of its noise functions and nothing else: of objectives outside it, whoever "
        "hears all that an agent mixes reads what the span leaves out exactly; under linear functions that is how "
        "gradients change. Declare objectives that lie inside, or choose functions whose span holds them."
    )
    open_anyway: ClassVar[str] = (
        "whatever of an objective is outside the span of its noise functions is open to whoever hears all that a "
        "member mixes"
    )
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "gradient"
    soon_open: ClassVar[bool] = True

    degree: int = eqx.field(static=True)
    """Highest power (or frequency) in the noise; at least the objectives' own degree, or the rest stays exposed."""
    bound: float
    """Largest magnitude of one coefficient in one directed draw."""
    family: str = eqx.field(static=True, default="polynomial")
    """`polynomial`, `linear`, `quadratic` or `cosine`."""
    noise: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> ascending coefficients."""
    distribution: Distribution = eqx.field(static=True, default="uniform")
    """`uniform`: coefficients within the bound for certain. `gaussian`: save with probability `failure`."""
    failure: float = 1e-6
    """δ: the probability that any coefficient of normal noise functions exceeds the bound."""

    def __check_init__(self) -> None:
        check_size("bound", self.bound)
        check_distribution(self.distribution, self.failure)
        if self.family not in FAMILIES:
            raise BadAlgorithm(f"unknown family {self.family!r}; choose one of {', '.join(FAMILIES)}")
        if self.degree < 1:
            raise BadAlgorithm(
                f"degree = {self.degree}; noise of degree below 1 has no gradient and hides nothing"
            )
        FAMILIES[self.family](self.degree)  # a family may refuse the degree

    @property
    def basis(self) -> Family:
        return FAMILIES[self.family](self.degree)

    @property
    def certain(self) -> bool:
        """Whether no coefficient can exceed the bound, or all are known."""
        return self.distribution == "uniform" or self.noise is not None or self.bound == 0

    @classmethod
    def typical(cls, *, anchored: bool = False) -> FunctionSharing | None:
        return None if anchored else cls(1, 1.0, family="linear")

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        heard = yield Say(state)
        return agent.descend(agent.mix(state, heard), k, plus=self.noise_gradient(agent))

    def noise_gradient(self, agent: Agent) -> Callable[[Any], Any]:
        """∇p_j as a function of where it is asked for."""
        return lambda v: self.basis.gradient(v, agent.function_noise())

    @property
    def keeps_noise(self) -> bool:
        return True

    @property
    def noise_bound(self) -> float | None:
        return 0.0  # what it says is its state; the noise is in its objective

    @property
    def functions(self) -> NoiseFunctions | None:
        return NoiseFunctions(self.basis, self.bound, self.certain)

    @property
    def uncovered(self) -> str:
        return "waves as noise functions, which hide no polynomial" if self.family == "cosine" else ""

    def check(self, setting: Setting) -> None:
        check_company(setting)

    def silent(self) -> Algorithm:
        return Dgd()

    def effective(self) -> Algorithm:
        return Dgd() if self.bound == 0 and self.noise is None else self

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        width, links = self.basis.width(setting.dim), len(setting.network.links)
        normal, scale = self.distribution == "gaussian", self.bound
        if normal:
            scale = self.bound * sd_within_bound(events=2 * links * width, failure=self.failure)
        given = tabulated(self.noise, setting, first=1, width=width, once=True)
        drawn = Paired(
            np.full((1, links), scale), width=width, label=5, once=True, given=given, normal=normal
        )
        return {"function": drawn}

    def perturbation(self, agent: Agent, state: Any, spoken: Any, k: Any) -> Any:
        return self.noise_gradient(agent)(state)

    def remarks(self, problem: Problem, network: Network) -> list[str]:
        hidden = f"FS hides {self.basis.hides}, each up to the width its bound {self.bound:g} buys"
        if self.distribution == "gaussian":
            hidden += f", which noise keeps with probability {1 - self.failure:.9g}"
        degree = problem.degree
        if self.family == "cosine" or degree is None:
            return [hidden + "; nothing outside that span"]
        if degree > self.degree:
            return [
                hidden,
                f"the objectives have degree {degree}: coefficients above {self.degree} stay exposed",
            ]
        return [hidden]
