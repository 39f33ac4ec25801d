"""Taking back that a study was released, where its journal proves that nothing of it was ever sent.

Rows are remembered before their first number goes out, so that a crash never leaves a release unremembered. A run that
was stopped before its first round, on a wrong export say, is remembered all the same, and would keep the right one out.
A journal is written before each message: where it stands before round 1, no number of this member has left it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hocket.errors import BadPlan, JournalError
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder
from hocket.links.journals.journal import Journal
from hocket.studies.disclosure.releases import Release, Releases


@dataclass(frozen=True, eq=False)
class Forgotten:
    """What is no longer remembered."""

    releases: tuple[Release, ...]
    counted: bool
    """Whether the run was on the list of those that its data have served."""


def forget_release(plan: FederationPlan, home: Home) -> Forgotten:
    """Forget a study's release; refuses where a message of it was sent, or where nothing proves that none was."""
    if plan.study is None:
        raise BadPlan(
            "this plan follows gradients: its runs are counted for good, and only a study's are forgotten"
        )
    folder, run = RunFolder(home.run(plan.run_hash)), plan.run_hash.hex()
    if not folder.journal.is_file():
        raise JournalError(
            f"nothing proves that nothing of this study was sent: there is no journal {folder.journal}. Restore it; "
            "without it the release stays remembered"
        )
    # Held until all is done, so that the run cannot begin meanwhile.
    with Journal.open(folder.journal, plan.run_hash, create=False) as journal:
        shown = folder.status()["round"] if folder.begun else 0
        if journal.round or shown or [*folder.path.glob("journal-*.db")]:
            raise JournalError(
                f"the journal {folder.journal} stands at round {max(journal.round, shown)}: sums of this study "
                "may have been sent, and what was sent is told for good. The release stays remembered; go on with the "
                "run, or use rows that differ by enough in another study"
            )
        accounts = home.accounts
        with accounts.writing():
            counted, releases = accounts.forget(run), Releases(accounts).forget(run)
    if not (counted or releases):
        raise BadPlan("no release of this study is remembered here: there is nothing to forget")
    return Forgotten(tuple(releases), counted)
