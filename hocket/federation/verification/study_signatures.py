"""Members sign what a study found: each says that it saw exactly these sums, and which table it came to by them.

The sums are the same to the last bit at all members, and so is what stands for them. A table is not: two machines may
round its last digits to different sides. So a member whose table differs has signed the same sums all the same, and
ends its run like everybody else; it is only named where tables are compared.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from hocket.config.section import Section, check
from hocket.errors import BadInput, LinkError
from hocket.federation.membership.restart import left_of, remaining_plan
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.peer import Finished
from hocket.federation.state.run_folder import MOST_GIVEN, read_json, write_json
from hocket.files import read_bytes
from hocket.links.keys.identity import verify
from hocket.links.text import is_table
from hocket.report.tables import Table
from hocket.studies.results.results import COEFFICIENTS, RESULTS, Results, coefficients_csv, digest_of

PURPOSE = b"hocket/results/1"
"""What members sign results for."""
SIGNATURES = "signatures.json"
MOST_RESULTS = 100_000_000
"""Bytes of results that another member gave."""
HEX = "^[0-9a-f]{64}$"
DIGEST = 32
"""Bytes of a digest, which begin what a member says; its signature follows."""


class SignaturesSection(Section):
    """The file."""

    file: str = Field(description=f"the name of the file that was signed, {RESULTS}")
    run: str = Field(pattern=HEX, description="the run's hash, in hexadecimal")
    left: list[str] = Field(description="members who were dropped")
    sums: str = Field(pattern=HEX, description="what stands for all sums, in hexadecimal")
    results: str = Field(pattern=HEX, description="the digest of the results, in hexadecimal")
    signatures: dict[str, str] = Field(description="by member its own digest and its signature, in base 64")


def sealed(member: Member, results: Results, point: bytes) -> bytes:
    """This member's signature, made once: after a crash the same is said again."""
    file = member.folder.path / SIGNATURES
    if not file.exists():
        digest = bytes.fromhex(results.digest)
        made = member.identity.sign(_message(member.plan, digest, point), PURPOSE)
        _write(member, results.digest, point, {member.name: digest + made})
    return base64.b64decode(read_json(file)["signatures"][member.name])


@dataclass
class Signatures:
    """Signs what a study came to, and knows others' signatures of the same sums by the plan's certificates."""

    member: Member
    concluded: Callable[[np.ndarray], Results]
    """From all sums to what they come to."""
    _point: bytes = b""

    def own(self, published: np.ndarray, point: bytes) -> bytes:
        """This member's signature."""
        self._point = point
        return sealed(self.member, self.concluded(published), point)

    def holds(self, name: str, seal: bytes) -> bool:
        """Whether this member of the plan has signed the same sums."""
        return _holds(self.member.plan, name, seal, self._point)

    def kept(self) -> dict[str, bytes]:
        """What members said of the same in an earlier process of this one."""
        found: Mapping[str, str] = read_json(self.member.folder.path / SIGNATURES)["signatures"]
        seals = {name: base64.b64decode(seal) for name, seal in found.items()}
        return {name: seal for name, seal in seals.items() if self.holds(name, seal)}


def gather(member: Member, results: Results, point: bytes, finished: Finished) -> None:
    """Keep all members' signatures; refuses if one does not fit, or did not come by though nobody is waited for."""
    _write(member, results.digest, point, finished.seals)
    where = f"results are in {member.folder.path}: compare them before you use them"
    if finished.differing:
        raise LinkError(
            f"{', '.join(finished.differing)} signed other sums than this member was shown, or for another run; {where}"
        )
    missing = [name for name in member.plan.names if name not in finished.seals]
    if missing and not finished.waiting_for:
        raise LinkError(
            f"no signature of {', '.join(missing)} for these sums was passed on to this member: they signed others, "
            f"or somebody in between keeps it back; {where}"
        )


