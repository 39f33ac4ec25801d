"""A member taking part in a run: from its plan, its identity and its task to a state that it may publish.

Start it as often as need be: it takes the run up where its journal stands. It says nothing to anybody before the plan
is signed by all, and nothing in a round before that round is on its disk.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hocket.algorithm import Plan as NoisePlan
from hocket.engines.peers import Finished, Peer, Played
from hocket.engines.seat import Seat
from hocket.engines.streams import ChainStreams
from hocket.errors import BadInput, BadPlan
from hocket.federation.home import Home
from hocket.federation.metrics import Log, Metrics
from hocket.federation.plan import FederationPlan
from hocket.federation.presence import Presence
from hocket.federation.run_folder import RunFolder
from hocket.federation.task import LocalSteps, Task, is_repeatable
from hocket.links.agreeing import Agreeing, Partner
from hocket.links.channel import Neighbour, open_channels
from hocket.links.conversation import Conversation
from hocket.links.escrow import FromSystem, Secrets
from hocket.links.events import Channels
from hocket.links.identity import Identity
from hocket.links.journal import Journal
from hocket.links.keepsakes import Keepsakes
from hocket.links.limits import LinkLimits
from hocket.links.wire import Limits
from hocket.noise import Paired

MOST_ARRAYS = 4
"""Arrays of the size of a state that one word may hold."""


@dataclass(frozen=True)
class Member:
    """All that one member brings to a run."""

    plan: FederationPlan
    identity: Identity
    task: Task
    home: Home
    listen: str | None = None
    """host:port to listen at, where that is not the address on the card."""
    linger: float | None = 600.0
    """Seconds to stay for slower neighbours when all is done; None for as long as it takes."""
    metrics_port: int | None = None
    secrets: Secrets = field(default_factory=FromSystem)

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.home.run(self.plan.hash))

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.plan.task.dtype)

    def check(self) -> None:
        """Refuse what would fail later, or should not begin at all."""
        self.plan.check_signatures()
        self.plan.check_certificates()
        if self.plan.card(self.name).certificate_pem != self.identity.certificate_pem:
            raise BadPlan(
                f"the plan names another certificate for {self.name} than this one; use the identity whose card was "
                "given to the plan, or have the plan signed again with the new card"
            )
        if self.task.dimension != self.plan.task.dimension:
            raise BadInput(
                f"the task has dimension {self.task.dimension} and the plan {self.plan.task.dimension}; run the task "
                "that the plan was made for"
            )

    def start(self) -> np.ndarray:
        """The public start, the same for all."""
        first = np.asarray(self.task.start(self.plan.task.seed), dtype=self.dtype)
        if first.shape != (self.plan.task.dimension,):
            raise BadInput(f"the task's start has shape {first.shape}, not ({self.plan.task.dimension},)")
        return self.plan.feasible.project(first)

    def seat(self, gone: frozenset[str] = frozenset()) -> Seat:
        """This member's place in the run."""
        plan = self.plan
        noise_plan = NoisePlan(plan.network, plan.task.dimension, plan.step, plan.run.rounds)
        me, left = plan.agent(self.name), {plan.agent(name) for name in gone}
        dropped = frozenset(left) & set(plan.network.neighbours(me))
        return Seat(me, noise_plan, plan.algorithm.effective(), plan.feasible, self.dtype, dropped)

    async def open_channels(self) -> Channels:
        """Links to all neighbours, over the network."""
        plan, dialled = self.plan, self.plan.dials(self.name)
        size = MOST_ARRAYS * self.dtype.itemsize * plan.task.dimension
        return await open_channels(
            self.name,
            key=self.identity.private_key_pem,
            certificate=self.identity.certificate_pem,
            neighbours=[
                Neighbour(
                    name,
                    plan.card(name).certificate_pem,
                    name,
                    plan.card(name).address if name in dialled else None,
                )
                for name in plan.neighbours(self.name)
            ],
            plan=plan.hash.hex(),
            listen=self.listen or _bindable(plan.card(self.name).address),
            limits=LinkLimits(message=Limits.words(size).bytes),
        )


async def take_part(
    member: Member,
    *,
    channels: Channels | None = None,
    watch: Callable[[Played, Presence], None] | None = None,
) -> Finished:
    """Run this member's part to the end; `channels` in place of the network are for tests."""
    member.check()
    folder = member.folder
    folder.make()
    with Journal.open(folder.journal, member.plan.hash) as journal:
        keepsakes = _keepsakes(member)
        metrics, log = Metrics(folder.metrics), Log(folder.log)
        presence = Presence(member.plan, member.name, journal, log)
        seat = member.seat(presence.gone)
        conversation = Conversation(
            channels or await member.open_channels(),
            [member.plan.names[other] for other in seat.present],
            plan=member.plan.hash,
            limits=Limits.words(MOST_ARRAYS * member.dtype.itemsize * member.plan.task.dimension),
            listener=presence,
        )
        presence.conversation = conversation
        server = None if member.metrics_port is None else await metrics.serve(member.metrics_port)
        ticking = asyncio.create_task(_tick(member, presence, metrics))
        try:
            if needs_keys(seat):
                presence.agreeing = _agreeing(member, seat, journal, keepsakes)
                await presence.agreeing.agree(conversation)
            peer = _peer(member, member.seat(presence.gone), conversation, journal)
            peer.watch = _watcher(member, peer, presence, metrics, watch)
            presence.peer = peer
            log.say("running", round=conversation.now.round, repeatable=_repeatable(member, peer))
            finished = await peer.play(linger=member.linger)
            _publish(member, finished)
            presence.finished = True
            log.say("finished", waiting_for=list(finished.waiting_for))
            return finished
        finally:
            ticking.cancel()
            if server is not None:
                server.close()
            metrics.close()
            await conversation.channels.close()
            if keepsakes is not None:
                keepsakes.close()
            folder.write_status(presence.status() | {"pid": None})


