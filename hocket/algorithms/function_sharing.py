"""FS: objectives hidden under noise functions that cancel over the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import equinox as eqx
import numpy as np

from hocket.agent import Agent
from hocket.algorithm import Algorithm, OnMissing, Round, Setting, x_of
from hocket.algorithms.dgd import Dgd
from hocket.algorithms.parameters import (
    Distribution,
    Given,
    check_company,
    check_distribution,
    check_each,
    check_size,
    sd_within_bound,
    tabulated,
)
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw, Gaussian, Paired
from hocket.noise.functions import FAMILIES, Family, NoiseFunctions
from hocket.noise.mechanism import Mechanism
from hocket.noise.stds import (
    Stds,
    as_stds,
    hashable,
    in_words,
    is_by_link,
    on_links,
    values,
)
from hocket.noise.stored_sum import StoredSum, check_unit
from hocket.noise.whole_draws import WholeOwn, WholePaired, stored_problem
from hocket.problems.objective_class import QUADRATIC, ObjectiveClass
from hocket.problems.problem import Problem
from hocket.steps import DEFAULT_STEP, Derived, Step

MOST_NUMBERS = 1 << 32
"""Coefficients that a bound on normal ones is derived for, where only their deviation is given: of any plan."""


class FunctionSharing(Algorithm):
    """DGD on f_j + p_j, where the noise functions p_j are dealt in pairs once and sum to zero [paper, Alg. 3].

    Choose it when the guarantee matters most and sums over all members are too dear: of those that gossip it is the
    only one here with a privacy theorem (Theorem 2), and its noise cannot be averaged away. What it hides is the span
    of its `family`, up to the width that `bound` buys; with normal coefficients, `sd`, it has a certificate of
    differential privacy, and on a `grid` that is a theorem about the machine's own numbers.
    """

    key: ClassVar[str] = "function-sharing"
    label: ClassVar[str] = "FS"
    in_words: ClassVar[str] = "function sharing"
    analysed: ClassVar[bool] = True
    beyond_theorem3: ClassVar[str] = (
        "Theorem 3 is stated for RSS-NB and RSS-LB; its proof also covers FS, as DGD on f_j + p_j, and "
        "hocket.theory.finite_time gives that bound on the α-weighted time average"
    )
    noise_in: ClassVar[Literal["words", "gradient"] | None] = "gradient"
    noise_on: ClassVar[Literal["objective", "gradients"] | None] = "objective"

    degree: int = eqx.field(static=True)
    """Highest power (or frequency) in the noise; at least the objectives' own degree, or the rest stays exposed."""
    bound: float | None = None
    """Largest magnitude of one coefficient in one directed draw; None with `sd`."""
    family: str = eqx.field(static=True, default="polynomial")
    """`polynomial` and `linear`, of each coordinate by itself; `quadratic`, with all cross terms; or `cosine`."""
    noise: Given = None
    """Your own s^{sender,receiver} in place of random draws: (sender, receiver, k) -> ascending coefficients."""
    distribution: Distribution = eqx.field(static=True, default="uniform")
    """`uniform`: coefficients within the bound for certain. `gaussian`: save with probability `failure`."""
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
    exactly before the first word, and agents descend their sum alone."""
    inner: Algorithm = Dgd()
    """The algorithm that minimises the sum of f_j + p_j: the paper's DGD, or an exact one that needs tens of rounds.
    What is proved of this disguise never asks which."""

    def __check_init__(self) -> None:
        for name in ("bound", "sd", "own"):
            check_size(name, getattr(self, name))
        check_distribution(self.distribution, self.failure)
        if self.family not in FAMILIES:
            raise BadAlgorithm(f"unknown family {self.family!r}; choose one of {', '.join(FAMILIES)}")
        if self.degree < 1:
            raise BadAlgorithm(
                f"degree = {self.degree}; noise of degree below 1 has no gradient and hides nothing"
            )
        if (self.bound is None) == (self.sd is None):
            raise BadAlgorithm(
                "noise functions need their size: give either bound=, the largest coefficient, or sd=, the deviation "
                "of normal ones"
            )
        if not self.inner.decentralised:
            raise BadAlgorithm(
                f"inner = {self.inner.title}: it pools what all agents have, and noise functions hide nothing there; "
                "put a method inside whose agents send messages, such as hk.AugDgm()"
            )
        basis = self.basis  # a family may refuse the degree
        if self.grid is not None:
            check_unit(self.grid)
            if self.sd is None:
                raise BadAlgorithm("on a grid noise is normal; give sd= in place of bound=")
            if basis.covers is None:
                raise BadAlgorithm(
                    f"the {self.family} family hides no objective as a whole, so none can be put on a grid with it; "
                    "use 'polynomial' or 'quadratic'"
                )

    @property
    def basis(self) -> Family:
        return FAMILIES[self.family](self.degree)

    @property
    def normal(self) -> bool:
        """Whether coefficients are drawn from a normal distribution."""
        return self.sd is not None or self.distribution == "gaussian"

    @property
    def certain(self) -> bool:
        """Whether no coefficient can exceed the bound, or all are known."""
        return not self.normal or self.noise is not None or self._level == 0

    @property
    def _level(self) -> float:
        """The size of the noise as it was given: zero for none."""
        return (max(values(self.sd)) if self.bound is None else self.bound) or 0.0

    @property
    def largest(self) -> float:
        """The largest magnitude of a coefficient; of normal ones save with probability `failure`, on any plan."""
        if self.sd is None:
            return self._level
        return self._level / sd_within_bound(events=MOST_NUMBERS, failure=self.failure)

    @property
    def stored(self) -> StoredSum | None:
        if self.grid is None or self.sd is None:
            return None
        return StoredSum(self.basis, float(self.grid), hashable(self.sd), float(self.own))

    @classmethod
    def with_certificate(
        cls, sd: Stds, own: float, *, unit: float, clip: float | None, objectives: ObjectiveClass
    ) -> FunctionSharing:
        """Its family is the smallest that hides objectives of this class."""
        if clip is not None:
            raise BadAlgorithm(
                "FS hides objectives, and nothing bounds how much a whole member's weighs: it protects records and "
                "transfers; to protect members choose an algorithm that clips its steps"
            )
        if objectives.degree is not None:
            return cls(max(objectives.degree, 1), sd=sd, own=own, grid=unit)
        if objectives == QUADRATIC:
            return cls(2, sd=sd, own=own, family="quadratic", grid=unit)
        raise BadAlgorithm(
            f"objectives are {objectives.words}, and FS hides quadratics and separable polynomials; declare objectives "
            "of that kind if they are, or choose another algorithm"
        )

    @classmethod
    def typical(cls, *, persistent: bool = False) -> FunctionSharing | None:
        return None if persistent else cls(1, 1.0, family="linear")

    def setup(self, agent: Agent, x: Any) -> Any:
        return self.inner.setup(self._disguise(agent), x)

    @property
    def plain(self) -> bool:
        return self.inner.plain

    @property
    def altered(self) -> str:
        return "" if self.inner.plain else f"{self.inner.title} inside it"

    @property
    def asks_gradients(self) -> bool:
        return self.inner.asks_gradients

    @property
    def compresses(self) -> bool:
        return self.inner.compresses

    @property
    def derives_step(self) -> bool:
        return self.inner.derives_step

    @property
    def on_missing(self) -> OnMissing:
        return self.inner.on_missing

    @property
    def bears(self) -> Literal["", "outages", "channel"]:
        return self.inner.bears  # noise is dealt before the first word

    @property
    def indoors(self) -> str:
        return self.inner.indoors

    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        return (yield from self.inner.round(self._disguise(agent), state, k))

    def _disguise(self, agent: Agent) -> Agent:
        """The agent with f̂_j = f_j + p_j for its objective: all that the inner algorithm ever sees of it."""
        if self.grid is None:
            plain = agent.local is None  # local steps look at the data by themselves
            whole = self.basis.onto(agent.objective, self._dealt(agent)) if plain else None
            if whole is not None:
                return dataclasses.replace(agent.disguised(None), objective=whole)
            return agent.disguised(self.noise_gradient(agent))
        # The agent's objective is f̂_j already. What was dealt with a leaver, who knows it, no longer cancels.
        lost = agent.lost_noise()
        return agent.disguised(None if lost is None else lambda x: -self.basis.gradient(x, lost))

    def noise_gradient(self, agent: Agent) -> Callable[[Any], Any]:
        """∇p_j as a function of where it is asked for, own noise included."""
        return lambda v: self.basis.gradient(v, self._dealt(agent))

    def _dealt(self, agent: Agent) -> Any:
        """The coefficients of p_j."""
        dealt, own = agent.function_noise(), agent.own_noise(0)
        return dealt if own is None else dealt + own

    @property
    def keeps_noise(self) -> bool:
        return True

    @property
    def noise_bound(self) -> float | None:
        return 0.0  # what it says is its state; the noise is in its objective

    def bounded_noise(self) -> tuple[bool | None, str]:
        if self.own:
            return False, (
                f"own noise of deviation {self.own:g} is part of every objective and cancels nowhere: agents agree on "
                "the optimum of another sum"
            )
        return super().bounded_noise()

    @property
    def caveat(self) -> str:
        return (
            "Function sharing hides the span of its noise functions and nothing else: of objectives outside it, "
            "whoever hears all that an agent mixes reads what the span leaves out exactly; under linear functions that "
            "is how gradients change. Declare objectives that lie inside, or choose functions whose span holds them."
        )

    @property
    def open_anyway(self) -> str:
        return (
            "whatever of an objective is outside the span of its noise functions is open to whoever hears all that a "
            "member mixes"
        )

    @property
    def soon_open(self) -> bool:
        return True

    @property
    def functions(self) -> NoiseFunctions | None:
        return NoiseFunctions(self.basis, self.largest, self.certain)

    @property
    def uncovered(self) -> str:
        return "waves as noise functions, which hide no polynomial" if self.family == "cosine" else ""

    def mechanism(self, setting: Setting) -> Mechanism | str:
        if self.noise is not None:
            return "noise of the user's own takes the place of random draws, and nothing is known of it"
        if not self.normal:
            return (
                "FS draws its coefficients uniformly here, and a uniform draw has edges that tell two objectives apart "
                "for certain; give sd= for normal ones"
            )
        if self.uncovered:
            return (
                f"a certificate is about objectives in the span of their noise, and FS has {self.uncovered}"
            )
        if self.effective() is not self:
            return "FS without noise is plain DGD"
        stored, own = self.stored, float(self.own)
        sd = on_links(self.sd_in(setting), setting.network)
        if stored is not None:
            sd, own = np.array([stored.counted_as(one) for one in sd.tolist()]), stored.counted_as(own)
        return Mechanism(
            "objective",
            sd[None],
            own_sd=own,
            exact=stored is not None,
        )

    def check(self, setting: Setting) -> None:
        check_company(setting)
        on_links(self.sd_in(setting), setting.network)
        self.inner.check(setting)
        if self.inner.draws(setting):
            raise BadAlgorithm(
                f"{self.inner.title} has noise of its own, which nobody deals inside function sharing; put a method "
                "without any inside"
            )
        if self.stored is not None:
            self.stored.check(setting.dim, setting.network.n)

    def auto_step(self, problem: Problem, network: Network, *, bend: float = 0.0) -> Step:
        if not self.derives_step:
            return self.inner.auto_step(problem, network)
        more = self.bend(problem.dim, network)
        step = self.inner.auto_step(problem, network, bend=bend + more)
        if isinstance(step, Derived) and more and self.normal:
            step = dataclasses.replace(step, why=f"{step.why}, save with probability {self.failure:g}")
        if isinstance(step, Derived) and self.own:  # the sum is another one, of which nothing is known
            return dataclasses.replace(step, proved=False, why=f"{step.why}, without own noise")
        return step

    def suited(self, problem: Problem, network: Network, step: Step, *, bend: float = 0.0) -> FunctionSharing:
        """Beside a step that is public nothing is worked out from the objectives, of which every message would tell."""
        if not isinstance(step, Derived):
            return self
        try:
            more = self.bend(problem.dim, network) if self.derives_step else 0.0
        except BadAlgorithm:  # nothing bounds it, and nothing is derived from it
            return self
        inner = self.inner.suited(problem, network, step, bend=bend + more)
        return self if inner is self.inner else dataclasses.replace(self, inner=inner)

    def bend(self, dim: int, network: Network) -> float:
        """How much noise functions make any agent's objective bend at most; under normal ones, save with probability
        `failure`."""
        basis, most = self.basis, 2.0 * network.degrees.max()
        bend = basis.usual_bend(dim, network.n, self.failure) if self.normal else basis.bend(dim)
        if bend is None:
            raise BadAlgorithm(
                f"nothing bounds how much {basis.hides} bend; give step=, or noise functions that are quadratic at most"
            )
        if not self.normal:
            return bend * most * self._level
        sd = on_links(self.sd_in(Setting(network, dim, DEFAULT_STEP, 1)), network).ravel()
        dealt = np.bincount(network.links.ravel(), np.repeat(2 * sd**2, 2), minlength=network.n)
        return float(bend * np.sqrt(dealt.max() + self.own**2))

    def silent(self) -> Algorithm:
        return self.inner

    def effective(self) -> Algorithm:
        return self.inner if self._level == 0 and self.own == 0 and self.noise is None else self

    def by_coordinate(self, setting: Setting) -> Algorithm:
        """At one point a noise function is felt by its slope alone, and in floats."""
        inner = self.inner.by_coordinate(setting)
        if self.grid is None and self.basis.separable:
            return self if inner is self.inner else dataclasses.replace(self, inner=inner)
        size = {"bound": None, "sd": self.sd_in(setting)} if self.normal else {}
        return dataclasses.replace(
            self, degree=1, family="linear", noise=None, grid=None, inner=inner, **size
        )

    def disguised(self, problem: Problem, network: Network, draws: Mapping[str, Draw]) -> Problem:
        if self.stored is None:
            return problem
        return stored_problem(self.stored, problem, network, draws["function"], draws.get("own"))

    def sd_in(self, setting: Setting) -> Stds:
        """The deviation of a normal coefficient: such that all of a plan's keep the bound, where that is given."""
        if self.sd is not None:
            return self.sd if is_by_link(self.sd) else float(self.sd)  # pyright: ignore[reportArgumentType]
        events = 2 * len(setting.network.links) * self.basis.width(setting.dim)
        return float(self._level) * sd_within_bound(events=events, failure=self.failure)

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        width = self.basis.width(setting.dim)
        scale = self.sd_in(setting) if self.normal else self._level
        relative = self.basis.relative_variance(setting.dim)
        size: dict[str, Any] = {"width": width, "once": True}
        size["relative"] = None if relative is None else np.sqrt(relative)
        given = tabulated(self.noise, setting, first=1, width=width, once=True)
        check_each(given, setting, "bound", self.bound, width=width)
        size_of_link = on_links(scale, setting.network)[None]
        if (stored := self.stored) is not None:
            whole: dict[str, Any] = size | {"stored": stored, "dim": setting.dim}
            dealt: Draw = WholePaired(size_of_link, label=8, given=given, normal=True, **whole)
            alone: Draw = WholeOwn(np.asarray(self.own), label=9, **whole)
        else:
            dealt = Paired(size_of_link, label=5, given=given, normal=self.normal, **size)
            alone = Gaussian(np.asarray(self.own), label=7, **size)
        return {"function": dealt} | ({"own": alone} if self.own else {})

    def perturbation(self, agent: Agent, state: Any, outgoing: Any, k: Any) -> Any:
        return self.noise_gradient(agent)(x_of(state))

    def remarks(self, problem: Problem, network: Network) -> list[str]:
        said = self._hidden(problem)
        if self.own:
            said.append(
                f"own noise of deviation {self.own:g} per coefficient cancels nowhere: agents agree on the optimum of "
                "another sum, and gaps are to that of the true one"
            )
        return said

    def _hidden(self, problem: Problem) -> list[str]:
        """What it hides of these objectives, and what stays open."""
        size = f"each up to the width its bound {self.largest:g} buys"
        if self.sd is not None:
            size = f"under normal coefficients of deviation {in_words(self.sd)}"
        elif self.normal:
            size += f", which noise keeps with probability {1 - self.failure:.9g}"
        hidden, covers, degree = f"FS hides {self.basis.hides}, {size}", self.basis.covers, problem.degree
        if covers is not None and covers.includes(problem.objective_class):
            return [hidden]
        if covers is None or degree is None or not self.basis.separable:
            return [hidden + "; nothing outside that span"]
        return [
            hidden,
            f"the objectives have degree {degree}: coefficients above {self.degree} stay exposed",
        ]