def signature_tables(member: Member, results: Results, finished: Finished) -> list[Table]:
    """What was signed, and by whom, for people: with what to compare a certificate by."""
    plan = member.plan
    what = (("plan", plan.fingerprint), ("study", results.study.fingerprint), (RESULTS, results.digest))
    whom = tuple((name, plan.card(name).fingerprint, _short(finished.seals.get(name))) for name in plan.names)
    return [
        Table(("", "digest"), what, f"Signed by {len(finished.seals)} of {len(plan.names)} members"),
        Table(
            ("member", "certificate, to compare by voice", "signature"),
            whom,
            f"Whole signatures are in {SIGNATURES}; hocket peer verify checks them",
        ),
    ]


def _short(seal: bytes | None) -> str:
    return "none yet" if seal is None else f"{seal[DIGEST:].hex()[:16]}…"


def check_signatures(plan: FederationPlan, found: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Of a file of signatures: the digest of the results that each has signed by these sums, and whose signature is not
    for this plan and these sums."""
    plan = remaining_plan(plan, found.get("left", ()))
    point = bytes.fromhex(found["sums"])
    seals = {name: _decoded(text) for name, text in found["signatures"].items()}
    signed = {name: seal[:DIGEST].hex() for name, seal in seals.items() if _holds(plan, name, seal, point)}
    return signed, [name for name in seals if name not in signed]


def _holds(plan: FederationPlan, name: str, seal: bytes, point: bytes) -> bool:
    if name not in plan.names:
        return False
    message = _message(plan, seal[:DIGEST], point)
    return verify(plan.card(name).certificate_pem, message, PURPOSE, seal[DIGEST:])


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # holds for nobody
        return b""


def check_results(plan: FederationPlan, folder: Path, left: Collection[str] = ()) -> list[str]:
    """Refuse results in a folder, and the sums that they follow from, that not everybody signed who had not left; says
    whose they are."""
    if not (folder / SIGNATURES).is_file():
        raise BadInput(
            f"{folder} has {RESULTS} and no {SIGNATURES}, so that nobody has signed it; ask for both"
        )
    found = check(SignaturesSection, SIGNATURES, read_json(folder / SIGNATURES, MOST_GIVEN)).model_dump()
    data = read_json(folder / RESULTS, MOST_RESULTS)
    if digest_of(data) != found["results"]:
        raise BadInput(f"{folder / RESULTS} was changed after it was signed; ask for the file as it was")
    if {*found["left"]} != {*left}:
        raise BadInput(
            f"{folder / SIGNATURES} names other members who left than the transcripts do; ask for both files as they "
            "were"
        )
    signed, wrong = check_signatures(plan, found)
    if wrong:
        raise BadInput(
            f"in {folder / SIGNATURES} the signature of {', '.join(wrong)} is not for this plan and these sums; ask "
            "them for theirs"
        )
    missing = [name for name in plan.names if name not in (*signed, *left)]
    if missing:
        raise BadInput(
            f"the results in {folder} lack the signature of {', '.join(missing)}. If the run ended before it came, run "
            "it again with hocket peer run --linger 600 while they do the same; else ask them what they found"
        )
    alike = [name for name, digest in signed.items() if digest == found["results"]]
    if others := sorted({*signed} - {*alike}):
        raise BadInput(
            f"{', '.join(others)} signed other numbers than the results in {folder}, from the same sums. Last digits "
            "may differ between machines, and nothing more may: compare with the results of these members"
        )
    table = folder / COEFFICIENTS
    rows: Any = data.get("coefficients") or {}
    if not is_table(rows) or not all(map(is_table, rows.values())):
        raise BadInput(f"{folder / RESULTS} has no table of coefficients; ask for the file as it was")
    if table.is_file() and read_bytes(table, MOST_RESULTS) != coefficients_csv(rows).encode():
        raise BadInput(
            f"{table} is another table than that in {RESULTS}, which was signed; ask for the file as it was"
        )
    return alike


def _write(member: Member, digest: str, point: bytes, signatures: Mapping[str, bytes]) -> None:
    write_json(
        member.folder.path / SIGNATURES,
        {
            "file": RESULTS,
            "run": member.plan.run_hash.hex(),
            "left": list(left_of(member)),
            "sums": point.hex(),
            "results": digest,
            "signatures": {name: base64.b64encode(one).decode() for name, one in sorted(signatures.items())},
        },
    )


def _message(plan: FederationPlan, digest: bytes, point: bytes) -> bytes:
    return plan.run_hash + point + digest
