"""What a certificate, an audit or an estimate is asked: against whom, under which noise, how long, about what.

Plain calls need none of these classes, for each field is a keyword too: `hk.audit(net, colluders=1)` is
`hk.audit(net, adversary=hk.Adversary(colluders=1))`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from hocket.errors import BadInput, nearest
from hocket.networks.network import Network
from hocket.privacy.graph.connectivity import check_colluders, check_hiding
from hocket.privacy.wording import SUPPOSED, braced, counted
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.problems.sets import FeasibleSet
from hocket.rationals import is_number
from hocket.rationals import whole as whole_number
from hocket.runs.view import Threat, check_coalition
from hocket.steps import Number, Step, as_step

Release = Literal["nothing", "mixed", "raw", "means"]
"""What is published at the end of a run: nothing, what one more exchange without a gradient makes of the last messages,
or the states. With "means" it is "mixed", and all receive the sum of all states in every round."""
Numbers = float | Iterable[float]
"""One number, or one for each of `network.links` in order."""
COUNTLESS = 10**15
"""No count is larger: beyond it doubles do not hold whole numbers."""
FEWEST = 3
"""Agents of an audit: one to receive, and two so that one can hide behind the other."""


@dataclass(frozen=True)
class Adversary:
    """Semi-honest members who pool what they see: so many of any, or a coalition by name.

    >>> Adversary(colluders=1, leavers={3}).leavers
    frozenset({3})
    """

    colluders: int | None = None
    """0: an eavesdropper on all links, and nobody inside."""
    coalition: Iterable[int] | None = None
    leavers: Mapping[int, int] | Iterable[int] = frozenset()
    """Members who left: what they knew counts as the adversary's. An estimate takes the last round of each."""
    release: Release = "nothing"
    """What is published at the end."""
    threat: Threat = "coalition"
    """What an estimate's adversary taps beside what its members hold: nothing, all messages, or all noise as well."""
    prior: float = 100.0
    """The standard deviation of a gradient, to an estimate's adversary, before anything was received."""
    start: float = 0.0
    """That of starting states; zero if they are public."""

    def __post_init__(self) -> None:
        for name in ("coalition", "leavers"):
            agents: Any = getattr(self, name)
            if agents is None and name == "coalition":
                continue
            if not isinstance(agents, Iterable) or isinstance(agents, str | bytes):
                raise BadInput(f"{name} = {repr(agents)[:60]}; give agents, such as {{0, 2}}")
            kept = dict(agents) if isinstance(agents, Mapping) else _agents(agents)
            object.__setattr__(self, name, kept)
        one_of("release", self.release, get_args(Release))
        if not (is_number(self.prior) and 0 < self.prior < math.inf):
            raise BadInput(
                f"prior = {self.prior!r}; what is believed before has a positive, finite standard deviation"
            )
        if not (is_number(self.start) and 0 <= self.start < math.inf):
            raise BadInput(f"start = {self.start!r}; give a standard deviation, zero if the start is public")

    def gone(self, network: Network) -> frozenset[int]:
        """Members who left."""
        return known_agents(self.leavers, network.n)

    def last_rounds(self, network: Network, rounds: int) -> dict[int, int]:
        """Of those who left, the last round in which each took part."""
        if self.leavers and not isinstance(self.leavers, Mapping):
            raise BadInput("an estimate depends on when members left; give their last rounds, leavers={3: 5}")
        last = dict(self.leavers) if isinstance(self.leavers, Mapping) else {}
        for agent, k in last.items():
            if not 0 <= agent < network.n:
                raise BadInput(
                    f"agent {agent} leaves but is unknown: this network has agents 0 to {network.n - 1}"
                )
            if not 0 <= k <= rounds:
                raise BadInput(f"agent {agent} leaves after round {k}; the rounds are 1 to {rounds}")
        return last

    def members(self, network: Network) -> tuple[frozenset[int] | None, int]:
        """For a certificate: the coalition by name with those who left, or None and how many collude."""
        gone, n = self.gone(network), network.n
        if (self.coalition is None) == (self.colluders is None):
            both = "both were named" if self.coalition is not None else "neither was named"
            raise BadInput(f"a certificate is against a coalition= by name or so many colluders=, and {both}")
        if self.coalition is not None:
            members = known_agents(self.coalition, n) | gone
            if len(members) == n:
                raise BadInput(f"the coalition is all {n} agents; leave out those who are to be protected")
            return members, len(members)
        f = whole("colluders", self.colluders, least=0)
        if f + len(gone) >= n:
            raise BadInput(
                f"{f} colluders and {len(gone)} who left, of {n} agents, leave nobody honest; plan for at most "
                f"{n - len(gone) - 1}"
            )
        return None, f

    def audited(self, network: Network) -> tuple[int, tuple[int, ...] | None]:
        """For an audit: how many collude and, if they were named, who."""
        n = network.n
        if n < FEWEST:
            raise BadInput(
                f"{network.name} has {counted(n, 'agent')}: with one of them colluding nobody is left for another to "
                f"hide behind; an audit takes {FEWEST} or more"
            )
        if self.coalition is not None:
            members = tuple(sorted(check_hiding(self.coalition, n)))
            if self.colluders is not None and self.colluders != len(members):
                raise BadInput(
                    f"{counted(self.colluders, 'colluder')} and the coalition {braced(members)} disagree; pass one of "
                    "them"
                )
            return len(members), members
        if self.colluders is None:
            raise BadInput(
                "an audit is against somebody: pass colluders=, a number, or coalition=, their names"
            )
        f = check_colluders(self.colluders, n)
        if f == n - 1:
            raise BadInput(
                f"{f} colluders among {n} agents leave one, with nothing to hide behind; plan for at most {f - 1}"
            )
        return f, None


