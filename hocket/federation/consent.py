"""What a member asks of every plan, its floor, and what it has agreed to, looked at once more when its run begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from hocket.config.files import loads, read_text
from hocket.config.section import Section, check
from hocket.errors import BadConfig, UnsafePlan, nearest
from hocket.federation.earlier_runs import earlier_runs
from hocket.federation.home import Home
from hocket.federation.ledger import Served
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_sections import SECTIONS
from hocket.federation.plan_verdict import PlanVerdict, judge_plan
from hocket.federation.row_digests import NONE as NO_ROWS
from hocket.federation.row_digests import Digests
from hocket.federation.run_folder import RunFolder, write_json
from hocket.privacy.wording import counted, judged, share


def keep_consent(plan: FederationPlan, folder: RunFolder, found: PlanVerdict) -> None:
    """Put down what a member signed: the plan, as the run of which number on its data, and what it was told."""
    folder.make()
    write_json(folder.audit, {"hash": plan.hash.hex(), **found.to_json()})


def check_consent(
    plan: FederationPlan,
    home: Home,
    folder: RunFolder,
    before: Sequence[Served],
    *,
    data: str = "",
    rows: Digests = NO_ROWS,
) -> PlanVerdict | None:
    """Refuse to begin what this member has not signed: this plan, after these runs on its data and no others.
    What runs tell together is worked out once more, and a floor of its own is asked, as it is now.

    Between the signature and the run others may have begun on these data, and then the audit that was signed is of
    another plan than the one that would be run. Returns the audit, if there was a reason for another one.
    """
    runs = len(before) + 1
    signed = folder.consent
    if signed is None:
        raise UnsafePlan(
            f"nothing in {home.folder} says that this plan was signed here, or {folder.audit} is damaged; read it and "
            "sign it here: hocket peer sign PLAN"
        )
    plan_hash, signed_runs = signed
    if plan_hash != plan.hash.hex():
        raise UnsafePlan("this member signed another version of this plan; read this one, and sign it again")
    if signed_runs < runs:
        raise UnsafePlan(
            f"this member signed the plan as run {signed_runs} on the data {plan.task.dataset}, and it would begin as "
            f"run {runs}: {counted(runs - 1, 'run')} on these data {'was' if runs == 2 else 'were'} begun before. "
            "Fresh noise averages out over runs; sign it again with the runs as they are now: hocket peer sign PLAN"
        )
    earlier = earlier_runs(home, plan, before, data=data, rows=rows)
    missed = [
        one
        for one in earlier
        if folder.signed_after is not None and one.served.plan not in folder.signed_after
    ]
    elsewhere = dict.fromkeys(one.dataset for one in missed if one.dataset)
    if elsewhere:
        raise UnsafePlan(
            f"these data, or some of their rows, have served {counted(len(missed), 'run')} as "
            f"{' and '.join(elsewhere)}, which this member did not know when it signed: what runs tell adds up, under "
            "any name; sign it again with the data at hand: hocket peer sign PLAN --task FILE.py:NAME"
        )
    others = [one.served.plan for one in missed]
    if others:
        raise UnsafePlan(
            f"this member signed the plan after other runs on the data {plan.task.dataset} than its ledger has now: "
            f"{', '.join(one[:16] for one in others)} was not among them; sign it again: hocket peer sign PLAN"
        )
    if not earlier and not home.floor.exists():
        return None
    found = judge_plan(plan, earlier=earlier)
    _check_still_true(found, folder)
    check_floor(read_floor(home), plan, found, file=home.floor)
    return found


def _check_still_true(found: PlanVerdict, folder: RunFolder) -> None:
    """Refuse where a gradient would be known better than this member was told when it signed."""
    signed = folder.signed_least
    if signed is not None and found.least < signed * (1 - SAME):
        size = found.plan.audit.gradient_size
        raise UnsafePlan(
            f"this member signed that the gradient known best would be {judged(signed, size)}; with the runs that its "
            f"ledger has now it would be {judged(found.least, size)}; sign it again: hocket peer sign PLAN"
        )


SAME = 1e-6
"""Two audits of the same runs may differ by so much, on another machine."""


LONGEST = 100_000
"""Bytes of a floor's file."""


