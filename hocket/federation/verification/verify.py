"""Verifying a finished run: that both ends of every link heard the same, and that the words are what the plan says.

Every member signs digests of what was said over its links, from which nobody learns a state. Without anything being
disclosed these are compared: if both ends of a link have signed the same, nobody on the way changed a bit. Where all
members disclose their keys and steps, the run is played again in one place, word by word, and its digests must be those
that were signed. That shows that words, noise and mixing fit together. A step is the member's own word: that it
followed from its data is shown only where its task computes it anew.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hocket.agent import Local
from hocket.algorithm import x_of
from hocket.algorithms.function_sharing import stored_of
from hocket.config.section import Section, check
from hocket.errors import BadConfig, BadInput
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import PUBLIC
from hocket.federation.runtime.role import role_of
from hocket.federation.state.run_folder import MOST_GIVEN, read_json, write_json
from hocket.federation.verification.noise_disclosure import FOLDER, Disclosed, Disclosure
from hocket.federation.verification.replay import Player, replay
from hocket.federation.workloads.task import LocalSteps, Task
from hocket.links.journals.journal import Journal
from hocket.links.journals.records import Record, digest_of
from hocket.links.keys.identity import NAME, Identity, verify
from hocket.privacy.plain_values import plain_values

PURPOSE = b"hocket/transcript/1"
"""What members sign a transcript for."""
FILE = "transcript.json"


class LinkDigests(Section):
    """One link, as one end has it."""

    said: str = Field(
        pattern="^[0-9a-f]{64}$", description="the running digest of all messages said, in hexadecimal"
    )
    received: str = Field(
        pattern="^[0-9a-f]{64}$", description="the running digest of all messages received, in hexadecimal"
    )


class TranscriptSection(Section):
    """The file."""

    member: str = Field(pattern=f"^{NAME.pattern}$", description="the member's name")
    run: str = Field(description="the run's hash, in hexadecimal")
    links: dict[str, LinkDigests] = Field(description="digests by neighbour")
    left: list[str] = Field(description="members who were dropped on the way")
    signature: str = Field(description="the member's signature, in base 64")


@dataclass(frozen=True)
class SignedTranscript:
    """Digests by neighbour; members who were dropped are named, as their two ends may have parted at other words."""

    member: str
    run: bytes
    links: dict[str, LinkDigests]
    left: tuple[str, ...]
    signature: bytes = b""

    @classmethod
    def of(cls, identity: Identity, journal: Journal, records: dict[str, Record]) -> SignedTranscript:
        """What a member signs when it has finished."""
        left = tuple(sorted(journal.ballots.left))
        links = {
            name: LinkDigests(said=one.said.hex(), received=one.received.hex())
            for name, one in sorted(records.items())
            if name not in left
        }
        unsigned = cls(identity.name, journal.plan, links, left)
        return cls(identity.name, journal.plan, links, left, identity.sign(unsigned.message, PURPOSE))

    @property
    def message(self) -> bytes:
        """What is signed."""
        return json.dumps(self._table(), sort_keys=True, separators=(",", ":")).encode()

    def save(self, folder: Path) -> None:
        """Write it into a run's folder."""
        write_json(folder / FILE, self._table() | {"signature": base64.b64encode(self.signature).decode()})

    def check(self, plan: FederationPlan) -> None:
        """Refuse what is of another run, or what its member has not signed."""
        if self.run != plan.run_hash:
            raise BadInput(f"the transcript of {self.member} is of another run; ask for that of this plan")
        if not verify(plan.card(self.member).certificate_pem, self.message, PURPOSE, self.signature):
            raise BadInput(
                f"the transcript of {self.member} was not signed by it; ask {self.member} for it again"
            )

    def _table(self) -> dict[str, Any]:
        return {
            "member": self.member,
            "run": self.run.hex(),
            "links": {name: one.model_dump() for name, one in self.links.items()},
            "left": list(self.left),
        }


def read_transcript(folder: Path) -> SignedTranscript:
    """The transcript in a folder that a member gave."""
    path = folder / FILE
    if not path.is_file():
        raise BadConfig(f"there is no {FILE} in {folder}; a member writes it when it has finished its run")
    found = check(TranscriptSection, FILE, read_json(path, MOST_GIVEN))
    try:
        run, signature = bytes.fromhex(found.run), base64.b64decode(found.signature, validate=True)
    except ValueError:
        raise BadConfig(f"{path} is damaged: no hexadecimal or base 64; ask for it again") from None
    return SignedTranscript(found.member, run, found.links, tuple(found.left), signature)


@dataclass(frozen=True)
class Verification:
    """What was found; `holds` is the answer."""

    members: tuple[str, ...]
    """Whose transcripts were given."""
    links: int
    """Links of which both ends were given."""
    missing: tuple[str, ...]
    """Members who gave nothing."""
    differences: tuple[str, ...]
    """What does not agree, in words."""
    replayed: bool
    """Whether the run was played again from what all disclosed."""
    recomputed: tuple[str, ...] = ()
    """Members whose steps were computed anew from their tasks, not taken from what they disclosed."""
    published: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """By member, what the replay ends with."""

    @property
    def holds(self) -> bool:
        """Whether all that could be compared agrees."""
        return not self.differences

    def to_json(self) -> dict[str, Any]:
        """The finding in plain values."""
        names = ("holds", "members", "missing", "links", "differences", "replayed", "recomputed")
        return plain_values(self, *names)


