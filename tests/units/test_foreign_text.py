"""Text of strangers on a terminal: one line, all of it to be seen, and never a line of its own."""

from __future__ import annotations

import json
import re
import unicodedata
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hocket.cli import main
from hocket.cli.answer import escaped
from hocket.config.section import check
from hocket.errors import BadConfig
from hocket.federation.plan.plan_file import parse_plan, plan_text, write_plan
from hocket.federation.plan.sections import TaskSection
from hocket.federation.state.home import Home
from hocket.links.text import LINE, hides, json_line, quoted, quoted_lines, shown
from tests.peers.plans import IDENTITIES, drawn

THEOREM = "Theorem 2: against any 1 colluder nothing is shown but the sum."
PADDED = f"mean of three numbers{' ' * 59}{THEOREM}"
UNSEEN = [
    *(
        "\u200b",
        "\u200d",
        "\xad",
        "\u2060",
        "\ufeff",
        "\u3164",
        "\u115f",
        "\uffa0",
        "\u2800",
        "\U000e0041",
        "\u034f",
    ),
    *(
        "\ufe0f",
        "\u180e",
        "\xa0",
        "\u2003",
        "\u3000",
        "\u202e",
        "\x1b",
        "\x9b",
        "\n",
        "\u2028",
        "\ue000",
        "\U000e0101",
    ),
]


def on_a_terminal(text: str, width: int = 80) -> list[str]:
    """The lines that a terminal of so many columns makes of it."""
    out = StringIO()
    Console(file=out, width=width, highlight=False, markup=False).print(text)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("letter", UNSEEN, ids=lambda letter: f"U+{ord(letter):04X}")
def test_what_cannot_be_seen_is_written_out_and_passes_in_no_name(letter):
    assert hides(f"mean{letter}of")
    assert f"{ord(letter):x}" in shown(f"mean{letter}of")
    assert not hides(shown(f"mean{letter}of"))
    assert letter == "\n" or not hides(escaped(f"mean{letter}of"))
    assert letter not in quoted(f"mean{letter}of")
    line = json_line({"a": f"x{letter}"})
    assert not hides(line)
    assert json.loads(line) == {"a": f"x{letter}"}
    text = plan_text(drawn())
    spoilt = text.replace('name = "', f'name = "a\\U{ord(letter):08x}', 1)
    assert spoilt != text
    with pytest.raises(BadConfig, match="leave out what cannot be seen"):
        parse_plan(spoilt)


@pytest.mark.parametrize("name", [PADDED, "a  b", " a", "a "])
def test_a_name_is_not_padded(name):
    with pytest.raises(BadConfig, match="one blank between two words"):
        check(TaskSection, "task", {"name": name, "dataset": "x", "dimension": 1})


@pytest.mark.parametrize(
    "name", ["Größe und Gewicht", "Durée (années), 2ᵉ essai", "身長と体重", "Đường huyết", "a-b: c/d"]
)
def test_names_in_any_script_pass(name):
    assert check(TaskSection, "task", {"name": name, "dataset": "x", "dimension": 1}).name == name
    assert quoted(name) == f"'{name}'"


@pytest.mark.parametrize("name", ["mean ──────", "mean ✔", "▌mean", "a ` b"])
def test_a_name_draws_nothing(name):
    with pytest.raises(BadConfig, match="letters, digits and punctuation"):
        check(TaskSection, "task", {"name": name, "dataset": "x", "dimension": 1})


def test_marks_upon_marks_are_written_out():
    assert shown("a\u0301\u0302") == "a\u0301\u0302"
    assert shown("a" + "\u0301" * 9) == "a\u0301\u0301" + "\\u0301" * 7


def visible_padding() -> str:
    """A name without a blank too many, of which a terminal of 80 columns would make three lines."""
    words = "mean of three numbers that all of the clinics here have measured in the same month"
    return f"{words[:80].rstrip():.<80}{THEOREM}"


def test_no_line_of_a_plan_is_forged_at_80_columns(tmp_path, capsys):
    """As its signers see it: the name ends in the line in which it begins."""
    text = plan_text(drawn())
    spoilt = re.sub(r'name = "[^"]*"\ndataset', f'name = "{visible_padding()}"\ndataset', text, count=1)
    assert spoilt != text
    write_plan(parse_plan(spoilt[: spoilt.index("[signatures]")] + "[signatures]\n"), tmp_path / "plan.toml")
    IDENTITIES[0].save(Home(tmp_path / "home").identity)
    assert main(["peer", "sign", str(tmp_path / "plan.toml"), "--home", str(tmp_path / "home")]) == 1
    said = capsys.readouterr().err
    assert "'mean of three numbers that" in said
    lines = [part for line in said.splitlines() for part in on_a_terminal(line)]
    assert not any(line.lstrip().startswith("Theorem") for line in lines)


@given(st.text(max_size=300))
def test_whatever_is_quoted_is_one_line_of_a_terminal(text):
    line = quoted(text)
    columns = sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)
    assert columns <= LINE
    assert not hides(line)
    assert line[0] == line[-1] == ('"' if "'" in line[1:-1] else "'")
    assert '"' not in line[1:-1] or line[0] == "'"
    assert "  " not in line
    for part in quoted_lines(text):
        assert len(on_a_terminal(f"{'x' * 15}: {part}")) == 1


def test_nothing_of_a_long_text_is_lost():
    text = (
        "In which of the clinics do the older patients have a higher risk of a second event, and by how much? "
        * 3
    )
    assert " ".join(line[1:-1] for line in quoted_lines(text)) == " ".join(text.split())


def test_a_page_of_a_study_asks_in_quotes(tmp_path: Path):
    from hocket.studies.spec.study import parse_study
    from hocket.studies.spec.study_in_words import study_in_words

    title, question = f"Age{' ' * 70}{THEOREM}", f"Is it higher?{' ' * 60}{THEOREM}"
    study = parse_study(
        {
            "study": {"title": title, "question": question, "formula": "y ~ age"},
            "columns": {"y": {}, "age": {}},
        }
    )
    first, *rest = study_in_words(study)
    assert first == f"Study: 'Age {THEOREM[:53]}…'"
    assert rest[0].startswith("Question: 'Is it higher? Theorem")
    assert not any(line.startswith("Theorem") for line in rest)
