"""The study: what is asked, of which columns, and what may be shown; one TOML file that all members read and sign.

    [study]
    title = "Heart disease in four hospitals"
    formula = "disease ~ age + sex + C(cp)"
    family = "binomial"            linear, binomial, poisson, gamma or cox

    [columns.disease]              see `columns`
    [penalty]                      ridge and lasso
    [describe]                     means, quantiles, levels, tables
    [survival]                     Kaplan-Meier curves and the log-rank test
    [evaluate]                     ROC and calibration, on rows that were held out
    [disclosure]                   what is too little to be shown
    [privacy]                      an ε and a δ: noise that hides any one row

Nothing in it is code: see `formula` and `condition`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from hocket.config.section import Section, check
from hocket.errors import BadConfig, BadStudy, nearest
from hocket.files import read_text, toml_tables
from hocket.studies.spec.columns import ColumnSection
from hocket.studies.spec.condition import Condition, parse_condition
from hocket.studies.spec.formula import Formula, parse_formula

LARGEST = 1_000_000
"""Bytes of a study."""
MOST_ROWS = 1_000_000_000
"""Rows that any rule may ask for."""
FEWEST_DIFFERENT = 5
"""Rows by which two sets of rows differ at least, unless a study says otherwise."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
LINKS = {
    "linear": ("identity",),
    "binomial": ("logit",),
    "poisson": ("log",),
    "gamma": ("log", "inverse"),
    "cox": ("log",),
}
"""What each family's mean may be linear in; the first by default."""


class QuestionSection(Section):
    """What is asked."""

    title: str = Field(description="text")
    question: str = Field(default="", description="text: what the study is to find out")
    formula: str = Field(default="", description="text, such as 'disease ~ age + C(cp)'")
    family: Literal["linear", "binomial", "poisson", "gamma", "cox"] = Field(
        default="linear", description="'linear', 'binomial', 'poisson', 'gamma' or 'cox'"
    )
    link: Literal["", "identity", "logit", "log", "inverse"] = Field(
        default="", description="'log' or 'inverse'"
    )
    offset: str = Field(default="", description="the name of a column, whose coefficient is 1")
    weights: str = Field(default="", description="the name of a column: how much a row counts")
    site: bool = Field(
        default=False,
        description="false: an intercept for each member would tell its own counts, and is refused",
    )
    errors: Literal["model", "robust"] = Field(default="model", description="'model' or 'robust'")
    ties: Literal["efron", "breslow"] = Field(default="efron", description="'efron' or 'breslow'")
    confidence: float = Field(default=0.95, gt=0.5, lt=1, description="a share, such as 0.95")
    where: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="a list of conditions, such as ['age >= 18']: other rows are left out",
    )


class PenaltySection(Section):
    """What is added to the mean loss: lasso · Σ|β| + ridge/2 · Σβ², but for intercepts."""

    ridge: float = Field(default=0.0, ge=0, description="a number, 0 or more")
    lasso: float = Field(default=0.0, ge=0, description="a number, 0 or more")
    standardised: bool = Field(
        default=True, description="true or false: whether β are those of columns scaled to sd 1"
    )

    @property
    def some(self) -> bool:
        """Whether there is any."""
        return self.ridge + self.lasso > 0


class DescribeSection(Section):
    """Which columns are described."""

    columns: tuple[str, ...] = Field(
        default=(), strict=False, description="a list of columns; all by default"
    )
    rows: Literal["all", "analysed"] = Field(
        default="all", description="'all', or 'analysed': only such as the model and the curves use"
    )
    quantiles: tuple[float, ...] = Field(
        default=(0.25, 0.5, 0.75), strict=False, description="a list of shares between 0 and 1"
    )
    cross: tuple[Annotated[tuple[str, str], Field(strict=False)], ...] = Field(
        default=(), strict=False, description="a list of pairs of columns"
    )
    histograms: int = Field(
        default=0, ge=0, le=100, description="bars of a histogram over each column's range; 0 for none"
    )