class Floor(Section):
    """The section [floor]; what is left out is not asked for, save that unsafe plans are refused.

    It lies in the member's home, so that neither the plan nor whoever drew it up can lower it. Signing looks at it, and
    so does every run that begins, and whoever judges what remains when members leave.
    """

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
        description="a positive number: the largest ε of all runs on the same data together, at the plan's δ",
    )
    algorithms: list[str] | None = Field(
        None, min_length=1, description='a list of algorithms that you allow, such as ["rss-nb"]'
    )
    allow_unsafe: bool = Field(False, description="true if you sign plans that say unsafe = true")

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

    @property
    def words(self) -> str:
        """All that is asked for, on one line."""
        of = "" if self.gradient is None else f" of {self.gradient:g}"
        asked = [
            None if self.colluders is None else f"audited against {self.colluders} colluders or more",
            None
            if self.min_sd is None
            else f"no gradient known better than to {share(self.min_sd, 1.0)}{of}",
            None if self.epsilon is None else f"ε = {self.epsilon:g} at most, over all runs",
            None if self.algorithms is None else f"one of {', '.join(self.algorithms)}",
            None if self.allow_unsafe else "no unsafe plan",
        ]
        return ", ".join(part for part in asked if part is not None) or "nothing is asked for"


NONE = check(Floor, "floor", {"allow_unsafe": True})
"""Of a member that has written no file: its operator is asked about an unsafe plan, and nothing else is checked."""


def read_floor(home: Home) -> Floor:
    """The floor in a member's home; where there is no file, nothing is asked for."""
    path = home.floor
    try:
        tables = loads(read_text(path, LONGEST))
    except FileNotFoundError:
        return NONE
    except OSError as error:
        raise BadConfig(
            f"{path} cannot be read: {error.strerror}; change that, it guards this member"
        ) from error
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}; mend it, it guards this member") from None
    if set(tables) != {"floor"}:
        raise BadConfig(f"{path} is no floor: it needs the section [floor] and nothing else")
    try:
        floor = check(Floor, "floor", tables["floor"])
        _check_whole(floor)
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}") from None
    return floor


def _check_whole(floor: Floor) -> None:
    if floor.gradient is not None and floor.min_sd is None:
        raise BadConfig("[floor] gradient is what min_sd is a share of; give min_sd as well, or neither")
    for name in floor.algorithms or ():
        if name not in SECTIONS:
            raise BadConfig(
                f"[floor] algorithms has {name!r}{nearest(name, SECTIONS)}; choose from {', '.join(SECTIONS)}"
            )


def check_floor(
    floor: Floor, plan: FederationPlan, found: PlanVerdict, *, file: Path = Path("floor.toml")
) -> None:
    """Refuse a plan that falls below this member's floor; `file` is where the floor was read from."""
    below = [*_below(floor, plan, found)]
    if below:
        raise UnsafePlan(
            "\n".join(
                [f"below your floor: {line}" for line in below]
                + [f"{file} sets this floor; have the plan mended, or change the floor there"]
            )
        )


def _below(floor: Floor, plan: FederationPlan, found: PlanVerdict) -> Iterator[str]:
    name, f = plan.algorithm_section.name, plan.audit.colluders
    if floor.colluders is not None and f < floor.colluders:
        yield f"the plan is audited against {f} where you ask for colluders = {floor.colluders}; have it audited so"
    if floor.algorithms is not None and name not in floor.algorithms:
        yield f"the plan runs {name} where you allow algorithms = {', '.join(floor.algorithms)}; have one of them run"
    if plan.audit.unsafe and not floor.allow_unsafe:
        yield "the plan says unsafe = true where you have allow_unsafe = false; have it drawn up without --unsafe"
    if floor.epsilon is not None:
        yield from _promises_less(floor.epsilon, found)
    too_little = floor.refuses(found.least, plan.audit.gradient_size)
    if too_little is not None:
        yield f"{_known(found)}{too_little}; {MORE_NOISE}"


def _promises_less(most: float, found: PlanVerdict) -> Iterator[str]:
    if found.certificate is None:
        yield f"the plan promises no ε where you ask for epsilon = {most:g}; have it drawn up with --epsilon"
    elif not found.certificate.composed_epsilon <= most * (1 + SAME):
        promised = found.certificate.composed_epsilon
        yield (
            f"over all runs on these data the plan gives ε = {promised:.4g} where you ask for epsilon = {most:g}; have "
            "a smaller --epsilon planned"
        )


MORE_NOISE = "have more noise, an anchor, fewer rounds or more links planned"


def _known(found: PlanVerdict) -> str:
    runs = "" if found.runs == 1 else f" after {found.runs} runs on these data"
    return f"to colluders a gradient would be {judged(found.least, found.plan.audit.gradient_size)}{runs}"
