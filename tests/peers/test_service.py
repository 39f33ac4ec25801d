"""Members that run unattended: units for systemd, clean stops, and certificates that run out on the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hocket.cli import main
from hocket.cli.app import EXPOSED as EXIT_EXPOSED
from hocket.cli.app import INTERRUPTED
from hocket.cli.app import MISUSED as EXIT_MISUSED
from hocket.cli.peer.common import open_identity
from hocket.errors import BadConfig, BadPlan
from hocket.federation.monitoring.expiry import expiring, refuse_expiring
from hocket.federation.monitoring.service_unit import EXPOSED, MISUSED, STOPPED, Service
from hocket.federation.plan.cards import Card
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.state.home import Home
from hocket.links.keys.identity import Identity
from tests.peers.federation_case import Federation
from tests.peers.plans import CARDS, IDENTITIES, drawn
from tests.peers.watched_case import Watched

TASK = f"{Path(__file__).parent / 'quadratic_file.py'}:task"
ODD = '/srv/a b/100 %/$HOME/"x"\\y'


@pytest.fixture
def placed(tmp_path: Path) -> Path:
    """A plan, and the home of one of its members in a folder with an awkward name."""
    write_plan(drawn(), tmp_path / "plan.toml")
    IDENTITIES[1].save(Home(tmp_path / "my home").identity)
    return tmp_path


def service(placed: Path, *words: str) -> list[str]:
    return ["peer", "service", str(placed / "plan.toml"), "--home", str(placed / "my home"), *words]


def test_a_unit_names_paths_and_nothing_secret(placed, capsys):
    file = placed / "unit.service"
    assert main([*service(placed, "--task", TASK), "-o", str(file)]) == 0
    unit, words = file.read_text(), capsys.readouterr().out
    assert f'--home "{placed}/my home"' in unit
    assert f"--task {TASK}" in unit
    assert "Restart=on-failure" in unit
    assert "User=" not in unit
    assert "WantedBy=default.target" in unit
    key = (placed / "my home" / "identity" / "key").read_text()
    assert not any(line in unit for line in key.splitlines())
    assert "systemctl --user enable --now hocket-clinic-b-" in words
    assert "Without systemd" in words
    assert main([*service(placed, "--task", TASK), "-o", str(file)]) == 1
    assert "exists; name another file" in capsys.readouterr().err


def test_the_unit_alone_is_on_standard_output(placed, capsys):
    assert main(service(placed, "--task", TASK, "--system", "--user", "hocket")) == 0
    out, err = capsys.readouterr()
    assert out.startswith("[Unit]\n")
    assert out.endswith("WantedBy=multi-user.target\n")
    assert "User=hocket\n" in out
    assert "sudo systemctl" in err
    assert main(["--json", *service(placed, "--task", TASK)]) == 0
    assert json.loads(capsys.readouterr().out)["file"] is None


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "give --task FILE.py:NAME"),
        (["--task", "nowhere.py:task"], "there is no file"),
        (["--task", "task"], "write FILE.py:NAME"),
        (["--data", "x.csv"], "no --data"),
        (["--task", TASK, "--user", "oak"], "add --system"),
    ],
)
def test_what_run_would_refuse_is_refused_now(placed, capsys, words, complaint):
    assert main(service(placed, *words)) == 1
    assert complaint in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd to ask")
@pytest.mark.parametrize("user", [None, "root"])
def test_systemd_finds_nothing_wrong_with_it(tmp_path, user):
    made = Service(
        "clinic-b", '50 % more: "α" $x', 64 * "a", ["/bin/echo", ODD, "", "plain"], tmp_path, user=user
    )
    file = tmp_path / made.name
    file.write_text(made.unit(), encoding="utf-8")
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    ours = [line for line in found.stderr.splitlines() if made.name in line and "network-online" not in line]
    assert ours == []


def test_words_are_quoted_as_systemd_reads_them(tmp_path):
    unit = Service("oak", "x", "ab", ["/bin/echo", ODD], tmp_path).unit()
    assert r'ExecStart=/bin/echo "/srv/a b/100 %%/$$HOME/\"x\"\\y"' in unit
    with pytest.raises(BadConfig, match="rename it"):
        Service("oak", "x", "ab", ["/bin/echo", "a\nUser=root"], tmp_path).unit()


def test_no_name_takes_the_next_line_of_a_unit_in(tmp_path):
    """A backslash at the end of a line would."""
    unit = Service("oak", "fit \\\\", "ab", ["/bin/echo"], tmp_path).unit()
    assert "Description=hocket: oak in fit \n" in unit
    with pytest.raises(BadConfig, match="ends in a backslash"):
        Service("oak", "x", "ab", ["/bin/echo"], tmp_path / "a\\").unit()


@pytest.mark.parametrize("by_cron", [False, True])
def test_the_loop_is_the_same_to_cron_and_to_a_shell(tmp_path, by_cron):
    folder = tmp_path / "it's 100 %"
    folder.mkdir()
    words = ["%d %", "%", "", "a'%b", "\\%"]
    loop = Service(
        "oak", "x", "ab", ["sh", "-c", 'printf "%s|" "$PWD" "$@"; exit 130', "sh", *words], folder
    ).loop()
    if by_cron:  # it ends a command at %, and takes the backslash before one away
        assert not re.search(r"(?<!\\)%", loop)
        loop = loop.replace("\\%", "%")
    found = subprocess.run(["sh", "-c", loop], check=False, timeout=20, capture_output=True, text=True)
    assert found.stdout == "|".join([str(folder), *words, ""])


def test_codes_are_those_of_the_command_line():
    assert (MISUSED, EXPOSED, STOPPED) == (EXIT_MISUSED, EXIT_EXPOSED, INTERRUPTED)


def test_the_loop_without_systemd_ends_when_it_should(tmp_path):
    """It fails twice and is killed once, each time started again; then it was stopped."""
    (tmp_path / "bin").mkdir()
    sleep = tmp_path / "bin" / "sleep"
    sleep.write_text(f"#!/bin/sh\necho slept $1 >> {tmp_path}/log\n")
    sleep.chmod(0o755)
    member = (
        "echo began >> log; case $(grep -c began log) in 1|2) exit 1;; 3) kill -9 $$;; *) exit 130;; esac"
    )
    loop = Service("oak", "x", "ab", ["sh", "-c", member], tmp_path).loop()
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", loop], env={"PATH": path}, check=False, timeout=20, capture_output=True)
    assert (tmp_path / "log").read_text().split("\n")[:-1] == ["began", "slept 30"] * 3 + ["began"]


def test_a_passphrase_comes_as_a_credential(placed, tmp_path, monkeypatch, capsys):
    home = Home(tmp_path / "sealed")
    IDENTITIES[1].save(home.identity, "open sesame")
    words = ["peer", "service", str(placed / "plan.toml"), "--home", str(home.folder), "--task", TASK]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert f"LoadCredentialEncrypted=hocket-passphrase:{home.folder}/passphrase.cred" in out
    assert "systemd-creds --user encrypt" in err
    assert "sesame" not in out + err
    monkeypatch.delenv("HOCKET_PASSPHRASE", raising=False)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "hocket-passphrase").write_text("open sesame\n")
    assert open_identity(home.identity).name == "clinic-b"


def test_sigterm_is_a_clean_stop_that_no_manager_takes_for_a_failure(tmp_path, monkeypatch, capsys):
    federation = Federation(tmp_path, members=2, topology="path")
    folder = federation.member("ash").folder
    monkeypatch.setenv("QUADRATIC_MEMBER", "0")

    def terminate() -> None:
        deadline = time.monotonic() + 60
        while not folder.begun and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    stopping = threading.Thread(target=terminate)
    stopping.start()
    home = str(federation.home("ash").folder)
    code = main(["peer", "run", str(federation.plan_file), "--task", TASK, "--home", home])
    stopping.join()
    assert code == STOPPED
    assert "go on with the same command" in capsys.readouterr().err
    assert not folder.running
    assert folder.status()["pid"] is None
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def lasting(days: int) -> list[Card]:
    """The clinics' cards, the first of them of a certificate that is valid for so many days."""
    return [Card.of(Identity.create("clinic-a", valid_days=days), "clinic-a.example:7000"), *CARDS[1:]]