class SurvivalSection(Section):
    """Survival curves over a grid of times that is declared, not taken from data."""

    time: str = Field(description="the name of a column")
    event: str = Field(description="the name of a column of 0 and 1")
    grid: tuple[float, ...] = Field(strict=False, description="a list of times that rise")
    by: str = Field(default="", description="the name of a column of levels, for a curve each")

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that it uses."""
        return tuple(filter(None, (self.time, self.event, self.by)))


class EvaluateSection(Section):
    """How well the model tells on rows that it has not seen."""

    held_out: float = Field(default=0.2, gt=0, lt=1, description="the share of rows that is held out")
    bins: int = Field(default=50, ge=5, le=1000, description="into how many bins predictions are counted")
    threshold: float = Field(
        default=0.5, gt=0, lt=1, description="from which prediction on a row counts as a yes"
    )


class DisclosureSection(Section):
    """What is too little to be shown; every member holds its own rows against it."""

    fewest_rows: int = Field(default=10, ge=1, le=MOST_ROWS, description="rows that a member must contribute")
    smallest_cell: int = Field(
        default=5, ge=1, le=MOST_ROWS, description="rows below which a count is not shown"
    )
    smallest_own_cell: int = Field(
        default=1,
        ge=1,
        le=MOST_ROWS,
        description="rows of a level below which a member stays out, whatever others have; 1 leaves it to joint counts",
    )
    parameters_per_row: float = Field(
        default=0.33, gt=0, le=1, description="a share: parameters over joint rows"
    )
    fewest_different: int = Field(
        default=FEWEST_DIFFERENT,
        ge=1,
        le=MOST_ROWS,
        description="rows by which two sets of rows must differ, if both are analysed",
    )


class PrivacySection(Section):
    """What is promised of any one row, whatever else is known: each member adds its share of noise to every sum."""

    epsilon: float = Field(gt=0, description="a number above 0, such as 1.0")
    delta: float = Field(gt=0, lt=1, description="a small probability, such as 1e-6")


SECTIONS: dict[str, type[Section]] = {
    "study": QuestionSection,
    "penalty": PenaltySection,
    "describe": DescribeSection,
    "survival": SurvivalSection,
    "evaluate": EvaluateSection,
    "disclosure": DisclosureSection,
    "privacy": PrivacySection,
}


@dataclass(frozen=True)
class Study:
    """A checked study."""

    question: QuestionSection
    columns: Mapping[str, ColumnSection] = field(default_factory=dict)
    penalty: PenaltySection = field(default_factory=PenaltySection)
    describe: DescribeSection | None = None
    survival: SurvivalSection | None = None
    evaluate: EvaluateSection | None = None
    disclosure: DisclosureSection = field(default_factory=DisclosureSection)
    privacy: PrivacySection | None = None

    @cached_property
    def formula(self) -> Formula | None:
        """What is explained by what; None where nothing is."""
        return parse_formula(self.question.formula) if self.question.formula.strip() else None

    @property
    def conditions(self) -> list[Condition]:
        """Which rows are analysed."""
        return [parse_condition(text) for text in self.question.where]

    @property
    def link(self) -> str:
        """What of the mean is linear."""
        return self.question.link or LINKS[self.question.family][0]

    @property
    def described(self) -> tuple[str, ...]:
        """Columns that are described; all by default."""
        part = self.describe
        return () if part is None else part.columns or tuple(self.columns)

    @property
    def modelled(self) -> tuple[str, ...]:
        """Columns that the model uses."""
        formula = () if self.formula is None else self.formula.columns
        also = (self.question.offset, self.question.weights)
        return tuple(dict.fromkeys([*formula, *(name for name in also if name)]))

    @property
    def used(self) -> tuple[str, ...]:
        """Every column that any part uses."""
        names = [*self.modelled, *(condition.column for condition in self.conditions)]
        if self.survival is not None:
            names += self.survival.columns
        if self.describe is not None:
            names += [*self.described, *(one for pair in self.describe.cross for one in pair)]
        return tuple(dict.fromkeys(names))

    @property
    def sources(self) -> dict[str, str]:
        """The column of members' tables that each column of the study reads."""
        return {name: self.source(name) for name in (*self.used, *self.columns)}

    def source(self, name: str) -> str:
        """The column of members' tables that a column of the study reads."""
        return self.column(name).source or name

    def column(self, name: str) -> ColumnSection:
        """What the study says of a column; without a section it is a number of that name."""
        return self.columns.get(name, NUMBER)

    @property
    def parts(self) -> dict[str, Section]:
        """Its sections, but for columns."""
        parts = {name: getattr(self, "question" if name == "study" else name) for name in SECTIONS}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def tables(self) -> dict[str, Any]:
        """The study as plain tables, every default written out."""
        tables = {name: part.model_dump(mode="json") for name, part in self.parts.items()}
        columns = {
            name: one.model_dump(mode="json", by_alias=True) for name, one in sorted(self.columns.items())
        }
        return tables | {"columns": columns}

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that it says, whatever its layout: two members have the same study if they have this."""
        return hashlib.sha256(json.dumps(self.tables, sort_keys=True).encode()).hexdigest()


NUMBER = ColumnSection()


def read_study(path: Path) -> Study:
    """Read and check a study; every error names the file, the section and the key."""
    try:
        tables = toml_tables(read_text(path, LARGEST))
    except FileNotFoundError:
        raise BadStudy(f"there is no file {path}; name a study") from None
    except BadConfig as error:
        raise BadStudy(f"{path}: {error}") from None
    try:
        return parse_study(tables)
    except BadStudy as error:
        raise BadStudy("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def parse_study(tables: Mapping[str, Any]) -> Study:
    """Check a study that is already in tables."""
    known = [*SECTIONS, "columns.NAME"]
    complaints = [
        f"there is no section [{name}]{nearest(name, known)}; the sections are {', '.join(known)}"
        for name in tables
        if name not in SECTIONS and name != "columns"
    ]

    def read(model: type[Section], name: str, table: Any) -> Any:
        try:
            return check(model, name, table)
        except BadConfig as error:
            complaints.extend(str(error).splitlines())

    if "study" not in tables:
        complaints.append(
            "the section [study] is missing; it holds the title, and the formula or a [describe]"
        )
    parts = {name: read(model, name, tables[name]) for name, model in SECTIONS.items() if name in tables}
    columns: dict[str, Any] = {}
    declared = tables.get("columns", {})
    for name, table in declared.items() if isinstance(declared, Mapping) else ():
        if not NAME.fullmatch(name):
            complaints.append(
                f"[columns.{name[:40]}] is no name that a formula can use: begin with a letter, go on with letters, "
                f'digits and _, and say from = "{name[:40]}"'
            )
        columns[name] = read(ColumnSection, f"columns.{name}", table)
    if complaints:
        raise BadStudy("\n".join(complaints))
    from hocket.studies.spec.contradictions import contradictions

    study = Study(parts.pop("study"), columns, **parts)
    if complaints := contradictions(study):
        raise BadStudy("\n".join(complaints))
    return study
