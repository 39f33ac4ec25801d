"""The log of a run: nobody can fill the disk through it, or steer the terminal of its reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hocket.federation.monitoring import metrics
from hocket.federation.monitoring.metrics import BURST, PAUSE, Log
from hocket.federation.state.run_folder import RunFolder


class Clock:
    """Time that passes when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_flood_is_a_burst_and_then_a_line_now_and_again(tmp_path: Path) -> None:
    clock = Clock()
    log = Log(tmp_path / "log.jsonl", clock)
    for _ in range(100_000):
        clock.now += 0.001
        log.say("vote refused", neighbour="oak")
    found = lines(log.path)
    # 100 seconds: the burst, and a line for each ten of them.
    assert BURST <= len(found) <= BURST + 100 / PAUSE
    assert len(found) + sum(line.get("left_out", 0) for line in found) > 90_000
    assert "left_out" not in found[0]
    assert 9_000 < found[-1]["left_out"] < 11_000


def test_other_events_are_not_held_up(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", Clock())
    for _ in range(1000):
        log.say("vote refused", neighbour="oak")
    log.say("finished", waiting_for=[])
    assert lines(log.path)[-1]["event"] == "finished"


def test_quiet_times_make_room_for_a_burst(tmp_path: Path) -> None:
    clock = Clock()
    log = Log(tmp_path / "log.jsonl", clock)
    for _ in range(2):
        for _ in range(BURST + 5):
            log.say("lost", neighbour="oak", reason="gone")
        clock.now += BURST * PAUSE
    assert len(lines(log.path)) == 2 * BURST
    assert lines(log.path)[BURST]["left_out"] == 5


def test_the_file_is_put_aside_before_it_grows_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_BYTES", 2000)
    clock, log = Clock(), Log(tmp_path / "log.jsonl")
    log.clock = clock
    for number in range(200):
        clock.now += PAUSE
        log.say("joined", neighbour="oak", number=number)
    older = tmp_path / "log.1.jsonl"
    assert sorted(tmp_path.iterdir()) == [older, log.path]
    assert max(path.stat().st_size for path in (older, log.path)) < 2000 + 100
    numbers = [line["number"] for line in (*lines(older), *lines(log.path))]
    assert numbers == list(range(numbers[0], 200))


def test_texts_are_short_and_steer_nothing(tmp_path: Path) -> None:
    log, steering = Log(tmp_path / "log.jsonl"), "\x1b[2J\x9b\u202e"
    log.say("lost", neighbour="oak", reason=steering + "x" * 100_000, more=[steering], by={"oak": steering})
    folder = RunFolder(tmp_path)
    folder.write_status({"reason": steering})
    assert json.loads((tmp_path / "status.json").read_text()) == {"reason": steering}
    for path in (log.path, tmp_path / "status.json"):
        text = path.read_text()
        assert text.rstrip("\n").isprintable()
        assert len(text) < 1000