@dataclass(frozen=True, eq=False)
class NoiseSpec:
    """How much noise there is, for an algorithm that is named by its key: standard deviations of normal draws."""

    sigma: Numbers | None = None
    """σ: of one directed draw between neighbours (for RSS-LB, before it is balanced)."""
    independent: float = 0.0
    """τ: of noise that each agent adds by itself, and that nothing cancels."""
    persistent: Numbers = 0.0
    """Of pairwise noise that is drawn once and reused in every round."""

    def __post_init__(self) -> None:
        for name in ("sigma", "independent", "persistent"):
            given: Any = getattr(self, name)
            if given is not None or name != "sigma":
                object.__setattr__(self, name, _deviations(name, given))

    def alone(self, name: str = "sigma", otherwise: float = 1.0) -> float:
        """One of them as a single number, for questions in which all links are alike."""
        given: Any = getattr(self, name)
        if given is not None and not is_number(given):
            raise BadInput(f"{name} has {len(given)} numbers; give one standard deviation, for all links")
        return otherwise if given is None else float(given)


@dataclass(frozen=True)
class Horizon:
    """How long the adversary watches: rounds of one run, and runs on the same data."""

    rounds: int | None = None
    step: Step | Number | None = None
    runs: int = 1
    kept: bool | None = None
    """Whether what is drawn once is drawn once for all runs. If nobody says: not for a certificate, where noise is
    fresh in each run, and otherwise yes."""

    def __post_init__(self) -> None:
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole("rounds", self.rounds))
        object.__setattr__(self, "runs", whole("runs", self.runs))
        if self.step is not None:
            object.__setattr__(self, "step", as_step(self.step))
        if self.kept is not None:
            check_flag("kept", self.kept)

    @property
    def steps(self) -> Step | None:
        """The step, as the constructor has read it."""
        return self.step  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Neighbouring:
    """Which inputs are neighbours: one of `move`, `shift`, `transfer` and `sensitivity` says how they differ."""

    move: tuple[int, int, Any] | None = None
    """(i, j, c): the coefficients c are taken from agent i and given to agent j."""
    shift: Mapping[int, Any] | None = None
    """A row of coefficients for each agent whose objective changes."""
    transfer: float | None = None
    """Coefficients of this norm move between any two honest agents."""
    sensitivity: float | None = None
    """S: one record is replaced, which changes what its agent contributes by at most this norm."""
    records: int | Mapping[int, int] = 1
    """So many records of one agent are replaced, or so many by agent."""
    rate: float = 1.0
    """q: each record takes part in a round with this probability, by a secret coin of its own."""
    every: int = 1
    """A record takes part in one round of so many; for by="linearisation"."""
    on_grid: bool = False
    """Whether the change counts what rounding to the algorithm's grid adds to it."""

    def __post_init__(self) -> None:
        move, shift = self.move, self.shift
        listed = isinstance(move, Sequence) and not isinstance(move, str | bytes)  # pyright: ignore[reportUnnecessaryIsInstance]
        if move is not None and not (listed and len(move) == 3):
            raise BadInput(
                f"move = {repr(move)[:60]}; give (from, to, coefficients), such as (1, 4, [0.6, -0.8])"
            )
        if shift is not None and not isinstance(shift, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(
                f"shift = {repr(shift)[:60]}; give a mapping from agents to coefficients, such as "
                "{1: [1.0], 4: [-1.0]}"
            )
        object.__setattr__(self, "every", whole("every", self.every))
        check_flag("on_grid", self.on_grid)
        if not is_real(self.rate):
            raise BadInput(f"rate = {repr(self.rate)[:60]}; give a probability above 0, up to 1")
        if not 0 < self.rate <= 1:
            raise BadInput(f"rate = {self.rate!r}; a record takes part with a probability above 0, up to 1")

    @property
    def named(self) -> list[str]:
        """Which changes were named."""
        return [
            name for name in ("move", "shift", "transfer", "sensitivity") if getattr(self, name) is not None
        ]


@dataclass(frozen=True, eq=False)
class Objectives:
    """What is publicly known of the objectives, and of how agents descend them."""

    form: ObjectiveClass | str | None = None
    """The class that all are declared to be of: "polynomial:2", "quadratic", "any"."""
    problem: Problem | None = None
    dim: int | None = None
    """How many numbers a state has."""
    local_steps: int = 1
    """Steps along gradients between two exchanges."""
    batches: bool = False
    """Whether a step looks at some records only."""
    feasible: FeasibleSet | None = None
    """The set that states are moved back into, where there is no problem to say so."""
    gradient_size: float | None = None
    """The root mean square of a typical gradient's coordinates."""

    def __post_init__(self) -> None:
        form: Any = self.form
        if form is not None and not isinstance(form, str | ObjectiveClass):
            raise BadInput(
                f"objectives = {repr(form)[:60]}; give a class of objectives, such as 'polynomial:2' or 'any'"
            )
        if self.problem is not None and not isinstance(self.problem, Problem):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"problem = {repr(self.problem)[:60]}; give an hk.Problem")
        object.__setattr__(self, "form", ObjectiveClass.parse(form) if isinstance(form, str) else form)
        if self.dim is not None:
            object.__setattr__(self, "dim", whole("dim", self.dim))
        object.__setattr__(self, "local_steps", whole("local_steps", self.local_steps))
        check_flag("batches", self.batches)
        size = self.gradient_size
        if size is not None and not (is_number(size) and 0 < size < math.inf):
            raise BadInput(
                f"gradient_size = {size!r}; give the root mean square of a typical gradient's coordinates, a positive "
                "number"
            )

    @property
    def declared(self) -> ObjectiveClass | None:
        """The class, as the constructor has read it."""
        return self.form  # type: ignore[return-value]

    @property
    def known(self) -> ObjectiveClass | None:
        """The class that is declared, or else that of the problem; what is declared must hold it."""
        if self.problem is None:
            return self.declared
        found = self.problem.objective_class
        if self.declared is not None and not self.declared.includes(found):
            raise BadInput(
                f"objectives = {self.declared}, and those of the problem are {found}; leave objectives= out"
            )
        return found if self.declared is None else self.declared

    @property
    def size(self) -> float:
        """What uncertainties are held against."""
        return SUPPOSED if self.gradient_size is None else float(self.gradient_size)