def verify_run(
    plan: FederationPlan, folders: Sequence[Path], *, tasks: Mapping[str, Task] | None = None
) -> Verification:
    """Compare what members gave of a finished run, and play it again if all of them disclosed it.

    `tasks` are of members whose data are at hand: their steps are computed anew.
    """
    given: dict[str, tuple[SignedTranscript, Path]] = {}
    for folder in folders:
        found = read_transcript(folder)
        found.check(plan)
        given[found.member] = (found, folder)
    transcripts = {name: found for name, (found, _) in given.items()}
    links, differences = _compared(plan, transcripts)
    disclosures = {
        name: Disclosure(folder / FOLDER, np.dtype(plan.task.dtype), plan.task.dimension)
        for name, (_, folder) in given.items()
    }
    members = tuple(name for name in plan.names if name in given)
    missing = tuple(name for name in plan.names if name not in given)
    finding = partial(Verification, members, links, missing)
    if differences or missing or not all(one.begun for one in disclosures.values()):
        return finding(tuple(differences), replayed=False)
    if any(found.left for found in transcripts.values()):
        raise BadInput(
            "members were dropped in this run, and such a run cannot be played again; compare digests alone"
        )
    disagreeing = _agreed(plan, disclosures)
    if disagreeing:  # there is no one run to play again
        return finding(tuple(disagreeing), replayed=False)
    tasks = tasks or {}
    players = [_player(plan, name, disclosures[name], tasks.get(name)) for name in plan.names]
    differences = _replayed(plan, players, transcripts)
    published = {name: x_of(one.state) for name, one in zip(plan.names, players, strict=True)}
    return finding(tuple(differences), replayed=True, recomputed=tuple(tasks), published=published)


def _compared(plan: FederationPlan, given: Mapping[str, SignedTranscript]) -> tuple[int, list[str]]:
    """Links of which both ends are known, and where these disagree. A link of somebody who was dropped is known only
    if both ends say that it was, and then not compared."""
    count = 0
    differences: list[str] = []
    for i, j in plan.pairs:
        one, other = plan.names[i], plan.names[j]
        if one not in given or other not in given:
            continue
        if one in given[other].left or other in given[one].left:
            differences.append(f"{one} and {other} disagree: one of them says that the other was dropped")
            continue
        count += 1
        mine, theirs = given[one].links.get(other), given[other].links.get(one)
        if mine is None or theirs is None:
            differences.append(f"{one} or {other} has no record of their link")
            continue
        for sender, receiver, said, received in (
            (one, other, mine.said, theirs.received),
            (other, one, theirs.said, mine.received),
        ):
            if said != received:
                differences.append(f"what {sender} said is not what {receiver} heard")
    return count, differences


def _agreed(plan: FederationPlan, given: Mapping[str, Disclosure]) -> list[str]:
    """Where two members disclose other keys for their link, or begin elsewhere."""
    streams = {name: one.streams(plan.names, plan.neighbours(name)) for name, one in given.items()}
    wrong: list[str] = []
    for i, j in plan.pairs:
        one, other = streams[plan.names[i]], streams[plan.names[j]]
        if (one.chains.get(j), one.once.get(j)) != (other.chains.get(i), other.once.get(i)):
            wrong.append(f"{plan.names[i]} and {plan.names[j]} disclose other noise keys for their link")
    first = next(iter(given))
    if plan.run.start == PUBLIC:
        wrong += [
            f"{name} began elsewhere than {first}"
            for name, one in given.items()
            if not np.array_equal(one.start, given[first].start)
        ]
    return wrong


def _player(plan: FederationPlan, name: str, given: Disclosure, task: Task | None) -> Player:
    local: Local = Disclosed(given)
    streams = given.streams(plan.names, plan.neighbours(name))
    if task is not None:
        if stored_of(plan.algorithm) is not None:
            raise BadInput(
                f"the steps of {name} followed a sum with noise of its own, which stays on its disk and cannot be made "
                "again from its data; verify without its task"
            )
        local = LocalSteps(task, plan.run.local_steps, streams.batch)
    return Player(role_of(plan, name), streams, local, given.start)


def _replayed(
    plan: FederationPlan, players: Sequence[Player], given: Mapping[str, SignedTranscript]
) -> list[str]:
    """Whose words come out otherwise than signed."""
    records: dict[tuple[int, int], Record] = {}
    for word in replay(players, plan.run_hash):
        link, digest = (word.sender, word.receiver), digest_of(word.message)
        records[link] = records.get(link, Record()).after(
            word.round, word.exchange, said=digest, received=digest
        )
    return [
        f"from what was disclosed, {plan.names[sender]} would have said other words to {plan.names[receiver]} than it "
        "signed"
        for (sender, receiver), record in records.items()
        if given[plan.names[sender]].links[plan.names[receiver]].said != record.said.hex()
    ]
