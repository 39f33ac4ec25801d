"""Members on machines that nobody can reach, and that reach nothing but a relay, one of them through a proxy alone.

All that passes the relay's machine is captured, and searched for what members said and who they are.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import trustme

from hocket.federation.plan.cards import Card
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.files import toml_tables
from hocket.links.keys.identity import ANY_MEMBER, Identity
from hocket.studies.simulate import simulate
from hocket.studies.spec.study import parse_study

from .capture import held, numbers, patterns, streams
from .confession import confessed
from .federation_case import NAMES, Federation, free_ports, play
from .namespaces import Machines, machines, why_not
from .relay_case import through
from .study_case import STUDY, planned, tables
from .test_namespaces import wait_for_rounds
from .test_studies import members as members_of

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ROOT = Path(__file__).parents[2]
PROXY_PORT, PASSWORD = 3128, "ash:c0rrect"


@dataclass
class Hospitals:
    """The members' machines, kept apart, and beside them the relay's, where all is captured, and the proxy's."""

    lan: Machines
    folder: Path
    names: Sequence[str]
    extra: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.relay, self.proxy = len(self.names), len(self.names) + 1
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "JAX_PLATFORMS": "cpu",
            "OPENBLAS_NUM_THREADS": "1",
            "SSL_CERT_FILE": str(self.folder / "authority.pem"),
            "CONFESS": str(self.folder),
        }
        for variable in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
            self.environment.pop(variable, None)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(self.environment["SSL_CERT_FILE"])
        made = authority.issue_cert(self.address).private_key_and_cert_chain_pem
        made.write_to_path(str(self.folder / "relay.pem"))
        for place, _ in enumerate(self.names):
            self.lan.keep_apart(place)
        self.lan.hide(0, self.relay)  # ash has its proxy and nothing else
        self.capture = self._start(self.relay, "tests.peers.capture", str(self.folder / "capture"))
        assert self.capture.stdout is not None
        assert "capturing" in self.capture.stdout.readline()
        self._start(self.proxy, "tests.peers.relay_case", str(PROXY_PORT), PASSWORD, "443")

    @property
    def address(self) -> str:
        return self.lan.addresses[self.relay]

    def start_relay(self) -> subprocess.Popen[str]:
        words = f"relay --listen 0.0.0.0:443 --admit {self.folder / 'plan.toml'}".split()
        words += ["--cert", str(self.folder / "relay.pem"), "--key", str(self.folder / "relay.pem")]
        process = self._start(self.relay, "hocket", *words)
        assert process.stderr is not None
        assert "Relay at" in process.stderr.readline()
        return process

    def start_members(self, module: str = "tests.peers.member_process") -> dict[str, subprocess.Popen[str]]:
        address = f"http://{PASSWORD}@{self.lan.addresses[self.proxy]}:{PROXY_PORT}"
        return {
            name: self._start(
                place,
                module,
                str(self.folder),
                name,
                **self.extra,
                **({} if place else {"https_proxy": address}),
            )
            for place, name in enumerate(self.names)
        }

    def _start(self, place: int, module: str, *words: str, **extra: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", module, *words]
        self.processes.append(self.lan.start(place, command, cwd=ROOT, env=self.environment | extra))
        return self.processes[-1]

    def finish(self, running: dict[str, subprocess.Popen[str]], within: float = 600) -> None:
        """Until all members have ended well, and the capture with them."""
        for process in running.values():
            _, errors = process.communicate(timeout=within)
            assert process.returncode == 0, errors
        self.capture.send_signal(signal.SIGTERM)
        _, errors = self.capture.communicate(timeout=60)
        assert self.capture.returncode == 0, errors

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def seen(self, plan: FederationPlan, *results: np.ndarray) -> dict[str, int]:
        """How often a capture at the relay holds what it should not, in eight bytes on end."""
        said, (states, words) = streams(self.folder / "capture"), confessed(self.folder)
        certificates = patterns(base64.b64decode(card.certificate) for card in plan.cards)
        sought = {
            "states": numbers(np.concatenate([states, *(one.ravel() for one in results)])),
            "words": patterns(words),
            # TLS says one name in the clear, the same for everybody.
            "certificates": np.setdiff1d(certificates, patterns([b"\x0e" + ANY_MEMBER.encode()])),
        }
        plain = [
            *(one.tobytes() for one in (states, *results)),
            *words,
            *(base64.b64decode(card.certificate) for card in plan.cards),
        ]
        assert all(held(one, plain) for one in sought.values() if len(one))  # found in plain text
        found = {what: held(one, said) for what, one in sought.items()}
        found["names"] = sum(
            text.count(name.encode()) for text in said for name in plan.names if len(name) > 4
        )
        of = {what: len(one) for what, one in sought.items()}
        print(f"{sum(map(len, said)):,} bytes in {len(said)} streams hold {found}, of {of}")  # noqa: T201
        assert sum(map(len, said)) > sum(map(len, words))  # all of it passed here
        return found


NOTHING = {"states": 0, "words": 0, "certificates": 0, "names": 0}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("members", "rounds", "cut"),
    [
        pytest.param(3, 60, 3.0, marks=pytest.mark.slow, id="small"),
        pytest.param(8, 400, 360.0, marks=pytest.mark.endurance, id="whole"),
    ],
)
def test_members_that_reach_nothing_but_a_relay(tmp_path, members, rounds, cut):
    """Inbound is impossible, members do not see each other, ash has a proxy alone; the relay is away for a while."""
    federation = Federation(tmp_path, members=members, rounds=rounds)
    direct = play(map(federation.member, federation.names), within=300)
    for name in federation.names:
        federation.wipe(name)
    with machines([*federation.names, "relay", "proxy"]) as lan:
        hospitals = Hospitals(lan, tmp_path, federation.names)
        try:
            through(federation, f"{hospitals.address}:443")
            for name in federation.names:
                federation.consent(name, federation.plan)
            relay = hospitals.start_relay()
            running = hospitals.start_members()
            wait_for_rounds(federation, rounds // 5, running, within=300)
            relay.kill()
            time.sleep(cut)
            hospitals.start_relay()
            hospitals.finish(running)
        finally:
            hospitals.close()
    ends = [federation.ended(name) for name in federation.names]
    assert [end.x.tobytes() for end in ends] == [end.x.tobytes() for end in direct]
    assert hospitals.seen(federation.plan, *(end.x for end in ends)) == NOTHING


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "members",
    [pytest.param(3, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.endurance)],
    ids=["small", "whole"],
)
def test_a_study_by_members_that_reach_nothing_but_a_relay(tmp_path, members):
    """Each finds what the rehearsal over all rows finds, and the capture holds nothing of what was said."""
    names = NAMES[:members]
    identities = [Identity.create(name) for name in names]
    expected = simulate(parse_study(toml_tables(STUDY)), tables(names))
    with machines([*names, "relay", "proxy"]) as lan:
        hospitals = Hospitals(lan, tmp_path, names, {"STUDY_PAUSE": "0"})
        try:
            cards = [Card.of(one, None, relays=[f"{hospitals.address}:443"]) for one in identities]
            plan = planned(identities, free_ports(members), topology="complete").with_renewed(cards)
            some = members_of(tmp_path, plan, identities)
            write_plan(some[0].plan, tmp_path / "plan.toml")
            for member in some:
                member.identity.save(member.home.identity)
            hospitals.start_relay()
            hospitals.finish(hospitals.start_members("tests.peers.study_process"))
        finally:
            hospitals.close()
    for member in some:
        found = json.loads((member.folder.path / "results.json").read_text())
        assert {**found, "rows_by_member": 0} == {
            **json.loads(json.dumps(expected.data)),
            "rows_by_member": 0,
        }
    numbers_found = np.array([number for number in _numbers(expected.data) if number])
    assert hospitals.seen(plan, numbers_found) == NOTHING


def _numbers(data):
    """All that are no whole numbers in what a study found."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, (list, tuple)):
        return [number for one in data for number in _numbers(one)]
    return [data] if isinstance(data, float) else []
