"""A member taking part in a run: from its plan, its identity and its task to a state that it may publish.

Start it as often as need be: it takes the run up where its journal stands. It says nothing to anybody before the plan
is signed by all, and nothing in a round before that round is on its disk.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import os
import time
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import numpy as np

from hocket.agent import Local
from hocket.errors import JournalError
from hocket.federation.at_home import counted_as_zero, measured_at_home
from hocket.federation.attendance import Attendance
from hocket.federation.consent import check_consent, read_policy
from hocket.federation.data_digest import unchecked
from hocket.federation.disclosure import Kept
from hocket.federation.earlier_runs import EarlierRun, earlier_runs
from hocket.federation.engine.analysis import Analysis
from hocket.federation.engine.peer import Finished, Peer, Played
from hocket.federation.engine.role import Role
from hocket.federation.engine.shares import RoundNoise
from hocket.federation.ledger import Ledger, Served, one_at_a_time
from hocket.federation.member import MOST_ARRAYS, Member
from hocket.federation.metrics import Log, Metrics
from hocket.federation.metrics_endpoint import MetricsEndpoint
from hocket.federation.movement import Movement
from hocket.federation.noise_keys import (
    agreeing_of,
    check_data,
    lasting_noise_of,
    needs_keys,
    streams_of,
    task_of,
)
from hocket.federation.plan_file import write_plan
from hocket.federation.presence import Presence
from hocket.federation.restart import Restart, left_of, seat
from hocket.federation.result_files import sign_files
from hocket.federation.rollback import Memories
from hocket.federation.row_digests import keep_rows
from hocket.federation.run_folder import RunFolder, write_json
from hocket.federation.served_plan import record_of
from hocket.federation.signed_rows import check_signed_rows
from hocket.federation.study_seal import Signatures, gather, signature_tables
from hocket.federation.study_task import StudyTask
from hocket.federation.task import LocalSteps, is_repeatable
from hocket.federation.verification import Transcript
from hocket.links.conversation import Conversation, Moment
from hocket.links.database import in_thread
from hocket.links.events import Channels
from hocket.links.journal import Journal
from hocket.links.lasting_noise import LastingNoise
from hocket.links.wire import Limits
from hocket.runs.job import versions
from hocket.studies.results import RESULTS, Results

T = TypeVar("T")
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
"""Errors of the operating system that are the disk's."""


async def take_part(
    member: Member,
    *,
    channels: Channels | None = None,
    watch: Callable[[Played, Presence], None] | None = None,
    found: Callable[[Finished], None] = lambda finished: None,
    waits: Callable[[Presence], None] = lambda presence: None,
) -> Finished:
    """Run this member's part to the end; `channels` in place of the network are for tests. `found` is told of the
    result as soon as it is on the disk, before this member stays for slower neighbours; `waits` is asked once a second
    to look for whom it waits."""
    member.check()
    folder = member.folder
    with _explained(folder):
        await in_thread(check_data, member)
        await in_thread(check_signed_rows, member.home, member.task, folder.path)
        folder.make()
        with Journal.open(folder.journal, member.plan.run_hash, vouched=member.vouched) as journal:
            folder.clear_stop()  # whoever it was meant for is gone: the journal is ours
            write_plan(member.plan, folder.plan)
            member.check_signed(without=journal.ballots.left)
            runs = await in_thread(_counted, member, journal)
            earlier = earlier_runs(member.home, member.plan, data=member.data, rows=member.rows)
            write_json(folder.about, _about(member, journal, runs, earlier))
            attendance = Attendance(member.plan, member.identity, journal.run)
            while True:  # with whoever has not left: of sums, each time an attempt of its own
                try:
                    with seat(member, journal) as (seated, own):
                        presence = _present(seated, own, journal, attendance, earlier)
                        return await _played(seated, presence, own, channels, watch, found, waits)
                except Restart:
                    if channels is not None:  # they are closed, and whose they are must open them again
                        raise


def _present(
    member: Member, own: Journal, journal: Journal, attendance: Attendance, earlier: Sequence[EarlierRun]
) -> Presence:
    """What a member knows of the others as an attempt begins."""
    log, policy = Log(member.folder.log), read_policy(member.home)
    for line in unchecked(member.data) if member.plan.study is None else ():
        log.say("unchecked data", words=[line])
    if left := left_of(member):
        log.say("begun anew", without=list(left))
    memories = Memories(own, member.plan.neighbours(member.name), journal.begin_epoch())
    ledger = Ledger(member.home.ledger(member.plan.task.dataset))
    return Presence(attendance, journal, log, member.folder, memories, policy, earlier, ledger)


async def _endpoint(member: Member, metrics: Metrics) -> MetricsEndpoint | None:
    """Where Prometheus finds the numbers, if it is to find them."""
    if member.metrics_port is None:
        return None
    return await MetricsEndpoint.open(metrics.exposition, member.metrics_port, member.home.metrics_token)


