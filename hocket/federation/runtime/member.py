"""One member of a federation: its plan, its identity, its task, where it keeps its things, and how its run ended."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from hocket.errors import BadInput, BadPlan, RunStopped
from hocket.federation.audit.certificate_check import check_certificate
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import read_plan
from hocket.federation.plan.relays import relay_orders, through_relays
from hocket.federation.plan.sections import PUBLIC
from hocket.federation.runtime.peer import Finished
from hocket.federation.runtime.role import MemberRole, role_of
from hocket.federation.state.accounts import Accounts, Digests
from hocket.federation.state.digests import row_digests, salted_digest
from hocket.federation.state.home import Home
from hocket.federation.state.known_keys import KnownKeys
from hocket.federation.state.run_folder import RunFolder
from hocket.federation.verification.noise_disclosure import FOLDER as DISCLOSED
from hocket.federation.verification.noise_disclosure import Disclosure
from hocket.federation.workloads.task import Task
from hocket.federation.workloads.task_checks import check_task
from hocket.federation.workloads.workload import Workload, workload_of
from hocket.links.channel import GrpcChannels, Neighbour, open_channels
from hocket.links.events import Channels
from hocket.links.handshake import FromSystem, Secrets
from hocket.links.journals.journal import Journal
from hocket.links.keys.identity import Identity, name_in_clear
from hocket.links.relay.forwarding import LogEvent, no_log
from hocket.links.server import LinkLimits
from hocket.links.wire import Limits, unpack


def ended(folder: RunFolder, plan: FederationPlan, name: str) -> Finished:
    """How a member's run of this plan ended; refused if it has not."""
    # Nothing is said from here, so a copy will do.
    with Journal.open(folder.journal, plan.run_hash, create=False, vouched=True) as journal:
        position = journal.position
    if position is None or position.chains:
        at = 0 if position is None else position.round
        raise RunStopped(
            f"{name} has not finished the run in {folder.path}: it is in round {at} of {plan.run.rounds}; finish it "
            "with hocket peer run",
            round=at,
        )
    x, published, *_ = unpack(position.state, Limits(len(position.state)), plan=plan.run_hash).parts
    return Finished(np.array(x), np.array(published))


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
    vouched: bool = False
    """Whether its operator vouches that these files are the newest, and that no copy of them has spoken since."""
    secrets: Secrets = field(default_factory=FromSystem)
    whole: FederationPlan | None = None
    """The plan that all have signed, where this member goes on by one without those who left."""

    @property
    def name(self) -> str:
        return self.identity.name

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.home.run((self.whole or self.plan).run_hash))

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.plan.task.dtype)

    @cached_property
    def data(self) -> str:
        """The salted digest that its task gives of its data; empty if it gives none."""
        return salted_digest(self.home, self.task)

    @cached_property
    def accounts(self) -> Accounts:
        """Of its home: one object, so that what is done within a transaction is part of it."""
        return self.home.accounts

    @property
    def workload(self) -> Workload:
        """Its part in what all carry out, from its beginning."""
        return workload_of(self)

    @cached_property
    def rows(self) -> Digests:
        """The salted digests of its data's rows; none if its task does not give them."""
        return row_digests(self.home, self.task)

    @property
    def disclosure(self) -> Disclosure:
        """What it keeps of a run that can be verified."""
        return Disclosure(self.folder.path / DISCLOSED, self.dtype, self.plan.task.dimension)

    def check(self) -> None:
        """Refuse what would fail later, or should not begin at all."""
        self.check_signed(without=self.accounts.left((self.whole or self.plan).run_hash.hex()))
        if self.plan.card(self.name).certificate_pem != self.identity.certificate_pem:
            raise BadPlan(
                f"the plan names another certificate for {self.name} than this one; use the identity whose card was "
                "given to the plan, or put the new card into it (hocket peer replace PLAN CARD) for all to sign again"
            )
        keys = KnownKeys.of(self.home)
        keys.check_accepted(self.plan, self.name)
        if self.folder.plan.exists():
            keys.check_not_older(self.plan, read_plan(self.folder.plan, self.home.own_code))
        check_certificate(self.plan)
        check_task(self.task, self.plan)

    def check_signed(self, *, without: Collection[str]) -> None:
        """Refuse a plan that not all have signed with a certificate that is valid; `without` are who was dropped."""
        self.plan.check_signatures(without=without)
        self.plan.check_certificates(without=without)

    def start(self) -> np.ndarray:
        """Where this member begins: the public start, the same for all, or what it published in an earlier run."""
        public = self.plan.run.start == PUBLIC
        first = self.task.start(self.plan.task.seed) if public else self._published_before()
        first = np.asarray(first, dtype=self.dtype)
        if first.shape != (self.plan.task.dimension,):
            raise BadInput(f"the start has shape {first.shape}, not ({self.plan.task.dimension},)")
        return self.plan.feasible.project(first)

    def _published_before(self) -> np.ndarray:
        """Projected noise and all: what was published may lie outside X by as much as noise carried it."""
        folder = RunFolder(self.home.run(bytes.fromhex(self.plan.run.start)))
        if not folder.plan.exists():
            raise BadInput(
                f"{self.name} is to go on from the run in {folder.path}, and there is none; restore that folder from a "
                "backup, or plan a public start together"
            )
        return ended(folder, read_plan(folder.plan, self.home.own_code), self.name).published.astype(
            self.dtype
        )

    def role(self, gone: frozenset[str] = frozenset()) -> MemberRole:
        """This member's place in the run."""
        return role_of(self.plan, self.name, gone)

    async def open_channels(self, *, epoch: int = 0, log: LogEvent = no_log) -> Channels:
        """Links to all neighbours, over the network; `epoch` counts this member's starts. Its forwarder, if it needs
        one, logs what is wrong with itself."""
        orders = relay_orders(self.plan, self.identity, (self.whole or self.plan).hash.hex(), self.home.proxy)
        listen = self.listen or _bindable(self.plan.card(self.name).address)
        if orders is None:
            return await self._open_channels(epoch, listen, {})
        return await through_relays(orders, listen, partial(self._open_channels, epoch), log)

    async def _open_channels(
        self, epoch: int, listen: str | None, elsewhere: Mapping[str, str]
    ) -> GrpcChannels:
        """Links to all neighbours, some of which are dialled elsewhere than at their own addresses."""
        plan, dialled = self.plan, self.plan.dials(self.name)
        size = MOST_ARRAYS * self.dtype.itemsize * plan.task.dimension
        cards = [(name, plan.card(name)) for name in plan.neighbours(self.name)]
        return await open_channels(
            self.name,
            key=self.identity.private_key_pem,
            certificate=self.identity.certificate_pem,
            neighbours=[
                Neighbour(
                    name,
                    card.certificate_pem,
                    name_in_clear(card.certificate_pem),
                    elsewhere.get(name, card.address) if name in dialled else None,
                )
                for name, card in cards
            ],
            plan=(self.whole or plan).hash.hex(),
            listen=listen,
            limits=LinkLimits(message=Limits.for_messages(size).bytes),
            epoch=epoch,
        )


def _bindable(address: str | None) -> str | None:
    """Where to listen for an address on a card: a name may be a router's, so all interfaces; loopback is loopback.

    An address in numbers is listened for in its own family.
    """
    if address is None:
        return None
    host, _, port = address.rpartition(":")
    if _is_loopback(host):
        return address
    return f"[::]:{port}" if host.startswith("[") else f"0.0.0.0:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