KINDS: dict[str, type[Any]] = {
    "adversary": Adversary,
    "noise": NoiseSpec,
    "horizon": Horizon,
    "neighbouring": Neighbouring,
    "objectives": Objectives,
}
FIELDS = {one.name: name for name, kind in KINDS.items() for one in dataclasses.fields(kind)}
"""Of every plain keyword, which part of a question it is a field of."""


@dataclass(frozen=True)
class Question:
    """All parts of a question."""

    adversary: Adversary
    noise: NoiseSpec
    horizon: Horizon
    neighbouring: Neighbouring
    objectives: Objectives

    @classmethod
    def of(cls, asked: str, takes: Collection[str], plain: Mapping[str, Any], **parts: Any) -> Question:
        """Parts as they were given, or from plain keywords; refused is what this question has no use for.

        >>> Question.of("audit", {"colluders"}, {"colluders": 1}).adversary.colluders
        1
        """
        plain, objectives = dict(plain), parts.get("objectives")
        if objectives is not None and not isinstance(objectives, Objectives):
            plain["problem" if isinstance(objectives, Problem) else "form"] = objectives
            parts["objectives"] = None
        for word in plain:
            if word not in FIELDS:
                raise TypeError(
                    f"{asked}() got an unexpected keyword argument {word!r}{nearest(word, FIELDS)}"
                )
        found = {}
        for name, kind in KINDS.items():
            words = {word: value for word, value in plain.items() if FIELDS[word] == name}
            part = parts.get(name)
            if part is not None and not isinstance(part, kind):
                raise BadInput(f"{name} = {repr(part)[:60]}; give an hk.{kind.__name__}")
            if part is not None and words:
                raise BadInput(
                    f"{name}= was given, and so was {next(iter(words))}=, which is a field of hk.{kind.__name__}; "
                    "give it there"
                )
            found[name] = part = kind(**words) if part is None else part
            for one in dataclasses.fields(kind):
                if one.name not in takes and _differs(getattr(part, one.name), one.default):
                    raise BadInput(f"{one.name}= is nothing that {asked} takes; leave it out")
        return cls(**found)