async def _played(
    member: Member,
    presence: Presence,
    journal: Journal,
    channels: Channels | None,
    watch: Callable[[Played, Presence], None] | None,
    found: Callable[[Finished], None],
    waits: Callable[[Presence], None],
) -> Finished:
    """All rounds, with whoever is still there."""
    folder, log = member.folder, presence.log
    gone = presence.gone & {*member.plan.names}
    role, metrics = member.role(gone), Metrics(folder.metrics)
    lasting = server = ticking = None
    conversation = Conversation(
        channels or await member.open_channels(epoch=presence.memories.epoch, say=log.say),
        [member.plan.names[other] for other in role.present],
        plan=member.plan.run_hash,
        limits=Limits.words(MOST_ARRAYS * member.dtype.itemsize * member.plan.task.dimension),
        listener=presence,
        run=presence.plan.run_hash if member.plan.algorithm.begins_anew else None,
    )
    presence.conversation = conversation
    conversation.note = presence.memories.note
    # Where this member last spoke: a neighbour may be ahead of that, in the next round already.
    conversation.now = Moment(*journal.last_said)
    try:
        await presence.departures.settle()  # a vote may have been the last thing before a crash
        server = await _endpoint(member, metrics)
        ticking = asyncio.create_task(_tick(member, presence, waits))
        if needs_keys(role) or member.plan.run.means:
            lasting = lasting_noise_of(member)
            presence.agreeing = agreeing_of(member, role, journal, lasting)
            await _while(ticking, presence.agreeing.agree(conversation))
        if journal.position is None or journal.position.chains:
            await _while(ticking, presence.compare_with_all())
        gone = presence.gone & {*member.plan.names}
        peer = _peer(member, member.role(gone), conversation, journal, lasting, log)
        peer.watch = _watcher(member, peer, presence, metrics, watch)
        peer.tell = presence.tell_means
        peer.found = partial(_found, member, peer, presence, found)
        presence.peer = peer
        certified = member.plan.certificate is not None
        repeatable = isinstance(member.task, StudyTask) or is_repeatable(
            member.task, peer.start, certified=certified
        )
        log.say("running", round=conversation.now.round, repeatable=repeatable)
        finished = await _while(ticking, peer.play(linger=member.linger))
        if isinstance(member.task, StudyTask):  # by now others' signatures have come
            _conclude(member, peer, presence, finished)
        if finished.waiting_for:
            log.say("parted", not_done=list(finished.waiting_for))
        return finished
    finally:
        if ticking is not None:
            ticking.cancel()
        if server is not None:
            server.close()
        with suppress(OSError):  # what stopped the run is the news, not that its last words cannot be written
            metrics.close()
            folder.write_status(presence.status() | {"pid": None, "stays_for": []})
            log.close()
        await conversation.channels.close()
        if lasting is not None:
            lasting.close()


