"""Nothing that somebody else wrote steers the terminal of anybody who runs a command."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import track

from hocket.cli import main
from hocket.cli.answer import Answer, aside, complain, escaped, give
from hocket.federation.plan.plan_file import plan_text
from hocket.federation.state.run_folder import RunFolder
from hocket.report.tables import Table
from tests.peers.federation_case import Federation
from tests.peers.plans import CARDS, drawn

STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt\x7f\r"


def is_harmless(text: str) -> bool:
    return all(letter in "\n\t" or unicodedata.category(letter) != "Cc" for letter in text) and not any(
        letter in text for letter in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


@given(st.text(st.characters(exclude_categories=())))
def test_escaped_text_is_harmless_and_whole(text: str) -> None:
    assert is_harmless(escaped(text))
    assert escaped(text).count("\n") == text.count("\n")
    assert len(escaped(text)) >= len(text)
    escaped(text).encode()


def test_words_tables_errors_notes_and_bars(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table((STEERING, "b"), ((STEERING, STEERING),))
    give(Answer({"a": STEERING}, [STEERING, table]), as_json=False)
    complain("Kind", STEERING, as_json=False)
    aside().print(STEERING)
    for _ in track([1], STEERING, console=aside()):
        pass
    shown = capsys.readouterr()
    assert is_harmless(shown.out)
    assert is_harmless(shown.err)
    assert "\\x1b]0;owned\\x07" in shown.out
    assert "\\x1b]0;owned\\x07" in shown.err


def test_programs_get_the_same_text_in_harmless_json(capsys: pytest.CaptureFixture[str]) -> None:
    give(Answer({"a": STEERING + "ü"}, []), as_json=True)
    complain("Kind", STEERING, as_json=True)
    shown = capsys.readouterr()
    assert is_harmless(shown.out)
    first, second = map(json.loads, shown.out.splitlines())
    assert first == {"a": STEERING + "ü"}
    assert second["error"]["message"] == STEERING


def test_a_status_that_a_peer_had_a_word_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    federation = Federation(tmp_path, members=2, topology="path")
    folder: RunFolder = federation.member("ash").folder
    folder.make()
    said = {"waiting_for": {"birch": STEERING}, "waiting_seconds": 9.0, "dropped": ["birch"]}
    numbers = {"round": 1, "rounds": 9, "finished": False, "measured": {STEERING: 1.0}}
    status = {"member": "ash", "verdict": [STEERING], "pid": None, **said, **numbers}
    (folder.path / "status.json").write_text(json.dumps(status, ensure_ascii=False))
    words = ["peer", "status", str(federation.plan_file), "--home", str(federation.home("ash").folder)]
    assert main(words) == 0
    assert main([*words, "--json"]) == 0
    shown = capsys.readouterr()
    assert is_harmless(shown.out + shown.err)
    assert "Dropped: birch" in shown.out


@pytest.mark.parametrize("steering", ["\\u001b[2J", "\\u009b2J", "\\u202e"])
def test_plans_and_cards(
    steering: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = plan_text(drawn())
    Path("plan.toml").write_text(text.replace('name = "digits"', f'name = "{steering}"'))
    Path("card.toml").write_text(CARDS[0].text().replace('address = "', f'address = "{steering}'))
    Path("section.toml").write_text(f'{text}\n["{steering}"]\n')
    choices = "--topology cycle --algorithm dgd --colluders 1 --task t --dimension 1 -o new.toml"
    for words in ("sign plan.toml", "sign section.toml", f"plan card.toml {choices}"):
        assert main(["peer", *words.split()]) == 1
        shown = capsys.readouterr()
        assert is_harmless(shown.out + shown.err)
        assert "toml" in shown.err
