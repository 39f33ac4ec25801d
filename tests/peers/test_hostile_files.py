"""Plans and cards that somebody else wrote, carelessly or on purpose: refused in words, whatever is in them."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.errors import BadConfig, BadPlan, HocketError
from hocket.federation.plan.cards import LONGEST as LONGEST_CARD
from hocket.federation.plan.cards import Card, read_card
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import LONGEST, parse_plan, plan_text, read_plan
from tests.peers.plans import CARDS, IDENTITIES, drawn

PLAN = plan_text(drawn().signed_by(IDENTITIES[0]))
CARD = CARDS[0].text()
PIECES = [
    '"',
    "'''",
    "[",
    "]",
    "{",
    "}",
    "=",
    ",",
    "\n",
    "[[",
    "a.b = 1",
    "-1",
    "0",
    "1e999",
    "nan",
    "inf",
    "true",
    "0xffffffffffffffffffff",
    "9" * 5000,
    "0x" + "f" * 5000,
    "1979-05-27",
    '"\\u001b[2J"',
    '"\\u202e"',
    "[[[]]]",
    "{ a = 1 }",
    "[task]",
    "[signatures]",
    "clinic-a",
    "\x00",
    "é",
]
"""What a mutation puts in."""


def mutated(text: str, seed: int, times: int) -> str:
    """The text with some pieces cut out, doubled, swapped or put in."""
    draw, lines = random.Random(seed), text.splitlines()
    for _ in range(times):
        at = draw.randrange(len(lines))
        line, other = lines[at], lines[draw.randrange(len(lines))]
        start, end = sorted(draw.choices(range(len(line) + 1), k=2))
        value = f"{line.split('=')[0]}= {draw.choice(PIECES)}"
        changes = [value, line[:start] + draw.choice(PIECES) + line[end:], line[:start] + line[end:], other]
        lines[at] = draw.choice([*changes, ""])
    return "\n".join(lines)


MUTATIONS = given(st.integers(0, 2**32), st.integers(1, 4))
OFTEN = settings(max_examples=300, deadline=None)


@OFTEN
@MUTATIONS
def test_a_mutated_plan_is_a_plan_or_is_refused(seed: int, times: int) -> None:
    text = mutated(PLAN, seed, times)
    with suppress(HocketError):
        assert isinstance(parse_plan(text), FederationPlan)


@OFTEN
@MUTATIONS
def test_a_mutated_card_is_a_card_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, seed: int, times: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.toml"
    path.write_text(mutated(CARD, seed, times))
    with suppress(HocketError):
        assert isinstance(read_card(path), Card)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "digits"', r'name = "\u001b[2Jdigits"', "leave out what cannot be seen"),
        ('name = "digits"', r'name = "\u009b2Jdigits"', "leave out what cannot be seen"),
        ('name = "digits"', r'name = "\u202estigid"', "leave out what cannot be seen"),
        ('name = "digits"', f'name = "{"d" * 201}"', "at most 200 characters"),
        ('topology = "', r'topology = "\u001b', "leave out what cannot be seen"),
        ('topology = "', f'topology = "{"t" * 200}', "at most 200 characters"),
        ('dataset = "trial-7"', 'dataset = "Trial-7"', "; write trial-7$"),
        ('dataset = "trial-7"', 'dataset = "trial_7"', "; write trial-7$"),
        ('dataset = "trial-7"', f'dataset = "{"t" * 101}"', "100 characters at most"),
        ("dimension = 4", f"dimension = {10**30}", "at most 100,000,000"),
        ("dimension = 4", "dimension = 100_000_001", "at most 100,000,000"),
        ("local_steps = 1", "local_steps = 1_000_001", "at most 1,000,000"),
        ("rounds = 50", "rounds = 10_000_001", "at most 10,000,000"),
        ("seed = 0", f"seed = {2**63}", r"below 2\^63"),
        ("seed = 0", f"seed = {'9' * 5000}", "a number has too many digits"),
        ("seed = 0", f"seed = 0x{'f' * 5000}", "one of very many digits"),
        ("seed = 0", f"seed = {'[' * 100_000}", "in line 15 lists and tables are nested more than 32 deep"),
        ("colluders = 2", "colluders = 10_001", "at most 10,000"),
        ("weights = [[", "weights = [[1.0], [", "no matrix of 5 rows and 5 columns"),
        ("[signatures]\n", '[signatures]\noak = "x"\n', "oak is no signature of a member"),
    ],
    ids=range(20),
)
def test_what_a_plan_may_not_hold(old: str, new: str, words: str) -> None:
    assert old in PLAN
    text = PLAN.replace(old, new, 1)
    with pytest.raises(BadConfig, match=words) as caught:
        parse_plan(text)
    assert all(letter.isprintable() or letter == "\n" for letter in str(caught.value))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "clinic-a"', r'name = "\u001b[2Jclinic-a"', "is no member's name"),
        ('name = "clinic-a"', f'name = "{"a" * 400}"', "the member's name"),
        ("clinic-a.example", r"\u202eelpmaxe", "cannot be dialled"),
        ("clinic-a.example", "a" * 400, "left out if nobody can dial it"),
        ('certificate = "', 'certificate = "' + "M" * 10_000, "the certificate in base 64"),
        ("[card]\n", f"[card]\nx = {'[' * 100_000}\n", "is no card"),
        ("[card]\n", f"[card]\nx = {'9' * 5000}\n", "a number has too many digits"),
    ],
    ids=range(7),
)
def test_what_a_card_may_not_hold(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in CARD
    path = tmp_path / "card.toml"
    path.write_text(CARD.replace(old, new))
    with pytest.raises(BadConfig, match=words) as caught:
        read_card(path)
    assert all(letter.isprintable() or letter == "\n" for letter in str(caught.value))


@pytest.mark.parametrize(("read", "most"), [(read_plan, LONGEST), (read_card, LONGEST_CARD)])
def test_what_is_no_file_of_a_sensible_size(
    tmp_path: Path, read: Callable[[Path], object], most: int
) -> None:
    long, pipe = tmp_path / "long.toml", tmp_path / "pipe"
    with long.open("wb") as file:
        file.truncate(most + 1)
    os.mkfifo(pipe)  # opening it would wait for somebody to write
    for path, words in (
        (long, f"{most:,} are the most"),
        (tmp_path, "is a folder; name a file"),
        (pipe, "is a device; name a file"),
        (Path("/dev/zero"), "is a device; name a file"),
        (tmp_path / ("n" * 300), "cannot be read|no file"),
    ):
        with pytest.raises((BadConfig, BadPlan), match=words):
            read(path)