async def _while(ticking: asyncio.Task[None], work: Coroutine[Any, Any, T]) -> T:
    """Do some work for as long as the ticking goes on; if that fails, the work fails with it."""
    working = asyncio.create_task(work)
    try:
        await asyncio.wait([working, ticking], return_when=asyncio.FIRST_COMPLETED)
        if ticking.done() and not working.done():
            ticking.result()
        return await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


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

    What a study releases is remembered once the run is approved and before it is counted: killed in between, the run
    is remembered, though nothing was sent, and `hocket study forget` takes that back.
    """
    plan, home, folder = member.plan, member.home, member.folder
    name = plan.algorithm_section.name
    served = Served(journal.run.hex(), plan.run_hash.hex(), name, member.data, record_of(plan))

    def allow(before: tuple[Served, ...]) -> None:
        check_consent(plan, home, folder, before, data=member.data, rows=member.rows)
        release()
        keep_rows(home, plan.task.dataset, member.rows)

    def release() -> None:
        if isinstance(member.task, StudyTask):
            member.task.begin(home.folder, plan.run_hash.hex())

    with one_at_a_time(home.counted):
        ledger = Ledger(home.ledger(plan.task.dataset))
        if any(served.run == one.run for one in ledger.runs):
            release()  # taken up again: rows that were changed meanwhile are refused
        return ledger.begin(served, allow)


def _about(member: Member, journal: Journal, runs: int, earlier: Sequence[EarlierRun]) -> dict[str, Any]:
    """What a reader of the folder needs to know beside the plan."""
    return {
        "member": member.name,
        "run": journal.run.hex(),
        "runs": runs,
        "earlier": [one.to_json() for one in earlier],
        "fingerprint": member.plan.fingerprint,
        "versions": versions(),
    }


def _peer(
    member: Member,
    role: Role,
    conversation: Conversation,
    journal: Journal,
    lasting: LastingNoise | None,
    log: Log,
) -> Peer:
    names, task = list(member.plan.names), member.task
    streams = streams_of(member, role, journal)
    noise = RoundNoise(streams)
    if isinstance(task, StudyTask):
        analysis = Analysis(task.analysis)
        peer = Peer(role, names, conversation, journal, noise, analysis, np.zeros(0))
        peer.sealing = Signatures(member, partial(_concluded, member, analysis))
        return peer
    followed = task_of(member, role, streams, lasting)
    as_zero = None if member.plan.certificate is None else partial(counted_as_zero, log)
    local: Local = LocalSteps(followed, member.plan.run.local_steps, noise.batch, as_zero)
    # A run that has begun has its state in the journal; an earlier run's is no longer needed.
    start = member.start() if journal.round == 0 else np.zeros(member.plan.task.dimension, member.dtype)
    if member.plan.run.verifiable:
        local = Kept(local, member.disclosure)
        if journal.round == 0:
            member.disclosure.begin(streams, start, names)
    peer = Peer(role, names, conversation, journal, noise, local, start)
    peer.recall = getattr(task, "state", peer.recall)
    peer.restore = getattr(task, "restore", peer.restore)
    return peer


def _watcher(
    member: Member,
    peer: Peer,
    presence: Presence,
    metrics: Metrics,
    watch: Callable[[Played, Presence], None] | None,
) -> Callable[[Played], None]:
    measure: Callable[[Any], Mapping[str, float]] = getattr(member.task, "measure", lambda x: {})
    certified = member.plan.certificate is not None
    movement = None if isinstance(member.task, StudyTask) else Movement(peer.rounds, member.plan.step)

    def watched(played: Played) -> None:
        # Under a certificate what is shown follows from messages: this member's own state holds a bare gradient.
        x = peer.role.plain_set.project(played.mixed) if certified else played.x
        if movement is not None:
            movement.pass_by(played.k, x)
        if metrics.due or played.k == peer.rounds:
            moved = {} if movement is None else movement.look(played.k, x)
            talk = peer.conversation
            numbers = {
                "round": played.k,
                "disagreement": played.disagreement,
                "bytes_said": talk.bytes_said,
                "bytes_heard": talk.bytes_heard,
                "repeats": talk.repeats,
            }
            if certified:
                own = measured_at_home(measure, x, presence.log)
                metrics.record(numbers | moved, talk.arrivals, at_home=own)
            else:
                metrics.record(numbers | moved | dict(measure(x)), talk.arrivals)
            presence.measured = metrics.latest
        if watch is not None:
            watch(played, presence)

    return watched


async def _tick(member: Member, presence: Presence, waits: Callable[[Presence], None]) -> None:
    """Once a second: say how it stands, take the operator's votes up, and stop if it is asked for."""
    began = time.time()
    while True:
        if member.folder.stop_asked:
            member.folder.clear_stop()
            raise asyncio.CancelledError  # as a signal ends it: `_while` hands it on to the run
        presence.complain_of_waiting()
        waits(presence)
        with presence.log.reserve.released():
            member.folder.write_status(presence.status() | {"pid": os.getpid(), "began": began})
            await presence.vote_by_rule()
            await presence.departures.collect()
        await asyncio.sleep(1.0)


def _concluded(member: Member, analysis: Analysis, sums: np.ndarray) -> Results:
    """What a study came to."""
    assert analysis.asked(sums) is None
    return dataclasses.replace(analysis.result, members=len(member.plan.names))


def _found(
    member: Member, peer: Peer, presence: Presence, tell: Callable[[Finished], None], finished: Finished
) -> None:
    """Put the result on the disk before anybody is stayed for; that of a study has its own signature so far."""
    if not isinstance(member.task, StudyTask):
        export = getattr(member.task, "export", None)
        if export is None:
            np.save(member.folder.published.with_suffix(".npy"), finished.published)
        else:
            export(finished.published, member.folder.published)
    elif not (member.folder.path / RESULTS).exists():
        _write_results(member, peer, finished)
    Transcript.of(member.identity, presence.journal, peer.records).save(member.folder.path)
    sign_files(member.identity, presence.plan, member.folder.path)
    presence.finished = True
    presence.log.say("finished")
    tell(finished)


def _conclude(member: Member, peer: Peer, presence: Presence, finished: Finished) -> None:
    """A study's results, with everybody's signature; those that came in an earlier process are kept."""
    assert isinstance(peer.sealing, Signatures)
    signed = finished._replace(seals=peer.sealing.kept() | dict(finished.seals))
    try:
        gather(member, _write_results(member, peer, signed), peer.point, signed)
    finally:  # the page was written anew, whatever others signed
        sign_files(member.identity, presence.plan, member.folder.path)


def _write_results(member: Member, peer: Peer, finished: Finished) -> Results:
    assert isinstance(member.task, StudyTask)
    assert isinstance(peer.descend, Analysis)
    results = _concluded(member, peer.descend, finished.published)
    signed = signature_tables(member, results, finished)
    member.task.write(results, member.plan.names, member.folder.path, left=left_of(member), signed=signed)
    return results
