"""A member taking part in a run: from its plan, its identity and its task to a state that it may publish.

Start it as often as need be: it takes the run up where its journal stands. It says nothing to anybody before the plan
is signed by all, and nothing in a round before that round is on its disk.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from hocket.errors import JournalError
from hocket.federation.membership.restart import Restart, left_of, seat
from hocket.federation.membership.roster import Roster
from hocket.federation.membership.session import Session
from hocket.federation.monitoring.metrics import Log, Metrics
from hocket.federation.monitoring.metrics_endpoint import MetricsEndpoint
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.runtime.member import MOST_ARRAYS, Member
from hocket.federation.runtime.noise_keys import (
    agreeing_of,
    check_data,
    lasting_noise_of,
    needs_keys,
    streams_of,
)
from hocket.federation.runtime.noise_shares import RoundNoise
from hocket.federation.runtime.peer import Finished, Peer, Played
from hocket.federation.runtime.role import MemberRole
from hocket.federation.runtime.rollback import Memories
from hocket.federation.runtime.supervision import Stopped, beside, one_worker
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.consent import check_consent, read_policy
from hocket.federation.state.earlier_runs import EarlierRun, earlier_runs
from hocket.federation.state.run_folder import RunFolder, write_json
from hocket.federation.state.served_plan import record_of
from hocket.federation.state.signed_rows import check_signed_rows
from hocket.federation.verification.result_files import sign_files
from hocket.federation.verification.verify import SignedTranscript
from hocket.federation.workloads.needs import needs
from hocket.federation.workloads.workload import Workload
from hocket.links.conversation import Conversation, Moment
from hocket.links.events import Channels
from hocket.links.journals.database import in_thread
from hocket.links.journals.journal import Journal
from hocket.links.keys.lasting_noise import LastingNoise
from hocket.links.wire import Limits
from hocket.runs.job import versions

DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
"""Errors of the operating system that are the disk's."""


async def take_part(
    member: Member,
    *,
    channels: Channels | None = None,
    watch: Callable[[Played, Session], None] | None = None,
    found: Callable[[Finished], None] = lambda finished: None,
    waits: Callable[[Session], None] = lambda session: None,
) -> Finished:
    """Run this member's part to the end; `channels` in place of the network are for tests. `found` is told of the
    result as soon as it is on the disk, before this member stays for slower neighbours; `waits` is asked once a second
    to look for whom it waits."""
    folder = member.folder
    with _explained(folder):
        await in_thread(member.check)
        await in_thread(check_data, member)
        await in_thread(check_signed_rows, member.home, member.task, folder.path)
        folder.make()
        with Journal.open(folder.journal, member.plan.run_hash, vouched=member.vouched) as journal:
            folder.clear_stop()  # the one it was meant for is gone: the journal is ours
            write_plan(member.plan, folder.plan)
            member.check_signed(without=journal.ballots.left)
            runs = await in_thread(_counted, member, journal)
            earlier = earlier_runs(member.home, member.plan, data=member.data, rows=member.rows)
            write_json(folder.about, _about(member, journal, runs))
            roster = Roster(member.plan, member.identity, journal.run)
            while True:  # with anybody who has not left: of sums, each time an attempt of its own
                try:
                    with seat(member, journal) as (seated, own):
                        session = _present(seated, own, journal, roster, earlier)
                        return await _played(seated, session, own, channels, watch, found, waits)
                except Restart:
                    if channels is not None:  # they are closed, and whose they are must open them again
                        raise


def _present(
    member: Member, own: Journal, journal: Journal, roster: Roster, earlier: Sequence[EarlierRun]
) -> Session:
    """What a member knows of the others as an attempt begins."""
    log, policy = Log(member.folder.log), read_policy(member.home)
    for line in member.workload.remarks():
        log.say("unchecked data", words=[line])
    if left := left_of(member):
        log.say("begun anew", without=list(left))
    memories = Memories(own, member.plan.neighbours(member.name), journal.begin_epoch())
    return Session(roster, journal, log, member.folder, memories, policy, earlier, member.accounts)


async def _endpoint(member: Member, metrics: Metrics) -> MetricsEndpoint | None:
    """Where Prometheus finds the numbers, if it is to find them."""
    if member.metrics_port is None:
        return None
    return await MetricsEndpoint.open(metrics.exposition, member.metrics_port, member.home.metrics_token)


