"""Every door through which bytes come in that hocket has not just written itself, with a corpus of what is valid.

A door is read as its users read it. Whatever is handed in, it answers or raises an error of hocket's own; what it takes
it takes again, and understands the same, once hocket has written it out.
"""

from __future__ import annotations

import base64
import io
import json
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from cryptography.utils import CryptographyDeprecationWarning

from hocket.config import parse_config
from hocket.federation.membership.roster import Roster
from hocket.federation.membership.votes import read_vote, vote
from hocket.federation.plan.admission import outline
from hocket.federation.plan.cards import Card, read_card
from hocket.federation.plan.invitation import INVITATION, Invitation, read_invitation
from hocket.federation.plan.invitation import LONGEST as LONGEST_INVITATION
from hocket.federation.plan.invitation import PURPOSE as INVITES
from hocket.federation.plan.invitation import _digest as digest_of_invitation
from hocket.federation.plan.plan_file import LONGEST as LONGEST_PLAN
from hocket.federation.plan.plan_file import parse_plan, plan_text, read_plan
from hocket.federation.plan.policy import read_policy
from hocket.federation.runtime.rollback import LinkMemory, Memories
from hocket.federation.state.home import Home
from hocket.federation.state.served_plan import ServedPlan, record_of
from hocket.federation.state.signed_rows import FILE as SIGNED_ROWS
from hocket.federation.state.signed_rows import SignedRows
from hocket.files import NESTED, toml_tables
from hocket.links.handshake import FromSystem, Handshake, PublicKey
from hocket.links.journals.journal import Journal
from hocket.links.keys.identity import check_certificate, expires, name_in_clear, verify
from hocket.links.line import Introduction, Stamp
from hocket.links.relay.call import Call, Role, read_call
from hocket.links.wire import Frame, Kind, Limits, pack, pack_named, unpack, unpack_named
from hocket.studies.data.rows import understand
from hocket.studies.data.table import read_table
from hocket.studies.spec.condition import parse_condition
from hocket.studies.spec.formula import parse_formula
from hocket.studies.spec.study import parse_study, read_study
from tests.fuzz.disk import (
    PLAN,
    accounts,
    accounts_reader,
    journal,
    journal_reader,
    released,
    releases,
    runs,
    shown,
)
from tests.fuzz.given import RENEWED, Folders, known, remembered, vouched
from tests.fuzz.links import AtMember, AtMetrics, AtProxy, AtRelay
from tests.fuzz.mutations import (
    as_toml,
    changed_bytes,
    changed_cells,
    changed_text,
    changed_tree,
    pick,
    swollen,
    swollen_tree,
)
from tests.peers.journal_case import begin
from tests.peers.plans import CARDS, IDENTITIES, SHARING, drawn
from tests.peers.plans import JOINT as JOINT_AVERAGE

ROOMY = Limits(1 << 20)
SWOLLEN = 0.02
PLANS = (PLAN, drawn(algorithm=SHARING), drawn(algorithm=JOINT_AVERAGE))
HEART = (Path(__file__).parents[2] / "examples/heart.toml").read_text(encoding="utf-8")
STUDY = """
[study]
title = "Two clinics"
formula = "y ~ x + C(level) + rcs(age, 40, 50, 60)"
family = "poisson"
offset = "weight"
where = ["age >= 18"]
[columns.level]
levels = ["a", "b"]
[columns.x]
range = [0.0, 10.0]
missing = "mean"
[penalty]
ridge = 0.1
[describe]
columns = ["x", "level"]
cross = [["level", "level"]]
histograms = 5
[disclosure]
fewest_rows = 3
"""
CSV = "y,x,level,age,weight\n" + "".join(
    f"{i % 3},{i / 4},{'ab'[i % 2]},{30 + i},{i % 5}\n" for i in range(12)
)
CONFIG = {
    "problem": {"kind": "polynomials", "coefficients": [[0, 0, 1], [0, -2, 1], [0, 1, 1]], "box": [-30, 30]},
    "network": {"topology": "cycle:3"},
    "algorithm": {"name": "rss-nb", "delta": 1.0},
    "step": {"a": 1.0, "b": 20, "p": 0.75},
    "run": {"rounds": 10},
    "channel": {"loss": 0.1},
}
POLICY = {
    "policy": {
        "colluders": 1,
        "min_sd": 0.5,
        "gradient": 2.0,
        "epsilon": 3.0,
        "allow_unsafe": False,
        "smallest_cell": 5,
        "never_used": ["hiv"],
    }
}


