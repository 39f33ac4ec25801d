"""What the members of a federation agree on before round 1: one plan, one hash, a signature from everybody.

The hash covers all that decides what is computed, who talks to whom and what is hidden; how a file is laid out does
not change it. Members are agents in the order of the plan, 0 to n − 1.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hocket.algorithm import Algorithm, Setting
from hocket.algorithms import Centralised
from hocket.algorithms.totals import study_of
from hocket.config.problems import FeasibleSection
from hocket.config.sections import AlgorithmSection, StepSection
from hocket.errors import BadPlan
from hocket.federation.plan.cards import Card
from hocket.federation.plan.plan_hash import LABEL, PURPOSE, RUN_LABEL, hash_of
from hocket.federation.plan.sections import (
    GRADIENTS,
    PUBLIC,
    SUMS,
    AuditSection,
    CertificateSection,
    PlanKind,
    PlanRunSection,
    TaskSection,
)
from hocket.federation.runtime.role import begun_from_state
from hocket.federation.workloads.needs import needs
from hocket.links.keys.identity import Identity, check_certificate, verify_text
from hocket.links.keys.noise_keys import NOISE
from hocket.links.text import is_table, spelled
from hocket.links.wire import PROTOCOL
from hocket.networks.network import Network
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.sets import FeasibleSet
from hocket.steps import Step

DEEPEST = 127
"""Links from a member in the middle to the farthest: a sum goes up so many and down again, a seal from end to end, and
messages number the exchanges of a round in one byte."""


class Dial(NamedTuple):
    """A link between two agents, and which of them opens it."""

    dialer: int
    listener: int


@dataclass(frozen=True)
class FederationPlan:
    """Everything that members agree on. `draw_up` makes one, `read_plan` reads one."""

    cards: tuple[Card, ...]
    """The members, in the order of their agent numbers."""
    links: tuple[Dial, ...]
    """By the lower and then the higher agent number of their ends."""
    weights: tuple[tuple[float, ...], ...]
    """B, a row per agent."""
    topology: str
    algorithm_section: AlgorithmSection
    step_section: StepSection
    feasible_section: FeasibleSection
    task: TaskSection
    run: PlanRunSection
    audit: AuditSection
    certificate: CertificateSection | None = None
    """What is promised as differential privacy; None where nothing is."""
    protocol: int = PROTOCOL
    noise: int = NOISE
    signatures: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    """Base 64, by member; not part of the hash."""

    def __post_init__(self) -> None:
        self._check_members()
        self._check_links()
        if (self.protocol, self.noise) != (PROTOCOL, NOISE):
            raise BadPlan(
                f"the plan is for protocol {self.protocol} and noise {self.noise}, this version of hocket has protocol "
                f"{PROTOCOL} and noise {NOISE}; install the version the others have"
            )
        if self.algorithm_section.algorithm is Centralised:
            raise BadPlan(
                "the centralised baseline has nobody to talk to; plan joint-average, dgd, rss-nb, rss-lb or "
                "function-sharing"
            )
        # What fits together only as a whole is refused here too, not in round 1.
        self.feasible.check_dim(self.task.dimension)
        self.algorithm.validate(Setting(self.network, self.task.dimension, self.step, self.run.rounds))
        if needs(self.algorithm).own_gradients and (self.run.local_steps > 1 or self.run.verifiable):
            what = (
                "verifiable runs keep" if self.run.verifiable else f"{self.run.local_steps} local steps are"
            )
            raise BadPlan(
                f"{self.algorithm.title} takes one gradient in a round, and works it into what it says later: {what} "
                "for algorithms that step by themselves; plan one local step, and no verification"
            )
        if self.run.start != PUBLIC:
            begun_from_state(self.algorithm)
        if self.run.drop_after and needs(self.algorithm).sums and not needs(self.algorithm).restarts:
            raise BadPlan(
                "no sum can be taken without a member, so that dropping one by rule would end the run: leave "
                "drop_after away, or plan a study with --on-drop restart"
            )
        if needs(self.algorithm).sums and len(self.cards) > 2 * DEEPEST:  # fewer are never so far apart
            from networkx import radius  # slow, and needed only here

            deep: int = radius(self.network.graph)
            if deep > DEEPEST:
                raise BadPlan(
                    f"from every member some other is {deep} links away or more, and sums over all members go over "
                    f"{DEEPEST} at most; plan more links: random-regular:d=4 has a thousand members within ten"
                )
        if self.run.means and (self.certificate is not None or needs(self.algorithm).sums):
            raise BadPlan(
                "the plan adds up states as they are, which no ε covers; plan means = 0"
                if self.certificate is not None
                else f"{self.algorithm.title} sums over all members anyway, and all see by that whether it converges; "
                "plan means = 0"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, in the order of their agent numbers."""
        return tuple(card.name for card in self.cards)

    def listed(self, agents: Iterable[int]) -> str:
        """The names of these agents, by their numbers."""
        return ", ".join(self.names[agent] for agent in sorted(agents))

    def agent(self, name: str) -> int:
        """A member's agent number."""
        if name not in self.names:
            raise BadPlan(f"{name} is not in this plan; its members are {', '.join(self.names)}")
        return self.names.index(name)

    def card(self, name: str) -> Card:
        """A member's card."""
        return self.cards[self.agent(name)]

    def dials(self, name: str) -> tuple[str, ...]:
        """The neighbours that a member opens its links to."""
        me = self.agent(name)
        return tuple(self.names[link.listener] for link in self.links if link.dialer == me)

    def awaits(self, name: str) -> tuple[str, ...]:
        """The neighbours that open their links to this member."""
        me = self.agent(name)
        return tuple(self.names[link.dialer] for link in self.links if link.listener == me)

    def relays(self, name: str, neighbour: str) -> tuple[str, ...]:
        """The relays through which two neighbours find each other; none where one dials the other directly."""
        card = self.card(neighbour if neighbour in self.dials(name) else name)
        return card.relays if card.address is None else ()

    def neighbours(self, name: str) -> tuple[str, ...]:
        """All whom a member talks to, in the order of their agent numbers."""
        return tuple(self.names[other] for other in self.network.neighbours(self.agent(name)))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The two ends of every link, the lower agent number first."""
        return [(min(link), max(link)) for link in self.links]

    @cached_property
    def network(self) -> Network:
        """Who talks to whom, with which weights, members by name."""
        network = Network(self.pairs, n=len(self.cards), weights=np.array(self.weights), name=self.topology)
        return network.called(self.names)

    @cached_property
    def algorithm(self) -> Algorithm:
        """What every member runs."""
        return self.algorithm_section.build()

    @property
    def study(self) -> str | None:
        """The text of the study that is run; None where the members follow gradients."""
        return study_of(self.algorithm)

    @property
    def kind(self) -> PlanKind:
        """What depends on whether the members follow gradients or add up what a study asks for."""
        return GRADIENTS if self.study is None else SUMS

    @cached_property
    def step(self) -> Step:
        """How large the steps are."""
        step = self.step_section.build()
        if not isinstance(step, Step):
            raise BadPlan(
                "a step can be derived only where all objectives are known, and no member knows them; agree on a number"
            )
        return step

    @cached_property
    def feasible(self) -> FeasibleSet:
        """Where states must lie."""
        return self.feasible_section.build()

    @property
    def objectives(self) -> ObjectiveClass:
        """The class that every member says its objective is of."""
        return ObjectiveClass.parse(self.task.objectives)

    def tables(self) -> dict[str, Any]:
        """All that is agreed, as plain values: what is hashed."""
        links = [[self.names[link.dialer], self.names[link.listener]] for link in self.links]
        # A plan that promises nothing has no section, and the hash that it always had.
        promised = (
            {}
            if self.certificate is None
            else {"certificate": self.certificate.model_dump(exclude_none=True)}
        )
        return promised | {
            "federation": {"members": list(self.names), "protocol": self.protocol, "noise": self.noise},
            "task": self.task.model_dump(),
            "run": self.run.table(),
            "algorithm": self.algorithm_section.model_dump(exclude_none=True),
            "step": self.step_section.model_dump(),
            "feasible": self.feasible_section.model_dump(),
            "network": {
                "topology": self.topology,
                "links": links,
                "weights": [list(row) for row in self.weights],
            },
            "audit": self.audit.model_dump(),
            "cards": {card.name: card.table() for card in self.cards},
        }

    @cached_property
    def hash(self) -> bytes:
        """Names the plan: 32 bytes that every member must arrive at, and signs."""
        return hash_of(LABEL, self.tables())

    @cached_property
    def run_hash(self) -> bytes:
        """Names the run: words, noise and journals belong to it. It leaves out certificates and addresses alone, so
        that a plan that was signed again with a renewed card goes on with the run that the old plan began."""
        tables = self.tables()
        return hash_of(RUN_LABEL, {name: table for name, table in tables.items() if name != "cards"})

    @property
    def fingerprint(self) -> str:
        """The hash in words, to compare by voice."""
        return spelled(self.hash)

    def check_names(self, identity: Identity) -> None:
        """Refuse an identity that is no member's of this plan."""
        if self.card(identity.name).certificate_pem != identity.certificate_pem:
            raise BadPlan(
                f"the plan names another certificate for {identity.name} than yours ({identity.fingerprint}); "
                "put your card into it with hocket peer replace PLAN CARD, for all to sign again"
            )

    def signed_by(self, identity: Identity) -> FederationPlan:
        """The plan with this member's signature."""
        self.check_names(identity)
        signature = base64.b64encode(identity.sign(self.hash, PURPOSE)).decode()
        return dataclasses.replace(self, signatures={**self.signatures, identity.name: signature})

    def with_renewed(self, cards: Iterable[Card]) -> FederationPlan:
        """The plan with these in place of the same members' cards, for all to sign anew: its run goes on."""
        newer = {self.agent(card.name): card for card in cards}
        replaced = tuple(newer.get(agent, card) for agent, card in enumerate(self.cards))
        return dataclasses.replace(self, cards=replaced, signatures={})

    def with_signatures_of(self, other: FederationPlan) -> FederationPlan:
        """The plan with the signatures that a copy of it has collected."""
        if other.hash != self.hash:
            raise BadPlan(f"this is a copy of another plan: {difference(self, other)}")
        other._check_those_given()
        return dataclasses.replace(self, signatures={**self.signatures, **other.signatures})

    @property
    def unsigned(self) -> tuple[str, ...]:
        """Members who have not signed yet."""
        return tuple(name for name in self.names if name not in self.signatures)

    def check_signatures(self, *, without: Collection[str] = ()) -> None:
        """Refuse a plan that not everybody has signed as it stands; `without` are members who were dropped."""
        self._check_those_given()
        missing = [name for name in self.unsigned if name not in without]
        if missing:
            raise BadPlan(
                f"the plan lacks the signature of {', '.join(missing)}; each signs with: hocket peer sign PLAN"
            )

    def check_certificates(self, now: datetime | None = None, *, without: Collection[str] = ()) -> None:
        """Refuse a plan with a certificate that is not, or no longer, valid."""
        for card in self.cards:
            if card.name not in without:
                check_certificate(card.certificate_pem, card.name, now=now)

    def _check_those_given(self) -> None:
        for name, signature in self.signatures.items():
            if not verify_text(self.card(name).certificate_pem, self.hash, PURPOSE, signature):
                raise BadPlan(
                    f"the signature of {name} is not for this plan, {self.fingerprint}: the plan was changed after "
                    f"{name} signed it; everybody signs it again"
                )

    def _check_members(self) -> None:
        twice = [name for place, name in enumerate(self.names) if name in self.names[:place]]
        if twice:
            raise BadPlan(
                f"two cards are made out to {twice[0]}; every member has one card and a name of its own"
            )
        if len({card.certificate for card in self.cards}) < len(self.cards):
            raise BadPlan(
                "two cards hold the same certificate; every member makes its own with hocket peer init"
            )

    def _check_links(self) -> None:
        for link in self.links:
            card = self.cards[link.listener]
            if card.address is None and not card.relays:
                dialer, listener = self.names[link.dialer], self.names[link.listener]
                raise BadPlan(
                    f"{dialer} is to dial {listener}, which has no address and no relay; let {listener} dial, or give "
                    "it an address or a relay"
                )
        if self.pairs != sorted(self.pairs):
            raise BadPlan("the links are out of order; sort them by the agent numbers of their ends")


def difference(mine: FederationPlan, theirs: FederationPlan) -> str | None:
    """The first place where two plans differ, in words; None if they are the same."""
    return _difference(mine.tables(), theirs.tables(), ())


def _difference(mine: Any, theirs: Any, where: tuple[str, ...]) -> str | None:
    if is_table(mine) and is_table(theirs):
        for key in dict.fromkeys([*mine, *theirs]):
            if key not in mine or key not in theirs:
                who = "theirs" if key not in mine else "mine"
                return f"{_place((*where, key))} is in {who} alone"
            found = _difference(mine[key], theirs[key], (*where, key))
            if found is not None:
                return found
        return None
    if mine == theirs:
        return None
    return f"{_place(where)} is {_short(mine)} here and {_short(theirs)} there"


def _place(where: tuple[str, ...]) -> str:
    """A key with its section, as it stands in the file."""
    *sections, key = where
    return f"[{'.'.join(sections)}] {key}" if sections else f"[{key}]"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:40]}… ({hashlib.sha256(text.encode()).hexdigest()[:8]})"
