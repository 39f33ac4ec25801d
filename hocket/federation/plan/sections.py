"""The sections of a plan that no other configuration has."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hocket.algorithms.totals import Totals
from hocket.config.own_algorithm import is_own
from hocket.config.problems import SETS, FeasibleSection
from hocket.config.section import Section, check, choose, shown
from hocket.config.sections import ALGORITHM_SECTIONS, AlgorithmSection, algorithm_section, named_algorithm
from hocket.errors import BadPlan, BadProblem
from hocket.federation.plan.own_code import NO_CODE, OwnCode
from hocket.links.text import LONGEST, NORMAL, hides, normal_name
from hocket.privacy.wording import SUPPOSED
from hocket.problems.objective_class import FORMS, ObjectiveClass

MOST_MEMBERS = 10_000
MOST_NUMBERS = 100_000_000
"""Numbers of a state: 800 MB, which every round writes to disk and sends to every neighbour."""
MOST_ROUNDS = 10_000_000
MOST_LOCAL_STEPS = 1_000_000
LAST_SEED = (1 << 63) - 1
MOST_TEXT = 200
MOST_VERSIONS = 1_000_000


def _plain(text: str) -> str:
    if hides(text):
        raise ValueError(
            "leave out what cannot be seen: it would mislead anybody who reads the plan, or steer their terminal"
        )
    if any(unicodedata.category(letter) in ("So", "Sk") and letter != "°" for letter in text):
        raise ValueError(
            "write letters, digits and punctuation: what draws would pass for a line of hocket's"
        )
    if "  " in text or text != text.strip():
        raise ValueError(
            "write one blank between two words, and none at either end: more would draw lines of its own"
        )
    return text


def _normal(name: str) -> str:
    if not NORMAL.fullmatch(name) or len(name) > LONGEST:
        raise ValueError(f"write {normal_name(name)}")
    return name


def _objectives(text: str) -> str:
    try:
        return str(ObjectiveClass.parse(text))
    except BadProblem as error:
        raise ValueError(str(error)) from None


Text = Annotated[str, Field(max_length=MOST_TEXT), AfterValidator(_plain)]
"""Free words of a stranger's: short, single blanks between them, and nothing that cannot be seen."""
Name = Annotated[str, Field(max_length=MOST_TEXT)]
"""A member's name, as far as it can be judged before its card is."""


class FederationSection(Section):
    """Who takes part, and how they speak."""

    members: list[Name] = Field(
        min_length=2,
        max_length=MOST_MEMBERS,
        description=f"a list of at least two and at most {MOST_MEMBERS:,} members' names",
    )
    protocol: int = Field(ge=0, le=MOST_VERSIONS, description="the version of the protocol, a whole number")
    noise: int = Field(ge=0, le=MOST_VERSIONS, description="the version of the noise, a whole number")


class TaskSection(Section):
    """What is computed, in words, and the shape of its states."""

    name: Text = Field(
        min_length=1, description=f"what the members call the task, in at most {MOST_TEXT} characters"
    )
    dataset: Annotated[str, AfterValidator(_normal)] = Field(
        description=f"a name for the data, small letters and digits with single hyphens between them, {LONGEST} "
        "characters at most: kept noise belongs to it, and runs are counted by it"
    )
    dimension: int = Field(
        ge=1, le=MOST_NUMBERS, description=f"how many numbers a state has, at most {MOST_NUMBERS:,}"
    )
    objectives: Annotated[str, Field(max_length=MOST_TEXT), AfterValidator(_objectives)] = Field(
        "any",
        description=f"the class that every member's objective is of, on which theorems rest: {FORMS}",
    )
    dtype: Literal["float64", "float32"] = Field("float64", description="'float64' or 'float32'")
    seed: int = Field(
        0, ge=0, le=LAST_SEED, description="a whole number below 2^63: the public start is drawn from it"
    )


REACH = 1e6
FARTHEST = 1e30
"""Numbers up to here can be squared and added up, in as many dimensions as a plan may have."""
PUBLIC = "public"
"""In place of an earlier run: the start that the task draws from the public seed."""


MOST_MEANS = 100
UNITS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}
"""Of a time, in seconds."""
LATER = ("means", "drop_after")
"""Keys that plans did not always have."""


class PlanRunSection(Section):
    """How long, and from where."""

    rounds: int = Field(
        ge=1, le=MOST_ROUNDS, description=f"a whole number of rounds, at least 1 and at most {MOST_ROUNDS:,}"
    )
    local_steps: int = Field(
        1,
        ge=1,
        le=MOST_LOCAL_STEPS,
        description=f"gradient steps between two exchanges, at least 1 and at most {MOST_LOCAL_STEPS:,}",
    )
    start: str = Field(
        PUBLIC,
        pattern=rf"^({PUBLIC}|[0-9a-f]{{64}})$",
        description="'public', or the hash of the run whose published states are gone on from",
    )
    reach: float = Field(
        REACH,
        gt=0,
        le=FARTHEST,
        description=f"how far from zero a number of a word may be, more than 0 and at most {FARTHEST:g}",
    )
    verifiable: bool = Field(
        False,
        description="true if members keep their noise keys and steps, to disclose them for a verification",
    )
    means: int = Field(
        0,
        ge=0,
        le=MOST_MEANS,
        description="how often in the run members add up their states under masks, to tell whether all of them have "
        f"converged, at most {MOST_MEANS}",
    )
    drop_after: str = Field(
        "",
        pattern=rf"^([1-9][0-9]{{0,5}}({'|'.join(UNITS)}))?$",
        description="how long a member may be silent before it is dropped without an operator, such as '24h' (s, min, "
        "h or d); empty for as long as operators like",
    )
    id: str = Field(
        pattern="^[0-9a-f]{16}$",
        description="sixteen random hexadecimal digits: a plan that says the same is still another plan",
    )

    @property
    def drop_seconds(self) -> float:
        """For how long a member may be silent before it is dropped by rule; for ever if nothing is said."""
        unit = self.drop_after.lstrip("0123456789")
        return float(self.drop_after.removesuffix(unit)) * UNITS[unit] if unit else math.inf

    def table(self) -> dict[str, Any]:
        """As plain values. What came later is left out where nothing is said of it: such a plan has the hash that it
        always had."""
        return {key: value for key, value in self.model_dump().items() if key not in LATER or value}


