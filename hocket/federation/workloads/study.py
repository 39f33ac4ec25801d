"""A study at one member: its own table, what it gives to each sum, and what becomes of the answer."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hocket.algorithm import SecureSum
from hocket.federation.membership.restart import left_of
from hocket.federation.monitoring.metrics import Log
from hocket.federation.plan.policy import Policy, read_policy
from hocket.federation.runtime.noise_shares import RoundNoise
from hocket.federation.runtime.role import MemberRole
from hocket.federation.state.accounts import EACH, Accounts
from hocket.federation.state.digests import mark_of
from hocket.federation.state.signed_rows import SignedRows
from hocket.federation.verification.result_files import sign_files
from hocket.federation.verification.study_signatures import Signatures, gather, signature_tables
from hocket.federation.workloads.analysis import Analysis
from hocket.federation.workloads.workload import RoundInput
from hocket.links.journals.journal import Journal
from hocket.links.keys.lasting_noise import LastingNoise
from hocket.report import tables
from hocket.studies.analysis import promise_of
from hocket.studies.check import Check, check_table
from hocket.studies.data.rows import Rows
from hocket.studies.data.table import Table
from hocket.studies.disclosure.promise import ALONE, Among
from hocket.studies.disclosure.releases import Release, Releases, refuse_isolation
from hocket.studies.disclosure.row_sets import row_sets
from hocket.studies.results.page import write_page
from hocket.studies.results.results import RESULTS, Results, concluded
from hocket.studies.spec.study import Study

if TYPE_CHECKING:
    from hocket.federation.runtime.member import Member
    from hocket.federation.runtime.peer import Finished, Peer, Played


SIGNED = b"hocket/signed/1"
NUMBERS = 1 << 16
"""Numbers that a sum may have, for which links make room."""
MOST_SUMS = 400
"""Sums after which a study is given up; a regression takes about ten."""


@dataclass(frozen=True)
class StudyTask:
    """What a member brings to a study in place of a task of its own: a table."""

    study: Study
    table: Table
    name: str
    """Whose it is, for errors."""
    among: Among = ALONE
    """How many take part, and how many of them may collude: for noise, where the study promises an ε."""
    objectives: str = "any"

    @property
    def dimension(self) -> int:
        """Numbers that one sum may have."""
        return NUMBERS

    @cached_property
    def checked(self) -> tuple[Check, Rows]:
        """This member's own look at its table; refuses with everything that is wrong."""
        return check_table(self.study, replace(self.table, name=self.name), self.among)

    def analysis(self) -> Generator[SecureSum, Any, Results]:
        """What is asked of all members, sum by sum."""
        return concluded(self.checked[1])

    def start(self, seed: int) -> np.ndarray:
        """No sums yet."""
        return np.zeros(0)

    def gradient(self, x: np.ndarray, k: int, h: int, rng: np.random.Generator) -> np.ndarray:
        """A study follows no gradient."""
        raise AssertionError("a study asks for sums")

    def rows_to_sign(self, secret: bytes) -> SignedRows:
        """The rows that its conditions choose, in the columns that it reads, as digests under a home's secret."""
        rows = self.checked[1]
        columns = tuple(sorted(rows.values))

        def digest(name: str, value: bytes) -> bytes:
            text = name.encode() + b"\0" + value
            return hashlib.blake2b(text, key=secret, digest_size=EACH, person=SIGNED).digest()

        cells = np.zeros((int(rows.chosen.sum()), len(columns)), dtype=np.uint64)
        for place, name in enumerate(columns):
            # A missing cell is one value, and there is no negative zero.
            values = rows.values[name][rows.chosen] + 0.0
            values[np.isnan(values)] = np.inf
            distinct, where = np.unique(values, return_inverse=True)
            found = b"".join(digest(name, value.tobytes()) for value in distinct.astype("<f8"))
            cells[:, place] = np.frombuffer(found, "<u8")[where]
        ordered = cells[np.lexsort(cells.T[::-1])]
        whole = hashlib.sha256(self.study.fingerprint.encode() + ordered.astype("<u8").tobytes()).hexdigest()
        return SignedRows(f"{mark_of(secret)}:{whole}", columns, cells)

    def check_releases(self, accounts: Accounts, policy: Policy, run: str = "") -> list[str]:
        """What these rows have served before this run, in words; refuses where differences would show a few."""
        releases = Releases(accounts)
        earlier = releases.all
        now = releases.of(self.study, self.table, row_sets(self.checked[1]), self._mu, run)
        refuse_isolation(now, earlier, policy.fewest_different)
        return [*told_before(one for one in earlier if (one.study, one.run) != (now.study, now.run))]

    def begin(self, accounts: Accounts, policy: Policy, run: str = "") -> None:
        """Remember which rows are about to be told of, before the first number is sent."""
        sets, least = row_sets(self.checked[1]), policy.fewest_different
        Releases(accounts).begin(self.study, self.table, sets, self._mu, run, least)

    @property
    def _mu(self) -> float | None:
        promise = promise_of(self.checked[1])
        return None if promise is None else promise.mu

    def write(
        self,
        results: Results,
        members: Sequence[str],
        folder: Path,
        *,
        left: Sequence[str] = (),
        signed: Sequence[tables.Table] = (),
    ) -> None:
        """Write down what was found, beside how many rows were this member's own; `left` are who was dropped, and
        `signed` tells who has signed."""
        results.save(folder)
        commands = ["hocket peer run plan.toml --data TABLE"]
        write_page(results, folder, commands=commands, among=members, left=left, signed=signed)


