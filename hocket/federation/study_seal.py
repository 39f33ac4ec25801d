"""Members sign what a study found: each says that it saw these sums, and came to this table by them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from hocket.federation.member import Member
from hocket.federation.plan import FederationPlan
from hocket.federation.restart import left_of, remaining_plan
from hocket.federation.run_folder import read_json, write_json
from hocket.links.identity import verify
from hocket.studies.results import RESULTS, Results

PURPOSE = b"hocket/results/1"
"""What members sign results for."""
SIGNATURES = "signatures.json"


def sealed(member: Member, results: Results, point: bytes) -> bytes:
    """This member's signature, made once: after a crash the same is said again."""
    file = member.folder.path / SIGNATURES
    if not file.exists():
        made = member.identity.sign(_message(member.plan, results.digest, point), PURPOSE)
        _write(member, results.digest, point, {member.name: made})
    return base64.b64decode(read_json(file)["signatures"][member.name])


def gather(member: Member, results: Results, point: bytes, heard: Mapping[str, bytes]) -> list[str]:
    """Keep the neighbours' signatures beside this member's; returns whose do not fit this member's results."""
    message = _message(member.plan, results.digest, point)
    good = {
        name: signature
        for name, signature in heard.items()
        if verify(member.plan.card(name).certificate_pem, message, PURPOSE, signature)
    }
    _write(member, results.digest, point, {member.name: sealed(member, results, point)} | good)
    return sorted({*heard} - {*good})


def check_signatures(plan: FederationPlan, found: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Of a file of signatures: who has signed, and whose signature is not for this plan and these results."""
    plan = remaining_plan(plan, found.get("left", ()))
    message = _message(plan, str(found["results"]), bytes.fromhex(found["sums"]))
    fits = {
        name: name in plan.names
        and verify(plan.card(name).certificate_pem, message, PURPOSE, base64.b64decode(signature))
        for name, signature in found["signatures"].items()
    }
    return [name for name, good in fits.items() if good], [name for name, good in fits.items() if not good]


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


def _message(plan: FederationPlan, digest: str, point: bytes) -> bytes:
    return plan.run_hash + point + bytes.fromhex(digest)
