"""What the commands of a member have in common: its identity, its plan and task, and who is in it.

Heavy modules are imported where they are used, so that `hocket --help` is quick.
"""

from __future__ import annotations

import getpass
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from hocket.cli.answer import aside
from hocket.cli.options import AS_IT_IS, Data, HomeFolder, OwnAlgorithm, TableOptions, Task
from hocket.errors import BadConfig, BadIdentity
from hocket.federation.state.home import Home

if TYPE_CHECKING:
    from hocket.federation.audit.study_audit import PlanVerdict
    from hocket.federation.membership.session import Session
    from hocket.federation.monitoring.reachability import Reaching
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.runtime.member import Member
    from hocket.federation.state.earlier_runs import EarlierRun
    from hocket.federation.state.run_folder import RunFolder
    from hocket.federation.workloads.task import Task as PlannedTask
    from hocket.links.keys.identity import Identity

SOON = 2.0
"""Seconds of waiting that need no note."""
VARIABLE = "HOCKET_PASSPHRASE"
EVERY = 15.0
"""Seconds after which a member writes again for whom it waits."""


def open_identity(folder: Path) -> Identity:
    """The identity in a folder; its passphrase is $HOCKET_PASSPHRASE or a service's credential, or is asked for."""
    from hocket.links.keys.identity import Identity, is_under_passphrase

    if not folder.exists():
        Home(folder.parent).settle_renewal()
    if not is_under_passphrase(folder):
        return Identity.load(folder)
    given = os.environ.get(VARIABLE) or _credential()
    return Identity.load(folder, given or getpass.getpass("Passphrase: "))


def _credential() -> str:
    """The passphrase that a service manager hands over to this process alone; empty if there is none."""
    from hocket.federation.monitoring.service_unit import CREDENTIAL

    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    path = None if folder is None else Path(folder) / CREDENTIAL
    return "" if path is None or not path.is_file() else path.read_text(encoding="utf-8").rstrip("\n")


def new_passphrase() -> str:
    """A passphrase for a new identity, from $HOCKET_PASSPHRASE or typed twice."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    first = getpass.getpass("Passphrase: ")
    if first != getpass.getpass("Once more: "):
        raise BadIdentity("the two passphrases differ; try again")
    return first


@Parameter(name="*")
@dataclass(frozen=True)
class MemberOptions(TableOptions):
    """Who takes part, what it brings, and where it listens."""

    task: Task = None
    data: Data = None
    algorithm: OwnAlgorithm = None
    listen: str | None = None
    """host:port to listen at, if that is not the card's address."""
    home: HomeFolder = None


USUAL = MemberOptions()
"""Nothing is given: a plan asks for a task or a table."""


def member_of(plan: Path, asked: MemberOptions, **options: Any) -> Member:
    """The member whose home this is, ready to take part."""
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.runtime.member import Member

    place = Home.at(asked.home)
    agreed = read_plan(plan, place.own_code.naming(asked.algorithm))
    identity = open_identity(place.identity_in(agreed))
    brought = own_task(agreed, identity.name, asked.task, asked.data, asked)
    return Member(agreed, identity, brought, place, listen=asked.listen, **options)


def own_task(
    plan: FederationPlan, name: str, task: str | None, data: Path | None, reading: TableOptions = AS_IT_IS
) -> PlannedTask:
    """What a member brings to a plan: in a study its table, else its task."""
    check_brought(plan, task, data, reading)
    if task is not None:
        return load_task(task)
    assert data is not None
    from hocket.federation.audit.study_audit import study_of
    from hocket.federation.workloads.study import StudyTask
    from hocket.studies.disclosure.promise import Among

    among = Among(len(plan.names), plan.audit.colluders, tuple(plan.names))
    made = StudyTask(study_of(plan), reading.read(data), name, among)
    made.checked  # noqa: B018 - refused now, if at all
    return made


def brings(plan: FederationPlan) -> str:
    """The option with which a member brings its part of a plan."""
    return plan.kind.brings


def still_to_do(plan: FederationPlan, file: Path, *, begun: bool = False) -> str:
    """What comes after a signature."""
    if plan.unsigned:
        return f"Still to sign: {', '.join(plan.unsigned)}"
    if begun:
        return f"Everybody has signed. Next: everybody stops its run, and runs {file} instead"
    return f"Everybody has signed. Next: hocket peer check {file} {brings(plan)}"


def check_brought(
    plan: FederationPlan, task: str | None, data: Path | None, reading: TableOptions = AS_IT_IS
) -> None:
    """Refuse what does not belong to a plan: a study has tables, everything else tasks."""
    if plan.study is None and (given := [*reading.flags()]):
        raise BadConfig(f"{given[0]} is for reading a table, and this plan follows a task; leave it away")
    if plan.study is None and (task is None or data is not None):
        raise BadConfig("this plan follows gradients of a task: give --task FILE.py:NAME, and no --data")
    if plan.study is not None and (data is None or task is not None):
        raise BadConfig("this plan is a study's: give --data with this member's table, and no --task")


def folder_of(
    plan: Path, home: Path | None, *, algorithm: str | None = None
) -> tuple[FederationPlan, RunFolder]:
    """A plan, and where this member runs it."""
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.state.run_folder import RunFolder

    place = Home.at(home)
    agreed = read_plan(plan, place.own_code.naming(algorithm))
    return agreed, RunFolder(place.run(agreed.run_hash))