def told_before(earlier: Iterable[Release]) -> Iterator[str]:
    """What rows at a home have told before, in words."""
    for one in earlier:
        yield f"Rows at this home have served before: {one.words}."


@dataclass(frozen=True)
class StudyWorkload:
    """One member's table in a study."""

    member: Member
    task: StudyTask

    def remarks(self) -> list[str]:
        return []

    def is_repeatable(self, start: np.ndarray | None = None) -> bool:
        return True

    def begin(self) -> None:
        home, run = self.member.home, self.member.plan.run_hash.hex()
        self.task.begin(self.member.accounts, read_policy(home), run)

    def round_input(
        self, role: MemberRole, journal: Journal, noise: RoundNoise, lasting: LastingNoise | None, log: Log
    ) -> RoundInput:
        analysis = Analysis(self.task.analysis)
        signing = Signatures(self.member, partial(self._concluded, analysis))
        return RoundInput(analysis, np.zeros(0), signing=signing)

    def pass_by(self, peer: Peer, played: Played) -> None:
        """Nothing moves: a round is a sum."""

    def measure(self, peer: Peer, played: Played, log: Log) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return {}, {}

    def export(self, peer: Peer, finished: Finished) -> None:
        """The result has this member's own signature so far."""
        if not (self.member.folder.path / RESULTS).exists():
            self._write(peer, finished)

    def conclude(self, peer: Peer, finished: Finished) -> None:
        """With everybody's signature; those that came in an earlier process are kept."""
        assert isinstance(peer.sealing, Signatures)
        signed = finished._replace(seals=peer.sealing.kept() | dict(finished.seals))
        member = self.member
        try:
            gather(member, self._write(peer, signed), peer.point, signed)
        finally:  # the page was written anew, whatever others signed
            sign_files(member.identity, member.whole or member.plan, member.folder.path)

    def _write(self, peer: Peer, finished: Finished) -> Results:
        assert isinstance(peer.descend, Analysis)
        member = self.member
        results = self._concluded(peer.descend, finished.published)
        signed = signature_tables(member, results, finished)
        self.task.write(results, member.plan.names, member.folder.path, left=left_of(member), signed=signed)
        return results

    def _concluded(self, analysis: Analysis, sums: np.ndarray) -> Results:
        """What the study came to."""
        assert analysis.asked(sums) is None
        return dataclasses.replace(analysis.result, members=len(self.member.plan.names))