@dataclass(frozen=True)
class Door:
    """A reader, and how inputs for it are made up."""

    make: Callable[[Random], bytes]
    read: Callable[[bytes], object]
    share: int
    """How many of a thousand inputs go here, or a few more: the cheaper one is, the more."""
    most: int = 1 << 16
    """Bytes up to which a few inputs are swollen: those that are read at most, where they are not too many."""

    def input(self, draw: Random) -> bytes:
        """One input; one of fifty is as large as any that is read, or a little larger."""
        data = self.make(draw)
        return data if draw.random() >= SWOLLEN else swollen(data, draw, self.most)


def doors(folder: Path) -> dict[str, Door]:
    """All doors; files are written into this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    relay, member, given = AtRelay(), AtMember(), Folders(folder)
    metrics, proxy = AtMetrics(), AtProxy()
    return {
        "frame": Door(partial(_frame, _frames()), _read_frame, 300, 2 << 20),
        "message": Door(partial(_frame, _frames(), whole=True), _Member(folder), 100, 2 << 20),
        "relay": Door(relay.make, relay, 40),
        "what relays say": Door(member.make, member, 40, 2 << 20),
        "metrics": Door(metrics.make, metrics, 15),
        "proxy": Door(proxy.make, proxy, 15),
        "files of a run": Door(given.make, given.read, 15, 11_000_000),
        "known keys": Door(partial(_json, known()), _file(folder, remembered), 10, 1 << 20),
        "signed rows": Door(
            _archive, _file(folder, lambda path: SignedRows.read(path.parent), SIGNED_ROWS), 15
        ),
        "TOML": Door(_bare_toml, _text(toml_tables), 30, 1 << 20),
        "named bytes": Door(partial(_changed, [pack_named({"anna": b"1" * 32, "": b""})]), _read_named, 100),
        "relay call": Door(partial(_json, [_call()]), read_call, 60),
        "introduction": Door(partial(_json, [dict(_ME.to("clinic-b"))]), _introduced, 40),
        "card": Door(
            partial(_toml, [tomllib.loads(card.text()) for card in (*CARDS, RENEWED)]),
            _file(folder, lambda path: vouched(read_card(path))),
            40,
            100_001,
        ),
        "certificate": Door(partial(_changed, [base64.b64decode(CARDS[0].certificate)]), _certified, 40),
        "invitation": Door(_invitation, _file(folder, read_invitation), 10, LONGEST_INVITATION + 1),
        "plan": Door(
            partial(_toml, [tomllib.loads(plan_text(plan)) for plan in PLANS]),
            _file(folder, _read_plan),
            10,
            LONGEST_PLAN + 1,
        ),
        "study": Door(
            partial(_toml, [tomllib.loads(HEART), tomllib.loads(STUDY)]), _read_study(folder), 30, 1_000_001
        ),
        "formula": Door(partial(_words, _formulas()), _read_formula, 50),
        "condition": Door(partial(_words, ["age >= 18", "num != -1.5e3"]), _text(parse_condition), 30),
        "configuration": Door(partial(_toml, [CONFIG]), _read_config, 40),
        "policy": Door(
            partial(_toml, [POLICY]), _file(folder, lambda _: read_policy(Home(folder)), "policy.toml"), 20
        ),
        "table": Door(_table, _file(folder, _understood), 30, 1 << 20),
        "journal": Door(journal(folder), journal_reader(folder), 10),
        "accounts": Door(accounts(folder), accounts_reader(folder), 15),
        "record": Door(partial(_json, [json.loads(record_of(PLAN))]), _text(ServedPlan.read), 15),
        "releases": Door(partial(_json, releases(), lines=True), released, 15),
        "status": Door(partial(_json, [{"round": 3, "dropped": ["clinic-a"]}]), _file(folder, shown), 5),
        "run": Door(*runs(folder), 5),
    }


def _frames() -> list[Frame]:
    arrays = (np.array([1.0, -2.5]), np.float32([[3.0]]), np.arange(5, dtype=np.uint16), b"note")
    roster = Roster(PLAN, IDENTITIES[1], bytes(16))
    kept = Frame(Kind.RECORD, PLAN.run_hash, parts=(bytes(60),))
    key = (bytes(range(32)), bytes(32), IDENTITIES[1].sign(b"", b""))
    return [
        Frame(Kind.MESSAGE, PLAN.run_hash, 7, 1, arrays),
        Frame(Kind.NONCE, PLAN.run_hash, parts=(bytes(32),)),
        Frame(Kind.KEY, PLAN.run_hash, parts=key),
        Frame(Kind.READY, PLAN.run_hash, parts=(bytes(32),)),
        Frame(Kind.DONE, PLAN.run_hash, 50),
        kept,
        vote(roster, "clinic-c").frame(PLAN),
        *roster.frames(),
    ]


def _frame(corpus: list[Frame], draw: Random, *, whole: bool = False) -> bytes:
    """A frame with bytes changed, or, as a whole one, with parts changed under a header that fits."""
    frame = pick(draw, corpus)
    if not whole:
        return changed_bytes(pack(frame), draw)
    parts = [changed_bytes(part, draw) if isinstance(part, bytes) else part for part in frame.parts]
    parts = draw.choice((parts, parts, parts[:-1], [*parts, b""], [*parts, np.zeros((2, 0))]))
    return pack(frame._replace(kind=pick(draw, [*Kind]) if draw.random() < 0.2 else frame.kind, parts=parts))


def _read_frame(data: bytes) -> None:
    frame = unpack(data, ROOMY)
    again = unpack(pack(frame), ROOMY)
    assert again[:4] == frame[:4]
    assert list(map(_as_bytes, again.parts)) == list(map(_as_bytes, frame.parts))


def _as_bytes(part: Any) -> bytes:
    return part if isinstance(part, bytes) else part.tobytes()


class _Member:
    """A member of the plan that a neighbour talks to."""

    def __init__(self, folder: Path):
        self.roster = Roster(PLAN, IDENTITIES[0], bytes(16))
        journal = Journal.open(folder / "member.db", PLAN.run_hash)
        begin(journal, 1)
        self.memories = Memories(journal, PLAN.neighbours("clinic-a"), 1)
        self.handshake = Handshake(
            IDENTITIES[0], CARDS[1].certificate_pem, PLAN.run_hash, 0, 1, FromSystem().offer(0, 1)
        )

    def __call__(self, data: bytes) -> None:
        frame = unpack(data, ROOMY, plan=PLAN.run_hash)
        self.roster.take(frame, "clinic-b")
        read_vote(self.roster, frame)
        memory = LinkMemory.read(frame) if frame.kind is Kind.RECORD else None
        if memory is not None:
            self.memories.compare("clinic-b", memory)
        parts = frame.plain(3)
        if frame.kind is Kind.KEY and parts:
            self.handshake.agree(bytes(32), PublicKey(*parts))


def _read_named(data: bytes) -> None:
    found = unpack_named(data)
    assert unpack_named(pack_named(found)) == found


def _changed(corpus: list[bytes], draw: Random) -> bytes:
    return changed_bytes(pick(draw, corpus), draw)


def _certified(der: bytes) -> None:
    """A certificate as a card, a plan and a link look at it."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", CryptographyDeprecationWarning
        )  # which is said, and taken or refused later
        card = Card("clinic-a", None, base64.b64encode(der).decode())
        check_certificate(card.certificate_pem, card.name)
        _ = card.fingerprint, name_in_clear(card.certificate_pem), expires(card.certificate_pem)
        assert not verify(card.certificate_pem, b"message", b"purpose", b"no signature")