def load_task(named: str) -> PlannedTask:
    """The task that FILE.py:NAME names."""
    from hocket.config.files import blaming, load_name
    from hocket.federation.workloads.task import Task

    file, _, name = named.rpartition(":")
    if not file:
        raise BadConfig(f"--task {named} names no file; write FILE.py:NAME, such as mine.py:task")
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadConfig(f"--task {named}: there is no file {path}; name it as seen from {Path.cwd()}")
    made = load_name(path, name, kind="task")
    if not isinstance(made, Task) and callable(made):
        with blaming(path):
            made = made()
    if not isinstance(made, Task):
        raise BadConfig(
            f"{name} in {path} gives a {type(made).__name__}; a task has dimension, start(seed) and "
            "gradient(x, k, h, rng), or is made by hocket.federation.GradientTask"
        )
    return made


def members_in_words(plan: FederationPlan) -> Iterator[str]:
    """Every member's agent number, name, fingerprint and address, and whether it has signed."""
    # Not as a table: a fingerprint that is cut short could not be compared.
    width = max(map(len, plan.names))
    for agent, card in enumerate(plan.cards):
        signed = "signed" if card.name in plan.signatures else "not signed"
        yield f"{agent:>2} {card.name:<{width}}  {card.fingerprint}  {card.found_at}, {signed}"
    if after := plan.run.drop_after:
        yield (
            f"A member that is silent for {after} is dropped without operators, if all others agree, are more than "
            "half of all, stay connected, and are still protected as the plan and their policies ask."
        )


def objectives_in_words(plan: FederationPlan) -> str:
    """What each signer of the plan declares of its own objective."""
    if plan.study is not None:
        return "Nothing leaves a member but its part of each secure sum, masked."
    if plan.objectives.kind == "any":
        return (
            "Objectives: any; the plan declares nothing of their form, and no theorem on privacy rests on it."
        )
    return (
        f"Objectives: {plan.objectives.words}; each signer declares that its own is one, with all its records in every "
        "step."
    )


def read_elsewhere_in_words(plan: FederationPlan) -> list[str]:
    """What a study reads from columns of this member's that have other names."""
    if plan.study is None:
        return []
    from hocket.federation.audit.study_audit import study_of
    from hocket.studies.spec.study_in_words import read_elsewhere

    return read_elsewhere(study_of(plan))


def waiting_in_words(why: Mapping[str, str], seconds: float) -> list[str]:
    """For whom a member waits, since when, and why."""
    return [f"Waiting for {name} for {seconds:.0f} s: {reason}" for name, reason in why.items()]


@dataclass
class WaitingNotes:
    """Writes for whom a member waits, and why: soon, and then from time to time."""

    write: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _next: float = -math.inf

    def look(self, session: Session | Reaching) -> None:
        """Write it if it is time."""
        why, now = session.waiting_for(), self.clock()
        if why and now >= self._next:
            # From when it was due, not from when somebody looked: else it would come ever later.
            self._next = EVERY + (self._next if now < self._next + EVERY else now)
            for line in waiting_in_words(why, session.waiting_seconds):
                self.write(line)


def data_in_words(
    plan: FederationPlan, brought: PlannedTask, digest: str, home: Home, *, earlier: bool = False
) -> list[str]:
    """What is known of the data that a member brings: what a study's rows have served, or what no digest can tell."""
    from hocket.federation.plan.policy import read_policy
    from hocket.federation.state.digests import unchecked
    from hocket.federation.workloads.study import StudyTask

    if isinstance(brought, StudyTask):
        return brought.check_releases(home.accounts, read_policy(home), plan.run_hash.hex())
    same = [f"The data are those of earlier runs on {plan.task.dataset}, if any."]
    return unchecked(digest) or same * earlier


def audited(plan: FederationPlan, *, earlier: Sequence[EarlierRun] = ()) -> PlanVerdict:
    """The plan's audit, with a sign of life on standard error while it goes on."""
    from hocket.federation.audit.plan_audit import MOST_SECONDS, audit_seconds
    from hocket.federation.audit.study_audit import judge_plan

    if plan.study is not None:
        return judge_plan(plan, earlier=earlier)
    console, seconds = aside(), audit_seconds(plan, earlier=earlier)
    what = f"Auditing {plan.run.rounds:,} rounds of {len(plan.names)} members"
    if SOON < seconds <= MOST_SECONDS:
        what += f", about {seconds:.0f} s"
        if not console.is_terminal:
            console.print(what)
    with console.status(what):
        return judge_plan(plan, earlier=earlier)


def check_kept(plan: FederationPlan, name: str, home: Home, digest: str, history: Sequence[str]) -> list[str]:
    """Refuse what `run` would because of what is kept for the data; what could not be looked at, in words."""
    from hocket.federation.runtime.noise_keys import check_kept_noise
    from hocket.federation.state.digests import check_same_data
    from hocket.links.keys.lasting_noise import OtherLinks

    dataset = plan.task.dataset
    check_same_data(dataset, digest, [one.data for one in home.accounts.runs(dataset)])
    try:
        seen = check_kept_noise(plan, name, home, digest)
    except OtherLinks as error:
        raise OtherLinks("\n".join([str(error), *history])) from None
    if seen:
        return []
    return [f"Noise that is kept for {dataset} is in use by a run that goes on: run will look at it."]