def _differs(value: Any, default: Any) -> bool:
    alike = isinstance(value, np.ndarray) or isinstance(default, np.ndarray)
    return value is not default and (alike or bool(value != default))


def _agents(agents: Iterable[Any]) -> Any:
    """Agents without repetition, where they can be told apart; whatever is odd is refused where it is used."""
    some = [*agents]
    try:
        return frozenset(some)
    except TypeError:
        return some


def _deviations(name: str, given: Any) -> Any:
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping | Set)
    numbers: list[Any] = [*given] if several else [given]
    if isinstance(given, np.ndarray):
        numbers = [*given.ravel()]
    if not numbers or not all(map(is_real, numbers)):
        raise BadInput(f"{name} = {repr(given)[:60]}; give a standard deviation, such as 2.0")
    if not all(0 <= float(one) < math.inf for one in numbers):
        raise BadInput(f"{name} = {repr(given)[:60]}; a standard deviation is zero or more, and finite")
    return np.array(numbers, dtype=float) if several else float(numbers[0])


def whole(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number that doubles can hold."""
    if is_number(value) and value > COUNTLESS:
        raise BadInput(f"{name} = {value!r}; give a whole number, {least} or more, and {COUNTLESS:g} at most")
    return whole_number(name, value, least=least)


def known_agents(agents: Any, n: int) -> frozenset[int]:
    """Agents of this network; nobody is a coalition too, of an eavesdropper alone."""
    return check_coalition(agents, n) if agents else frozenset()


def is_real(value: Any) -> bool:
    """Whether something is one real number that a double can hold; ranges are checked later."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise BadInput(f"{name} = {repr(value)[:60]}; give True or False")


def one_of(name: str, value: Any, choices: Iterable[str]) -> Any:
    """One of some words."""
    known = [*choices]
    if not isinstance(value, str):
        raise BadInput(f"{name} = {repr(value)[:60]}; give one of its words, a string")
    if value not in known:
        raise BadInput(f"{name} = {value!r}; choose one of {', '.join(known)}")
    return value
