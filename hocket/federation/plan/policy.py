"""A member's local policy: what it asks of every plan and every study, in a file that nobody else can change.

It lies in the member's home. `sign` refuses what is below it, and so do each run that begins and the judgement of what
remains when members leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from hocket.config.section import Section, check
from hocket.errors import BadConfig, UnsafePlan, nearest
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import SECTIONS
from hocket.federation.state.home import Home
from hocket.files import read_text, toml_tables
from hocket.privacy.wording import judged, share
from hocket.studies.spec.column_names import looks
from hocket.studies.spec.study import MOST_ROWS, Study

if TYPE_CHECKING:
    from hocket.federation.audit.study_audit import PlanVerdict

SAME = 1e-6
"""Two audits of the same runs may differ by so much, on another machine."""
LONGEST = 100_000
"""Bytes of a policy's file."""
OLD = "floor.toml"
"""What the file was called in version 0.2."""
MORE_NOISE = "have more noise, persistent noise, fewer rounds or more links planned"


class Policy(Section):
    """The section [policy]; what is left out is not asked for, save that unsafe plans are refused."""

    colluders: int | None = Field(
        None, ge=1, description="a whole number: the least that a plan must be audited against"
    )
    min_sd: float | None = Field(
        None,
        gt=0,
        description="a positive number: the least ± of any gradient, as a share of a gradient's size",
    )
    gradient: float | None = Field(
        None,
        gt=0,
        description="a positive number: the size of your own typical gradient, where it is not the plan's",
    )
    epsilon: float | None = Field(
        None,
        gt=0,
        description="a positive number: the largest ε of all runs on your data together, at the plan's δ",
    )
    algorithms: list[str] | None = Field(
        None, min_length=1, description='a list of algorithms that you allow, such as ["rss-nb"]'
    )
    allow_unsafe: bool = Field(False, description="true if you sign plans that say unsafe = true")
    fewest_rows: int | None = Field(
        None, ge=1, le=MOST_ROWS, description="a whole number: the least fewest_rows of a study"
    )
    smallest_cell: int | None = Field(
        None, ge=1, le=MOST_ROWS, description="a whole number: the least smallest_cell of a study"
    )
    fewest_different: int | None = Field(
        None, ge=1, le=MOST_ROWS, description="a whole number: the least fewest_different of a study"
    )
    never_used: list[str] | None = Field(
        None,
        min_length=1,
        description='a list of columns of your table that no study may read, such as ["hiv"]',
    )

    def refuses(self, sd: float, size: float) -> str | None:
        """Why a gradient that is known to ±sd is known too well, to go on a sentence with; None if it is not.
        `size` is a gradient's as the plan has it, which this member's own takes the place of.
        """
        size = size if self.gradient is None else self.gradient
        if self.min_sd is None or sd >= self.min_sd * size:
            return None
        whose = "the plan's" if self.gradient is None else "your"
        told = "" if sd == 0 else f", {share(sd, size)} of {whose} gradient of {size:g},"
        return f"{told} where you ask for min_sd = {self.min_sd:g}"

    def refuses_study(self, study: Study) -> Iterator[str]:
        """Each reason for which a study is below this policy, with what cures it."""
        for name in ("fewest_rows", "smallest_cell", "fewest_different"):
            least, given = getattr(self, name), getattr(study.disclosure, name)
            if least is not None and given < least:
                yield (
                    f"the study says [disclosure] {name} = {given} where you ask for {name} = {least}; have it say "
                    f"{least} or more"
                )
        never = {looks(name): name for name in self.never_used or ()}
        for name, source in study.sources.items():
            used = never.get(looks(source)) or never.get(looks(name))
            if used is not None:
                called = "" if name == source else f", which it calls {name}"
                yield (
                    f"the study reads your column {source}{called}, where you have never_used = {used}; have it "
                    "left out"
                )

    def unmatched(self, columns: Iterable[str]) -> Iterator[str]:
        """Names of `never_used` that guard nothing, as the member's table has no such column."""
        there = {looks(column) for column in columns}
        for name in self.never_used or ():
            if looks(name) not in there:
                yield f"never_used = {name} matches no column of this table"

    @property
    def words(self) -> str:
        """All that is asked for, on one line."""
        of = "" if self.gradient is None else f" of {self.gradient:g}"
        rules = ("fewest_rows", "smallest_cell", "fewest_different")
        asked = [
            None if self.colluders is None else f"audited against {self.colluders} colluders or more",
            None
            if self.min_sd is None
            else f"no gradient known better than to {share(self.min_sd, 1.0)}{of}",
            None if self.epsilon is None else f"ε = {self.epsilon:g} at most, over all runs",
            None if self.algorithms is None else f"one of {', '.join(self.algorithms)}",
            *(f"{name} of {least} or more" for name in rules if (least := getattr(self, name)) is not None),
            None if self.never_used is None else f"never the column {', '.join(self.never_used)}",
            None if self.allow_unsafe else "no unsafe plan",
        ]
        return ", ".join(part for part in asked if part is not None) or "nothing is asked for"