def needs_keys(seat: Seat) -> bool:
    """Whether any noise is agreed in pairs."""
    return any(isinstance(draw, Paired) for draw in seat.draws.values())


def terms(seat: Seat, neighbour: int) -> str:
    """How noise that is kept is dealt on a link, in words that change with anything that matters."""
    slot = seat.slots[seat.neighbours.index(neighbour)]
    return "; ".join(
        f"{name}: {draw.width} numbers of {seat.dtype} within {draw.scale[:, slot].tolist()}"
        for name, draw in seat.draws.items()
        if isinstance(draw, Paired) and draw.once
    )


def _keepsakes(member: Member) -> Keepsakes | None:
    if not any(draw.once for draw in member.seat().draws.values()):
        return None
    dataset = member.plan.task.dataset
    return Keepsakes.open(member.home.keepsakes(dataset), dataset)


def _agreeing(member: Member, seat: Seat, journal: Journal, keepsakes: Keepsakes | None) -> Agreeing:
    plan = member.plan
    partners = {
        plan.names[other]: Partner(other, plan.cards[other].certificate_pem, terms(seat, other))
        for other in seat.present
    }
    if keepsakes is not None:
        keepsakes.count(journal.run)
    return Agreeing(member.identity, plan.hash, seat.index, partners, journal, keepsakes, member.secrets)


def _peer(member: Member, seat: Seat, conversation: Conversation, journal: Journal) -> Peer:
    names, task = list(member.plan.names), member.task
    peer = Peer(
        seat,
        names,
        conversation,
        journal,
        _streams(member, seat, journal),
        LocalSteps(task, member.plan.run.local_steps, member.plan.task.seed, seat.index),
        member.start(),
    )
    peer.recall = getattr(task, "state", peer.recall)
    peer.restore = getattr(task, "restore", peer.restore)
    return peer


def _streams(member: Member, seat: Seat, journal: Journal) -> ChainStreams:
    names, position = member.plan.names, journal.position
    agreed = {other: journal.agreement(names[other]) for other in seat.neighbours}
    once = {
        other: found.once for other, found in agreed.items() if found is not None and found.once is not None
    }
    if position is None:
        chains = {
            other: found.chain
            for other, found in agreed.items()
            if found is not None and found.chain is not None
        }
        return ChainStreams(1, chains, once, member.secrets.own_chain(seat.index), seat.dtype)
    chains = {
        other: position.chains[names[other]] for other in seat.neighbours if names[other] in position.chains
    }
    return ChainStreams(position.round, chains, once, position.chains.get(member.name, b""), seat.dtype)


def _watcher(
    member: Member,
    peer: Peer,
    presence: Presence,
    metrics: Metrics,
    watch: Callable[[Played, Presence], None] | None,
) -> Callable[[Played], None]:
    measure: Callable[[Any], dict[str, float]] = getattr(member.task, "measure", lambda x: {})

    def watched(played: Played) -> None:
        if metrics.due or played.k == peer.rounds:
            talk = peer.conversation
            numbers = {
                "round": played.k,
                "disagreement": played.disagreement,
                "bytes_said": talk.bytes_said,
                "bytes_heard": talk.bytes_heard,
                "repeats": talk.repeats,
            }
            metrics.record(numbers | dict(measure(played.x)), talk.arrivals)
            presence.measured = metrics.latest
        if watch is not None:
            watch(played, presence)

    return watched


async def _tick(member: Member, presence: Presence, metrics: Metrics) -> None:
    """Once a second: say how it stands, and take the operator's votes up."""
    began = time.time()
    while True:
        presence.complain_of_waiting()
        member.folder.write_status(presence.status() | {"pid": os.getpid(), "began": began})
        await presence.collect_votes(member.folder.votes)
        await asyncio.sleep(1.0)


def _repeatable(member: Member, peer: Peer) -> bool:
    return is_repeatable(member.task, peer.start, member.plan.task.seed)


def _publish(member: Member, finished: Finished) -> None:
    export = getattr(member.task, "export", None)
    if export is None:
        np.save(member.folder.published.with_suffix(".npy"), finished.published)
    else:
        export(finished.published, member.folder.published)


def _bindable(address: str | None) -> str | None:
    """Where to listen for an address on a card: a name may be a router's, so all interfaces; loopback is loopback."""
    if address is None:
        return None
    host, _, port = address.rpartition(":")
    return address if host in ("127.0.0.1", "localhost", "[::1]") else f"0.0.0.0:{port}"
