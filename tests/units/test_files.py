"""Files of strangers: refused by their size and form, in words, before any parser sees them."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import tomllib
import tracemalloc
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.cli import main
from hocket.errors import BadConfig
from hocket.federation.plan.plan_file import write_plan
from hocket.files import (
    DEEPEST,
    LONGEST_KEY,
    MOST_KEYS,
    NESTED,
    UNREADABLE,
    arrays,
    csv_text,
    json_value,
    read_bytes,
    read_text,
    toml_tables,
)
from hocket.runs.tidy import write_rows
from tests.peers.plans import drawn

ROOT = Path(__file__).parents[2] / "hocket"
DOTS = f"a{'.a' * 49_900} = 1\n"
"""99.8 kB, of which Python's parser makes 10 GB."""
PLANNED = [
    "--topology",
    "complete",
    "--colluders",
    "1",
    "--task",
    "x",
    "--dimension",
    "1",
    "--rounds",
    "20",
    "--step",
    "0.5",
]
OWN = {
    ("files.py", "tomllib.loads"),
    ("files.py", "json.loads"),
    ("files.py", "csv.reader"),
    ("files.py", "csv.writer"),
    ("files.py", "np.load"),
    ("machine.py", "np.loadtxt"),  # what scikit-learn brings
    ("federation/plan/dry_run.py", "np.loadtxt"),  # the table of the one who asks
}
"""Every parser that hocket calls, and where."""
PARSERS = {
    *("tomllib.loads", "tomllib.load", "json.loads", "json.load", "json.JSONDecoder"),
    *("csv.reader", "csv.DictReader", "csv.writer", "csv.DictWriter"),
    *(
        "np.load",
        "np.loadtxt",
        "np.genfromtxt",
        "np.fromfile",
        "pickle.loads",
        "pickle.load",
        "marshal.loads",
    ),
}


def test_parsers_are_called_in_one_file():
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name = f"{node.value.id}.{node.attr}"
                if name in PARSERS:
                    found.add((path.relative_to(ROOT).as_posix(), name))
            if isinstance(node, ast.ImportFrom):
                assert not {f"{node.module}.{one.name}" for one in node.names} & PARSERS, path
    assert found == OWN


@pytest.mark.parametrize(
    "words",
    [
        ["peer", "accept", "evil.toml", "--name", "me", "--home", "home"],
        ["peer", "plan", "evil.toml", "evil.toml", "--algorithm", "dgd", *PLANNED],
        ["peer", "sign", "evil.toml", "--home", "home"],
        ["peer", "status", "evil.toml", "--home", "home"],
        ["relay", "--admit", "evil.toml", "--listen", "127.0.0.1:0"],
        ["relay", "--admit", "cards", "--listen", "127.0.0.1:0"],
        ["study", "check", "evil.toml", "--data", "evil.toml"],
        ["study", "simulate", "evil.toml", "--data", "evil.toml"],
        ["solve", "evil.toml"],
        ["bench", "evil.toml"],
        ["simulate", "evil.toml"],
    ],
    ids=" ".join,
)
def test_a_key_of_many_parts_is_refused_by_every_command(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    Path("cards").mkdir()
    for name in ("evil.toml", "cards/evil.toml"):
        Path(name).write_text(DOTS)
    with mock.patch("tomllib.loads", side_effect=AssertionError("it was parsed")):
        assert main(words) == 1
    said = capsys.readouterr().err
    assert "in line 1 a key has more than 8 parts" in said
    assert "evil.toml" in said
    assert len(said) < 400


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n" + DOTS, "in line 2 a key has more than 8 parts"),
        (f"[a{'.a' * DEEPEST}]\n", "more than 8 parts"),
        ("x = { y = 1, " + ".".join(['"b"'] * (DEEPEST + 1)) + " = 2 }\n", "more than 8 parts"),
        ('x = {y = """a"""", ' + DOTS.rstrip() + ', z = "q"}', "more than 8 parts"),
        ("x = {y = '''a'''', " + DOTS.rstrip() + ", z = 'q'}", "more than 8 parts"),
        ("a . " * DEEPEST + "a = 1", "more than 8 parts"),
        ("k" * (LONGEST_KEY + 1) + " = 1\n", "more than 1,000 characters"),
        ('"' + "k" * LONGEST_KEY + '" = 1\n', "more than 1,000 characters"),
        ("x = " + "[" * (NESTED + 1) + "]" * (NESTED + 1), "more than 32 deep"),
        ("x = " + "{a=" * (NESTED + 1) + "1" + "}" * (NESTED + 1), "more than 32 deep"),
        ("x = " + "[" * 100_000, "more than 32 deep"),
        ("\n".join(f"k{i}=1" for i in range(MOST_KEYS + 1)), "more than 50,000 keys"),
        ("[[a]]\n" * (MOST_KEYS + 1), "more than 50,000 keys"),
        ("x = [" + "{a=1}," * (MOST_KEYS + 1) + "]", "more than 50,000 keys"),
    ],
    ids=range(14),
)
def test_what_costs_more_than_its_bytes_are_worth_is_refused(text, words):
    with pytest.raises(BadConfig, match=words), mock.patch("tomllib.loads", side_effect=AssertionError):
        toml_tables(text)