class PlanNetworkSection(Section):
    """Who talks to whom."""

    topology: Text = Field(description=f"what the network is called, in at most {MOST_TEXT} characters")
    links: list[list[Name]] = Field(description="a list of [who dials, who is dialled]")
    weights: list[list[float]] = Field(description="a matrix as a list of rows")


MIN_SD = 0.1
"""Of a gradient's size: nobody's may be known better than to ten per cent, unless a plan says otherwise."""


class AuditSection(Section):
    """What the plan was audited against."""

    colluders: int = Field(
        ge=1,
        le=MOST_MEMBERS,
        description=f"how many members may collude, at least 1 and at most {MOST_MEMBERS:,}",
    )
    gradient_size: float = Field(
        SUPPOSED,
        gt=0,
        description="a positive number: how large a typical gradient is, the root mean square of its coordinates",
    )
    min_sd: float = Field(
        MIN_SD,
        ge=0,
        description="the least standard deviation with which a gradient may be known, as a share of gradient_size",
    )
    unsafe: bool = Field(False, description="true if the members accept what the audit refuses")

    @property
    def least(self) -> float:
        """The least ± with which a gradient may be known, per coordinate."""
        return self.min_sd * self.gradient_size


class CertificateSection(Section):
    """The ε that the plan promises, and what for; anybody who signs works it out again."""

    protect: Literal["transfer", "record", "member"] = Field(
        description="'transfer', 'record' or 'member': what nobody may tell"
    )
    epsilon: float = Field(gt=0, description="a positive number: the ε that is promised")
    delta: float = Field(gt=0, lt=1, description="a number between 0 and 1: how often the promise may fail")
    sensitivity: float = Field(
        gt=0, description="a positive number: how far what is protected can move what noise is added to"
    )
    columns: list[Annotated[float, Field(ge=0)]] | None = Field(
        None,
        max_length=MOST_NUMBERS,
        description="how far from zero each column of a record may be, zero or more",
    )
    target: float | None = Field(None, ge=0, description="how far from zero a record's target may be")
    sigma: (
        Annotated[float, Field(ge=0)] | Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1)]
    ) = Field(
        description="the deviation of noise between two neighbours, as planned: a number, or a list of one by link"
    )
    own: float = Field(ge=0, description="a number: that of noise of a member's own, as planned")
    mu: float = Field(gt=0, description="a positive number: the μ that this noise gives")
    rate: float | None = Field(
        None, gt=0, lt=1, description="a number: how likely a record is to take part in a round, in secret"
    )
    kappa: float | None = Field(
        None, gt=0, description="a positive number: the squared μ of one look at a record of unit weight"
    )

    @property
    def hidden(self) -> str:
        """What is hidden, as the subject of a sentence."""
        size = f"{self.sensitivity:.6g}"
        return {
            "transfer": f"what moves from one member to another, of norm {size} at most,",
            "record": f"one record replaced by another, which moves its member's part by {size} at most,",
            "member": f"all that one member does, which moves each round's sum by {size} at most,",
        }[self.protect]


@dataclass(frozen=True)
class PlanKind:
    """What depends on the kind of a plan alone."""

    unit: str
    """What a run is counted in."""
    counted_ahead: bool
    """Whether it is known beforehand how many there are."""
    brings: str
    """The option with which a member brings its part."""
    digests: bool
    """Whether a task gives a digest of its data, by which they are known again."""
    promising: str
    """What to do for a plan that promises no ε."""
    rows: str
    """What a member signs with, so that its rows are bound."""


GRADIENTS = PlanKind(
    "rounds",
    counted_ahead=True,
    brings="--task FILE.py:NAME",
    digests=True,
    promising="drawn up with --epsilon",
    rows="--task FILE.py:NAME, of a task that gives a digest of its data,",
)
SUMS = PlanKind(
    "sums",
    counted_ahead=False,
    brings="--data TABLE",
    digests=False,
    promising="given a section [privacy]",
    rows="--data TABLE",
)


SECTIONS = {**ALGORITHM_SECTIONS, Totals.name: algorithm_section(Totals)}
"""What members may run: every algorithm, and a study."""


def read_planned_algorithm(table: Mapping[str, Any], own: OwnCode = NO_CODE) -> AlgorithmSection:
    """The section [algorithm] of a plan; an algorithm that is not hocket's is taken from `own`."""
    if is_own(table.get("name")):
        return own.read(table)
    if own.named is not None:
        raise BadPlan(
            f"the plan runs {shown(table.get('name'))}, and not {own.named}; leave --algorithm away"
        )
    return named_algorithm(SECTIONS, table)


def read_feasible(table: Mapping[str, Any]) -> FeasibleSection:
    """The section [feasible]."""
    return check(choose(SETS, "kind", "feasible", table), "feasible", table)