def _words(corpus: list[str], draw: Random) -> bytes:
    return changed_text(pick(draw, corpus), draw).encode()


def _toml(corpus: list[dict[str, Any]], draw: Random) -> bytes:
    """Mostly TOML that can be read and says something else; else TOML with letters changed."""
    tree = pick(draw, corpus)
    if draw.random() < SWOLLEN:
        return as_toml(swollen_tree(tree, draw)).encode()
    if draw.random() < 0.75:
        changed = changed_tree(tree, draw)
        return as_toml(changed if isinstance(changed, dict) else {}).encode()
    return changed_text(as_toml(tree), draw).encode()


def _json(corpus: list[Any], draw: Random, *, lines: bool = False) -> bytes:
    several = [pick(draw, corpus) for _ in range(draw.randrange(1, 4) if lines else 1)]
    several[-1] = (swollen_tree if draw.random() < SWOLLEN else changed_tree)(several[-1], draw)
    text = "\n".join(map(json.dumps, several)).encode()
    return text if draw.random() < 0.75 else changed_bytes(text, draw)


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode(errors="replace"))


def _file(folder: Path, read: Callable[[Path], object], name: str = "input") -> Callable[[bytes], object]:
    path = folder / name

    def feed(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return feed


def _call() -> dict[str, Any]:
    call = Call("relay.example:443", Role.DIALS, PLAN.run_hash.hex(), "clinic-a", "clinic-b")
    return json.loads(call.signed_by(IDENTITIES[0], bytes(32)))


_ME = Introduction("clinic-a", PLAN.run_hash.hex(), Stamp(1, "0" * 16))


def _introduced(data: bytes) -> None:
    """As gRPC hands it over: texts by name, and nothing else."""
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        return
    theirs = {str(key): str(value) for key, value in table.items()} if isinstance(table, dict) else {}
    you = Introduction("clinic-b", PLAN.run_hash.hex(), Stamp(1, "0" * 16))
    complaint = you.complaint("clinic-a", theirs)
    assert complaint is None or complaint.isprintable()
    if complaint is None:
        assert Stamp.read(theirs) is not None


def _invitations() -> list[dict[str, Any]]:
    made = [Invitation(CARDS[0], PLAN, asks=True, note="Hello"), Invitation(CARDS[0])]
    return [tomllib.loads(one.text(IDENTITIES[0])) for one in made]


INVITATIONS = _invitations()


def _invitation(draw: Random) -> bytes:
    """An invitation that was changed on its way, or that its sender changed before it was signed."""
    if draw.random() < 0.5:
        return _toml(INVITATIONS, draw)
    tables = dict(pick(draw, INVITATIONS))
    about = tables.pop(INVITATION)
    tables = changed_tree(tables, draw)
    if not isinstance(tables, dict):
        return b""
    try:
        digest = digest_of_invitation(tables, asks=about["asks"], note=about["note"])
    except (TypeError, ValueError):  # no number that TOML has
        return as_toml(tables).encode()
    signature = base64.b64encode(IDENTITIES[0].sign(digest, INVITES)).decode()
    signed = about | {"sha256": digest.hex(), "signature": signature}
    return as_toml({INVITATION: signed, **tables}).encode()


def _read_plan(path: Path) -> None:
    """As members read it, and as a relay does."""
    plan = read_plan(path)
    assert parse_plan(plan_text(plan)).hash == plan.hash
    assert outline(path).hash == plan.hash.hex()


def _bare_toml(draw: Random) -> bytes:
    """Keys, lists and tables as deep as they may be and a little deeper, and whatever letters mean something."""
    deep = draw.choice((1, 7, 8, 9, NESTED - 1, NESTED, NESTED + 1, 2_000))
    key = ".".join(draw.choice(("a", "'b'", '"c"', "0")) for _ in range(deep))
    value = draw.choice(
        (
            "[" * deep + "]" * deep,
            "{a=" * deep + "1" + "}" * deep,
            "[{a=" * deep,
            '"""' + '"' * deep,
            "1" * deep,
        )
    )
    line = draw.choice((f"{key} = {value}", f"a = {value}", f"{key} = 1", f"[{key}]", f"[[{key}]]"))
    return changed_text(f"{line}\n{draw.choice(('', 'b = 2', line))}", draw).encode()


ROWS = {"whole": np.array("ab:cd"), "columns": np.array(["x"], str), "cells": np.zeros((3, 1), np.uint64)}


def _archive(draw: Random) -> bytes:
    """Arrays as NumPy packs them, with other arrays or other bytes."""
    text = io.BytesIO()
    other = draw.choice(
        (np.zeros((2, 2)), np.array("x"), np.array([1j]), np.zeros(0, np.uint64), np.zeros(9_999))
    )
    rows = ROWS if draw.random() < 0.7 else ROWS | {draw.choice([*ROWS]): other}
    draw.choice((np.savez, np.savez_compressed))(text, **rows)
    return changed_bytes(text.getvalue(), draw)


def _read_study(folder: Path) -> Callable[[bytes], object]:
    def read(path: Path) -> None:
        study = read_study(path)
        # What is worked out later than at the door.
        _ = study.formula, study.conditions, study.used, study.link
        assert parse_study(study.tables).fingerprint == study.fingerprint

    return _file(folder, read, "study.toml")


def _formulas() -> list[str]:
    return ["disease ~ age + sex*C(cp) + log(chol) - 1", "Surv(time, event) ~ rcs(age, 40, 50, 60) + x^2:z"]


def _read_formula(data: bytes) -> None:
    formula = parse_formula(data.decode(errors="replace"))
    assert formula.columns
    if not any(
        factor.function == "rcs" for term in formula.terms for factor in term
    ):  # whose knots are not printed
        assert parse_formula(str(formula)).terms == formula.terms


def _read_config(data: bytes) -> None:
    config = parse_config(toml_tables(data.decode(errors="replace")), base=Path("."))
    assert parse_config(toml_tables(config.text()), base=Path(".")).tables() == config.tables()


_TABLE_STUDY = parse_study(tomllib.loads(STUDY))


def _table(draw: Random) -> bytes:
    if draw.random() < 0.6:
        return changed_cells(CSV, draw).encode(draw.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")))
    return changed_bytes(CSV.encode(), draw)


def _understood(path: Path) -> None:
    understand(_TABLE_STUDY, read_table(path))