def test_what_only_looks_like_that_is_read():
    dots, long = DOTS.strip(), "k" * 5000
    text = f"""# {dots}
a = "{dots}"  # {dots}
b = '{dots}'
c = \"\"\"
{dots} ""
\"\"\"\"\"
d = ["{long}", 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5]
e.f.g.h.i.j.k.l = 1
"""
    assert toml_tables(text) == tomllib.loads(text)
    plan = drawn()
    assert plan.tables()["cards"]


@pytest.mark.parametrize(
    "text",
    [
        'x = "' + '\\"' * 2_000_000,
        'x = """' + '\\"""' * 1_000_000,
        "'" * 1_999_999,
        '""' * 2_000_001,
        "a " * 10**6,
    ],
)
def test_the_bounds_themselves_take_time_that_grows_with_the_length_alone(text):
    """Millions of bytes, on which a search that goes back would take days."""
    with pytest.raises(BadConfig, match="not valid TOML"):
        toml_tables(text)


def deepest(text: str) -> tuple[int, bool]:
    """How many parts the longest key has that Python's parser takes for one, and whether it takes the whole text."""
    from tomllib import _parser

    longest, parse = 0, _parser.parse_key

    def noted(*given):
        nonlocal longest
        place, key = parse(*given)
        longest = max(longest, len(key))
        return place, key

    with mock.patch.object(_parser, "parse_key", noted):
        try:
            tomllib.loads(text)
        except ValueError:
            return longest, False
    return longest, True


PIECES = [
    *"ab=.,#[]{}\"'\\ \n\t",
    "\r\n",
    " = ",
    '"""',
    "'''",
    '""""',
    "''''",
    '"""""',
    "a." * 9,
    '"x"."y".',
    "= 1\n",
]
PIECES += ['= """q""""\n', '{y = """a"""", ', "1.5", "\\\\", "é", "[[", "]]", "true"]


@given(
    st.sampled_from(["", "a = ", "a = {b = ", 'a = "', 'a = """', "a = '''"]),
    st.lists(st.sampled_from(PIECES)),
)
def test_no_deep_key_reaches_the_parser_and_nothing_else_is_kept_from_it(beginning, pieces):
    text = beginning + "".join(pieces)
    parts, whole = deepest(text)
    try:
        toml_tables(text)
    except BadConfig as error:
        refused = "has more than 8 parts" in str(error)
    else:
        refused = False
    assert refused or parts <= DEEPEST
    assert not (refused and whole and parts <= DEEPEST)


def sparse(path: Path, size: int = 6_000_000_000) -> Path:
    path.touch()
    os.truncate(path, size)
    return path


def test_a_transcript_that_claims_gigabytes_is_refused_by_its_size(tmp_path, capsys):
    write_plan(drawn(), tmp_path / "plan.toml")
    (tmp_path / "given").mkdir()
    sparse(tmp_path / "given" / "transcript.json")
    assert main(["peer", "verify", str(tmp_path / "plan.toml"), "--with", str(tmp_path / "given")]) == 1
    assert "transcript.json has 6,000,000,000 bytes, where 10,000,000 are the most" in capsys.readouterr().err


