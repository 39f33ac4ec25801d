"""Members on machines that nobody can reach, and that reach nothing but a relay, one of them through a proxy alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trustme

from .federation_case import Federation, play
from .namespaces import Machines, machines, why_not
from .relay_case import through
from .test_namespaces import wait_for_rounds

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

ROOT = Path(__file__).parents[2]
PROXY_PORT, PASSWORD = 3128, "ash:c0rrect"


class Hospitals:
    """The members' machines, kept apart, and beside them the relay's and the proxy's."""

    def __init__(self, lan: Machines, federation: Federation, authority: Path):
        self.lan = lan
        self.federation = federation
        self.relay, self.proxy = len(federation.names), len(federation.names) + 1
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "JAX_PLATFORMS": "cpu",
            "OPENBLAS_NUM_THREADS": "1",
            "SSL_CERT_FILE": str(authority / "authority.pem"),
        }
        for place, _ in enumerate(federation.names):
            lan.keep_apart(place)
        lan.hide(0, self.relay)  # ash has its proxy and nothing else
        for variable in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
            self.environment.pop(variable, None)

    def start_relay(self, authority: Path) -> subprocess.Popen[str]:
        command = f"-m hocket relay --listen 0.0.0.0:443 --admit {self.federation.plan_file}".split()
        command += ["--cert", str(authority / "relay.pem"), "--key", str(authority / "relay.pem")]
        process = self.lan.start(self.relay, [sys.executable, *command], cwd=ROOT, env=self.environment)
        assert process.stderr is not None
        assert "Relay at" in process.stderr.readline()
        return process

    def start_proxy(self) -> subprocess.Popen[str]:
        words = ["-m", "tests.peers.relay_case", str(PROXY_PORT), PASSWORD, "443"]
        return self.lan.start(self.proxy, [sys.executable, *words], cwd=ROOT, env=self.environment)

    def start_members(self) -> dict[str, subprocess.Popen[str]]:
        running = {}
        for place, name in enumerate(self.federation.names):
            self.federation.consent(name, self.federation.plan)
            address = f"http://{PASSWORD}@{self.lan.addresses[self.proxy]}:{PROXY_PORT}"
            proxied = {"https_proxy": address} if place == 0 else {}
            command = [sys.executable, "-m", "tests.peers.member_process", str(self.federation.folder), name]
            running[name] = self.lan.start(place, command, cwd=ROOT, env=self.environment | proxied)
        return running


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
    direct = [end.x.tobytes() for end in play(map(federation.member, federation.names), within=300)]
    for name in federation.names:
        federation.wipe(name)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    processes: list[subprocess.Popen[str]] = []
    with machines([*federation.names, "relay", "proxy"]) as lan:
        address = lan.addresses[members]
        authority.issue_cert(address).private_key_and_cert_chain_pem.write_to_path(
            str(tmp_path / "relay.pem")
        )
        through(federation, f"{address}:443")
        hospitals = Hospitals(lan, federation, tmp_path)
        try:
            processes += [relay := hospitals.start_relay(tmp_path), hospitals.start_proxy()]
            running = hospitals.start_members()
            processes += running.values()
            wait_for_rounds(federation, rounds // 5, running, within=300)
            relay.kill()
            time.sleep(cut)
            processes.append(hospitals.start_relay(tmp_path))
            for process in running.values():
                _, errors = process.communicate(timeout=600)
                assert process.returncode == 0, errors
        finally:
            for process in processes:
                process.kill()
                process.communicate()
    assert [federation.ended(name).x.tobytes() for name in federation.names] == direct
