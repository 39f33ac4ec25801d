"""What members give of a finished run, changed, and mostly signed after that: by all of them together.

An input is a folder: trees and texts by the name of their file, as JSON, and whether they are signed when they are
read. Keys are made anew for each process, so an input holds no signature.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from hocket.cli.peer.verify import verify as verify_command
from hocket.errors import BadConfig
from hocket.federation.plan.cards import Card
from hocket.federation.state.known_keys import KnownKeys
from hocket.federation.verification import study_signatures, verify
from hocket.federation.verification.result_files import FILE, PURPOSE, given_away
from hocket.federation.verification.study_signatures import SIGNATURES
from hocket.federation.verification.verify import FILE as TRANSCRIPT
from hocket.files import json_value
from hocket.studies.results.results import COEFFICIENTS, RESULTS, coefficients_csv, digest_of
from tests.fuzz.disk import PLAN
from tests.fuzz.mutations import changed_bytes, changed_tree, pick, swollen_tree
from tests.peers.plans import CARDS, IDENTITIES

ERRORS = (ValueError, TypeError, KeyError, AttributeError, RecursionError, IndexError)
"""With which a file is not made, where another was changed beyond what it can be made of."""
RENEWED = CARDS[0].renewed_by(IDENTITIES[0])
"""A card that the key before it has signed: the same one, for the form is all that matters."""
RESULT: dict[str, Any] = {
    "hocket": "0",
    "study": "f" * 64,
    "totals": 3,
    "coefficients": {"age": {"estimate": 0.5, "error": 0.1, "low": 0.3, "high": 0.7, "p_value": 0.01}},
    "rows_by_member": {"clinic-a": 40},
    "remarks": ["one"],
}


def signed_plan() -> Any:
    """A plan that all have signed."""
    plan = PLAN
    for identity in IDENTITIES:
        plan = plan.signed_by(identity)
    return plan


class Folders:
    """Folders as `hocket peer verify` reads them."""

    def __init__(self, folder: Path):
        self.folder = folder / "given"
        self.folder.mkdir()
        self.plan = signed_plan()

    def make(self, draw: Random) -> bytes:
        which = pick(draw, (RESULTS, SIGNATURES, TRANSCRIPT, FILE, COEFFICIENTS))
        files = dict[str, Any]()

        def write(name: str, tree: Any) -> Any:
            change = swollen_tree if draw.random() < 0.05 else changed_tree
            tree = change(tree, draw) if name == which else tree
            files[name] = tree if draw.random() < 0.98 else changed_bytes(_text(tree), draw).decode("latin-1")
            return tree

        result = write(RESULTS, RESULT)
        table, digest = coefficients_csv(RESULT["coefficients"]), digest_of(RESULT)
        with contextlib.suppress(*ERRORS):
            table = coefficients_csv(result.get("coefficients") or {})
        with contextlib.suppress(*ERRORS):
            digest = digest_of(result)
        files[COEFFICIENTS] = (
            changed_bytes(table.encode(), draw).decode("latin-1") if which == COEFFICIENTS else table
        )
        run, digests = self.plan.run_hash.hex(), {"said": "12" * 32, "received": "34" * 32}
        empty = {"signatures": {}}
        write(
            SIGNATURES,
            {"file": RESULTS, "run": run, "left": [], "sums": "ab" * 32, "results": digest} | empty,
        )
        links = dict.fromkeys(self.plan.neighbours("clinic-a"), digests)
        write(TRANSCRIPT, {"member": "clinic-a", "run": run, "links": links, "left": []})
        named = {name: {"size": 0, "sha256": ""} for name in files}
        write(FILE, {"member": "clinic-a", "run": run, "files": named})
        return json.dumps(files | {"signed": draw.random() < 0.8}).encode()

    def read(self, data: bytes) -> None:
        found = json_value(data)
        if not isinstance(found, dict):
            raise BadConfig("no folder")
        for path in self.folder.iterdir():
            path.unlink()
        truly = bool(found.get("signed"))
        for name in (RESULTS, COEFFICIENTS, SIGNATURES, TRANSCRIPT, FILE):
            tree = found.get(name)
            if truly and isinstance(tree, dict) and name in (SIGNATURES, TRANSCRIPT, FILE):
                tree = self._signed(name, tree)
            if tree is not None:
                (self.folder / name).write_bytes(_text(tree))
        with mock.patch("hocket.federation.plan.plan_file.read_plan", return_value=self.plan):
            answer = verify_command(self.folder / "plan.toml", given=[self.folder])
        json.dumps(answer.data)

    def _signed(self, name: str, table: dict[str, Any]) -> dict[str, Any]:
        """By those who have the keys: all members, or the one whose files they are."""
        if name == SIGNATURES:
            return table | {"signatures": self._signatures(table.get("results"), table.get("sums"))}
        if name == FILE and isinstance(named := table.get("files"), dict):
            table = table | {"files": {one: self._as_it_is(one, about) for one, about in named.items()}}
        message = json.dumps(table, sort_keys=True, separators=(",", ":")).encode()
        purpose = PURPOSE if name == FILE else verify.PURPOSE
        return table | {"signature": base64.b64encode(IDENTITIES[0].sign(message, purpose)).decode()}

    def _as_it_is(self, name: str, about: Any) -> Any:
        """What is said of a file, unless something was made up."""
        path = self.folder / name
        if not isinstance(about, dict) or about.get("sha256") != "" or name not in given_away(self.folder):
            return about
        data = path.read_bytes()
        return about | {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def _signatures(self, digest: Any, sums: Any) -> dict[str, str]:
        with contextlib.suppress(*ERRORS):
            found = bytes.fromhex(digest)
            message = study_signatures._message(self.plan, found, bytes.fromhex(sums))
            signed = [(one.name, found + one.sign(message, study_signatures.PURPOSE)) for one in IDENTITIES]
            return {name: base64.b64encode(signature).decode() for name, signature in signed}
        return {}


def _text(tree: Any) -> bytes:
    """A tree as JSON; a text as it stands."""
    return tree.encode("latin-1", "replace") if isinstance(tree, str) else json.dumps(tree).encode()


def known() -> list[Any]:
    """What a home remembers of keys."""
    return [{card.name: [card.table()] for card in CARDS}, {"clinic-a": [CARDS[0].table(), RENEWED.table()]}]


def remembered(path: Path) -> None:
    """As `sign` and `run` read it, and `sign` writes it."""
    keys = KnownKeys(path)
    for words in keys.accept((RENEWED, *CARDS[1:]), "clinic-e"):
        assert words.isprintable()
    keys.remember(CARDS)
    keys.check_accepted(PLAN, "clinic-e")


def vouched(card: Card) -> None:
    """Whether one card's key vouches for another's, asked of a stranger's card."""
    card.is_renewed_by(CARDS[0].certificate_pem)