NONE = check(Policy, "policy", {"allow_unsafe": True})
"""Of a member that has written no file: its operator is asked about an unsafe plan, and nothing else is checked."""


def has_policy(home: Home) -> bool:
    """Whether this member has written a policy, be it one under the old name, which `read_policy` refuses."""
    return home.policy.exists() or (home.folder / OLD).exists()


def read_policy(home: Home) -> Policy:
    """The policy in a member's home; where there is no file, nothing is asked for."""
    path, old = home.policy, home.folder / OLD
    if old.exists():
        raise BadConfig(
            f"{old} is not read any more: the file is called {path.name} now. Rename it, and its section [floor] to "
            "[policy]; until then nothing is signed or run"
        )
    try:
        tables = toml_tables(read_text(path, LONGEST))
    except FileNotFoundError:
        return NONE
    except OSError as error:
        raise BadConfig(
            f"{path} cannot be read: {error.strerror}; change that, it guards this member"
        ) from error
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}; repair it, it guards this member") from None
    if set(tables) != {"policy"}:
        raise BadConfig(f"{path} is no policy: it needs the section [policy] and nothing else")
    try:
        policy = check(Policy, "policy", tables["policy"])
        _check_whole(policy)
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}") from None
    return policy


def _check_whole(policy: Policy) -> None:
    if policy.gradient is not None and policy.min_sd is None:
        raise BadConfig("[policy] gradient is what min_sd is a share of; give min_sd as well, or neither")
    for name in policy.algorithms or ():
        if name not in SECTIONS:
            raise BadConfig(
                f"[policy] algorithms has {name!r}{nearest(name, SECTIONS)}; choose from {', '.join(SECTIONS)}"
            )


def check_policy(
    policy: Policy, plan: FederationPlan, found: PlanVerdict, *, file: Path = Path("policy.toml")
) -> None:
    """Refuse a plan that is below this member's policy; `file` is where the policy was read from."""
    below = [*_below(policy, plan, found)]
    if below:
        raise UnsafePlan(
            "\n".join(
                [f"below your policy: {line}" for line in below]
                + [f"{file} sets this policy; have the plan changed, or change the policy there"]
            )
        )


def _below(policy: Policy, plan: FederationPlan, found: PlanVerdict) -> Iterator[str]:
    from hocket.federation.audit.study_audit import study_of

    name, f = plan.algorithm_section.name, plan.audit.colluders
    if policy.colluders is not None and f < policy.colluders:
        yield f"the plan is audited against {f} where you ask for colluders = {policy.colluders}; have it audited so"
    if policy.algorithms is not None and name not in policy.algorithms:
        yield f"the plan runs {name} where you allow algorithms = {', '.join(policy.algorithms)}; have one of them run"
    if plan.audit.unsafe and not policy.allow_unsafe:
        yield "the plan says unsafe = true where you have allow_unsafe = false; have it drawn up without --unsafe"
    if plan.study is not None:
        yield from policy.refuses_study(study_of(plan))
    if policy.epsilon is not None:
        yield from _promises_less(policy.epsilon, found)
    too_little = policy.refuses(found.least, plan.audit.gradient_size)
    if too_little is not None:
        yield f"{_known(found)}{too_little}; {MORE_NOISE}"


def _promises_less(most: float, found: PlanVerdict) -> Iterator[str]:
    account = found.account
    if account is None:
        fix = found.plan.kind.promising
        yield f"the plan promises no ε where you ask for epsilon = {most:g}; have it {fix}"
    elif not account.epsilon <= most * (1 + SAME):
        why = "" if math.isfinite(account.mu) else f" ({account.words[-1]})"
        yield (
            f"over all runs on these data the plan gives ε = {account.epsilon:.4g} where you ask for epsilon = "
            f"{most:g}{why}; have a smaller ε planned"
        )


def _known(found: PlanVerdict) -> str:
    runs = "" if found.runs == 1 else f" after {found.runs} runs on these data"
    return f"to colluders a gradient would be {judged(found.least, found.plan.audit.gradient_size)}{runs}"