def test_certificates_that_run_out_are_found():
    plan = drawn(lasting(10))
    found = expiring(plan)
    assert [(one.name, one.days) for one in found] == [("clinic-a", 9)]
    assert "in 9 days" in found[0].words
    assert "hocket peer renew" in found[0].words
    assert expiring(plan, without=["clinic-a"]) == []
    assert expiring(drawn()) == []
    gone = expiring(plan, now=datetime.now(UTC) + timedelta(days=12))
    assert "expired on" in gone[0].words
    assert next(one.name for one in expiring(plan, within=timedelta(days=400))) == "clinic-a"
    refuse_expiring(plan, 5)
    with pytest.raises(BadPlan, match=r"clinic-a on .* hocket peer renew --days 50"):
        refuse_expiring(plan, 20)


def test_plan_names_them_and_refuses_them_where_a_run_takes_longer(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for card in lasting(10):
        Path(f"{card.name}.toml").write_text(card.text())
    words = [*sorted(str(path) for path in tmp_path.glob("clinic-*.toml")), "--topology", "complete"]
    words += [
        "--algorithm",
        "rss-nb",
        "--noise-bound",
        "10",
        "--persistent",
        "0.5",
        "--task",
        "digits",
        "--dimension",
        "2",
    ]
    words = ["peer", "plan", *words, "--colluders", "1", "--rounds", "5"]
    assert main([*words, "--days", "90"]) == 1
    assert "hocket peer renew --days 120" in capsys.readouterr().err
    assert not Path("plan.toml").exists()
    assert main(words) == 0
    assert "The certificate of clinic-a expires on" in capsys.readouterr().out


def test_status_and_watch_warn_of_them(tmp_path, capsys):
    watched = Watched.of(tmp_path, drawn(lasting(10), rounds=1000))
    watched.write()
    for command in ("status", "watch"):
        assert main(["peer", command, str(tmp_path / "plan.toml"), "--home", str(tmp_path)]) == 0
        assert "The certificate of clinic-a expires on" in capsys.readouterr().out
    # A run that takes months warns of what is months away; one that is over warns of nothing.
    watched = Watched.of(tmp_path / "slow", drawn(lasting(100), rounds=1000))
    lines = watched.lines()
    for place, line in enumerate(lines):
        line["time"] = time.time() - 86_400 * (len(lines) - place)
    watched.write(lines)
    with watched.running():
        seen = watched.look()
        assert seen.seconds_left is not None
        assert seen.seconds_left > 200 * 86_400
        assert any("clinic-a expires" in line for line in seen.warnings)
    watched.write(lines, finished=True)
    assert watched.look().warnings == ()