async def _played(
    member: Member,
    session: Session,
    journal: Journal,
    channels: Channels | None,
    watch: Callable[[Played, Session], None] | None,
    found: Callable[[Finished], None],
    waits: Callable[[Session], None],
) -> Finished:
    """All rounds, with all who are still there."""
    folder, log, workload = member.folder, session.log, member.workload
    gone = session.gone & {*member.plan.names}
    role, metrics = member.role(gone), Metrics(folder.metrics)
    lasting = server = None
    conversation = Conversation(
        channels or await member.open_channels(epoch=session.memories.epoch, log=log.say),
        [member.plan.names[other] for other in role.present],
        plan=member.plan.run_hash,
        limits=Limits.for_messages(MOST_ARRAYS * member.dtype.itemsize * member.plan.task.dimension),
        listener=session,
        run=session.plan.run_hash if needs(member.plan.algorithm).restarts else None,
    )
    session.conversation = conversation
    conversation.note = session.memories.note
    # Where this member last spoke: a neighbour may be ahead of that, in the next round already.
    conversation.now = Moment(*journal.last_sent)
    try:
        await session.membership.settle()  # a vote may have been the last thing before a crash
        server = await _endpoint(member, metrics)
        async with one_worker() as compute, beside(_heartbeat(member, session, waits)):
            if needs_keys(role) or member.plan.run.means:
                lasting = lasting_noise_of(member)
                session.agreeing = agreeing_of(member, role, journal, lasting)
                await session.agreeing.agree(conversation)
            if journal.position is None or journal.position.chains:
                await session.compare_with_all()
            async with session.still:
                role = member.role(session.gone & {*member.plan.names})
                peer = await compute(_peer, member, workload, role, conversation, journal, lasting, log)
                session.peer = peer
            peer.compute, peer.still = compute, session.still
            peer.watch = _watcher(workload, peer, session, metrics, watch)
            peer.tell = session.tell_means
            peer.found = partial(_found, member, workload, peer, session, found)
            repeatable = await compute(workload.is_repeatable, peer.start)
            log.say("running", round=conversation.now.round, repeatable=repeatable)
            finished = await peer.play(linger=member.linger)
            await compute(workload.conclude, peer, finished)  # by now others' signatures have come
            if finished.waiting_for:
                log.say("parted", not_done=list(finished.waiting_for))
            return finished
    finally:
        if server is not None:
            server.close()
        with suppress(
            OSError
        ):  # what stopped the run is the news, not that its last messages cannot be written
            metrics.close()
            folder.write_status(session.status() | {"pid": None, "stays_for": []})
        await conversation.channels.close()
        if lasting is not None:
            lasting.close()


@contextmanager
def _explained(folder: RunFolder) -> Generator[None]:
    """What the disk complains of, with a cure: a member that cannot write must not speak."""
    try:
        yield
    except OSError as error:
        if error.errno not in DISK:
            raise
        raise JournalError(
            f"{error.filename or folder.path} cannot be written: {error.strerror}. Nothing was lost; make room or "
            "change that, and start again"
        ) from error


def _counted(member: Member, journal: Journal) -> int:
    """The number of this run on its data: one that is new must be the one that was signed.

    What a study releases is remembered with the run, in one transaction: what is refused leaves nothing behind.
    """
    plan, accounts, workload = member.plan, member.accounts, member.workload
    name, dataset = plan.algorithm_section.name, plan.task.dataset
    served = RecordedRun(journal.run.hex(), plan.run_hash.hex(), name, member.data, record_of(plan))

    def approve() -> None:
        check_consent(plan, member.home, member.folder, data=member.data, rows=member.rows)
        workload.begin()
        accounts.keep_rows(dataset, member.rows)

    with accounts.writing():
        if any(served.run == one.run for one in accounts.runs(dataset)):
            workload.begin()  # taken up again: rows that were changed meanwhile are refused
        return accounts.begin(dataset, served, approve)


def _about(member: Member, journal: Journal, runs: int) -> dict[str, Any]:
    """What a reader of the folder needs to know beside the plan."""
    return {
        "member": member.name,
        "run": journal.run.hex(),
        "runs": runs,
        "fingerprint": member.plan.fingerprint,
        "versions": versions(),
    }


def _peer(
    member: Member,
    workload: Workload,
    role: MemberRole,
    conversation: Conversation,
    journal: Journal,
    lasting: LastingNoise | None,
    log: Log,
) -> Peer:
    noise = RoundNoise(streams_of(member, role, journal))
    given = workload.round_input(role, journal, noise, lasting, log)
    return Peer(
        role,
        list(member.plan.names),
        conversation,
        journal,
        noise,
        given.local,
        given.start,
        recall=given.recall,
        restore=given.restore,
        sealing=given.signing,
    )


def _watcher(
    workload: Workload,
    peer: Peer,
    session: Session,
    metrics: Metrics,
    watch: Callable[[Played, Session], None] | None,
) -> Callable[[Played], Awaitable[None]]:
    async def watched(played: Played) -> None:
        workload.pass_by(peer, played)
        if metrics.due or played.k == peer.rounds:
            talk = peer.conversation
            numbers = {
                "round": played.k,
                "disagreement": played.disagreement,
                "bytes_sent": talk.bytes_sent,
                "bytes_received": talk.bytes_received,
                "repeats": talk.repeats,
            }
            told, at_home = await peer.compute(workload.measure, peer, played, session.log)
            metrics.record(numbers | dict(told), talk.arrivals, at_home=at_home)
            session.measured = metrics.latest
        if watch is not None:
            watch(played, session)

    return watched


async def _heartbeat(member: Member, session: Session, waits: Callable[[Session], None]) -> None:
    """Once a second: say how it stands, take up what the operator asks for, and look who has fallen silent."""
    began = time.time()
    while True:
        if member.folder.stop_asked:
            member.folder.clear_stop()
            raise Stopped
        session.complain_of_waiting()
        waits(session)
        member.folder.write_status(session.status() | {"pid": os.getpid(), "began": began})
        await session.vote_by_rule()
        await session.membership.collect()
        await asyncio.sleep(1.0)


async def _found(
    member: Member,
    workload: Workload,
    peer: Peer,
    session: Session,
    tell: Callable[[Finished], None],
    finished: Finished,
) -> None:
    """Put the result on the disk before anybody is stayed for."""
    await peer.compute(workload.export, peer, finished)
    SignedTranscript.of(member.identity, session.journal, peer.records).save(member.folder.path)
    sign_files(member.identity, session.plan, member.folder.path)
    session.finished = True
    session.log.say("finished")
    tell(finished)
