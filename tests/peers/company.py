"""Members of a small federation in one process, with secrets that a test can derive again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import hocket as hk
from hocket.algorithm import Algorithm, Setting
from hocket.federation.runtime.noise_shares import ChainStreams, RoundNoise
from hocket.federation.runtime.peer import Finished, Peer
from hocket.federation.runtime.role import MemberRole
from hocket.federation.verification.replay import replayed
from hocket.federation.workloads.task import GradientTask, LocalSteps, known_seeds
from hocket.links.conversation import Conversation
from hocket.links.handshake import SeedEscrow
from hocket.links.journals.journal import Journal
from hocket.links.keys.identity import Identity
from hocket.links.keys.noise_agreement import NoiseAgreement, Partner
from hocket.links.wire import Frame, Limits

from .switchboard import Switchboard

PLAN = bytes(range(32))


@dataclass
class Company:
    """All members of one run, on a switchboard."""

    problem: hk.Problem
    network: hk.Network
    algorithm: Algorithm
    folder: Path
    rounds: int = 40
    start: float = 0.5
    identities: list[Identity] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.step, self.escrow = hk.Power(1.0, 20, 0.75), SeedEscrow(7)
        self.names = [f"member-{j}" for j in range(self.network.n)]
        self.identities = [Identity.create(name) for name in self.names]
        self.plan = Setting(self.network, self.problem.dim, self.step, self.rounds)

    def role(self, j: int) -> MemberRole:
        return MemberRole(j, self.plan, self.algorithm, self.problem.feasible, np.dtype(np.float64))

    @property
    def first(self) -> np.ndarray:
        return np.full(self.problem.dim, self.start)

    def board(self) -> Switchboard:
        return Switchboard([(self.names[i], self.names[j]) for i, j in self.network.links])

    async def member(self, j: int, board: Switchboard) -> Finished:
        """One member from wherever its journal stands to the end."""
        role, name = self.role(j), self.names[j]
        others = {self.names[other]: other for other in role.neighbours}
        with Journal.open(self.folder / f"{name}.journal", PLAN) as journal:
            partners = {
                o: Partner(other, self.identities[other].certificate_pem) for o, other in others.items()
            }
            agreeing = NoiseAgreement(self.identities[j], PLAN, j, partners, journal, None, self.escrow)
            ears = Ears(agreeing)
            conversation = Conversation(
                board.plug_in(name), others, plan=PLAN, limits=Limits.for_messages(1 << 20), listener=ears
            )
            ears.conversation = conversation
            try:
                await agreeing.agree(conversation)
                peer = self.peer(j, role, conversation, journal)
                return await peer.play()
            finally:
                await conversation.channels.close()

    def peer(self, j: int, role: MemberRole, conversation: Conversation, journal: Journal) -> Peer:
        position = journal.position
        agreed = {other: journal.agreements.of(self.names[other]) for other in role.neighbours}
        once = {other: found.once or b"" for other, found in agreed.items() if found}
        if position is None:
            chains = {other: found.chain or b"" for other, found in agreed.items() if found}
            own = self.escrow.own_chain(j)
        else:
            chains = {
                o: position.chains[self.names[o]] for o in role.neighbours if self.names[o] in position.chains
            }
            own = position.chains.get(self.names[j], b"")
        streams = ChainStreams(1 if position is None else position.round, chains, once, own, role.dtype)
        task = GradientTask(self.problem.dim, lambda x, k, h, rng: self.problem.gradient(j, x))
        return Peer(
            role,
            self.names,
            conversation,
            journal,
            RoundNoise(streams),
            LocalSteps(task, 1, known_seeds),
            self.first,
        )

    def play(self) -> list[Finished]:
        """Everybody, undisturbed."""

        async def all_members() -> list[Finished]:
            board = self.board()
            return await asyncio.gather(*(self.member(j, board) for j in range(self.network.n)))

        return asyncio.run(all_members())

    def replay(self) -> hk.Run:
        """The same run in the simulator, on the same noise."""
        roles = [self.role(j) for j in range(self.network.n)]
        again = replayed(roles, [self._streams(role) for role in roles])
        return hk.solve(
            self.problem,
            self.network,
            again,
            rounds=self.rounds,
            step=self.step,
            start=self.first,
            keep="path",
        )

    def _streams(self, role: MemberRole) -> ChainStreams:
        keys = {
            other: self.escrow.keys(PLAN, min(role.index, other), max(role.index, other))
            for other in role.neighbours
        }
        chains = {other: key.chain for other, key in keys.items()}
        once = {other: key.once for other, key in keys.items()}
        return ChainStreams(1, chains, once, self.escrow.own_chain(role.index), role.dtype)


@dataclass
class Ears:
    """Passes handshakes on."""

    agreeing: NoiseAgreement
    conversation: Conversation | None = None

    async def joined(self, neighbour: str, version: str) -> None:
        assert self.conversation is not None
        await self.agreeing.greet(self.conversation, neighbour)

    async def lost(self, neighbour: str, reason: str) -> None:
        pass

    async def received(self, neighbour: str, frame: Frame) -> None:
        assert self.conversation is not None
        await self.agreeing.receive(self.conversation, neighbour, frame)