def test_signatures_and_results_that_claim_gigabytes_are_refused(tmp_path):
    from hocket.federation.verification.study_signatures import check_results

    sparse(tmp_path / "signatures.json")
    with pytest.raises(BadConfig, match=r"6,000,000,000 bytes, where 10,000,000 are the most"):
        check_results(drawn(), tmp_path)
    hexadecimal = dict.fromkeys(("run", "sums", "results"), "0" * 64)
    signed = {"file": "results.json", "left": [], "signatures": {}} | hexadecimal
    (tmp_path / "signatures.json").write_text(json.dumps(signed))
    sparse(tmp_path / "results.json")
    with pytest.raises(BadConfig, match=r"results.json has 6,000,000,000 bytes"):
        check_results(drawn(), tmp_path)


@pytest.mark.parametrize("read", [read_bytes, read_text])
def test_nothing_that_is_no_file_is_read(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    for name, words in (("pipe", "is a device"), ("", "is a folder")):
        with pytest.raises(BadConfig, match=words):
            read(tmp_path / name, 10)
    (tmp_path / "x").write_text("12345")
    with pytest.raises(BadConfig, match="has 5 bytes, where 4 are the most"):
        read(tmp_path / "x", 4)
    assert read(tmp_path / "x", 5) in ("12345", b"12345")


@pytest.mark.parametrize("text", ["[" * 10**6, "9" * 5000, b"\xff", "{", "nul", '{"a": 1', '"\ud800'])
def test_whatever_is_no_json_is_one_kind_of_error(text):
    with pytest.raises(BadConfig, match="not valid JSON"):
        json_value(text)


def test_json_reads_back_what_was_written():
    value = {"a": [1, 2.5, None, "ü"], "b": {"c": True}}
    assert json_value(json.dumps(value).encode()) == value


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (150_000_000,)}
        )
        file.write(header.getvalue())
        for _ in range(1200):
            file.write(bytes(1_000_000))
    (tmp_path / "bomb.npz").write_bytes(packed.getvalue())
    with pytest.raises(
        ValueError, match=r"unpacks to 1,200,000,\d\d\d bytes, where 1,000,000,000 are the most"
    ):
        arrays(tmp_path / "bomb.npz")
    np.savez(tmp_path / "sound.npz", x=np.arange(3))
    assert arrays(tmp_path / "sound.npz")["x"].tolist() == [0, 1, 2]
    for name, content in (("empty", b""), ("text", b"no archive"), ("cut", packed.getvalue()[:1000])):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UNREADABLE):
            arrays(tmp_path / name)


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", " =1+1", "＝1+1"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_a_table_computes_nothing_in_a_spreadsheet(tmp_path, cell):
    """Where a cell is a stranger's word, be it a column's name."""
    path = write_rows([{cell: 1.0, "term": cell}, {cell: -2.5, "term": "-2.5e-3"}], tmp_path / "rows.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    held = f"'{cell}".replace("\r", " ")
    assert rows == [[held, "term"], ["1.0", held], ["-2.5", "-2.5e-3"]]


def test_numbers_and_plain_words_stay_as_they_are():
    rows = [["term", "a-b", "x=1", "", None], [-1.5, "-1.5", "-inf", "nan", "+3"]]
    assert csv_text(rows) == "term,a-b,x=1,,\n-1.5,-1.5,-inf,nan,+3\n"


def test_a_small_file_takes_no_room_for_the_largest(tmp_path):
    path = tmp_path / "small"
    path.write_bytes(b"{}")
    tracemalloc.start()
    try:
        assert read_bytes(path, 1_000_000_000) == b"{}"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no file here hides its size")
def test_a_file_that_tells_no_size_is_read_and_bounded():
    path = Path("/proc/self/status")
    assert b"Name:" in read_bytes(path, 1_000_000)
    with pytest.raises(BadConfig, match="where 10 are the most"):
        read_bytes(path, 10)
