"""`hocket audit` as it is typed: topologies, files of links, folders of runs, plans of noise, and wrong questions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape

import networkx as nx
import pytest

import hocket as hk
from hocket.cli import main
from hocket.report.exposure import findings_table
from tests.units.test_cli import ENVIRONMENT

QUICK = ["--rounds", "8"]
ALONE = ["--algorithm", "function-sharing", *QUICK]
"""Where only the graph matters."""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def audited(capsys):
    """Runs an audit that must succeed; returns its JSON object, the only thing on standard output."""

    def run(*words: str) -> dict:
        assert main(["audit", *words, "--json"]) == 0, capsys.readouterr().err
        return json.loads(
            capsys.readouterr().out, parse_constant=pytest.fail
        )  # NaN and infinities are no JSON

    return run


def visible(html: str) -> str:
    """What people can read of a page: no style, no script, no tags."""
    html = re.sub(r"<(style|script|noscript)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def test_a_ring_of_five_against_one_and_against_two(audited):
    one = audited("--topology", "cycle:5", "--colluders", "1", *QUICK)
    assert (one["min_degree"], one["vertex_connectivity"]) == (2, 2)
    assert (one["p1"], one["p2"], one["exposed"]) == (True, True, [])
    two = audited("--topology", "cycle:5", "--colluders", "2", *QUICK)
    assert (two["min_degree"], two["vertex_connectivity"]) == (2, 2)
    assert (two["p1"], two["p2"], two["exposed"]) == (False, False, [0, 1, 2, 3, 4])
    assert "the objectives of agents 0, 1, 2, 3 and 4" in " ".join(two["verdict"])
    assert two["repair"]["added"]


def test_in_a_process_of_its_own_nothing_but_json_is_printed():
    words = ["audit", "--topology", "cycle:n=5", "--colluders", "1", *QUICK, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "hocket", *words],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert json.loads(done.stdout)["p2"] is True


def test_an_algorithm_by_name_begins_with_its_certificate(audited, capsys):
    words = ["--topology", "cycle:5", "--colluders", "1", "--algorithm", "function-sharing", "--sigma", "2"]
    found = audited(*words, *QUICK)["certificate"]
    itself = hk.certify(hk.Network.cycle(5), "function-sharing", colluders=1, sigma=2.0, transfer=1.0)
    assert found["mu"] == pytest.approx(itself.mu)
    assert main(["audit", *words, *QUICK]) == 0
    assert capsys.readouterr().out.startswith("Against any 1 colluder, receiving every message")
    assert audited(*words[:4], *QUICK)["certificate"] is None  # of several at once none


def test_people_are_told_in_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["audit", "--topology", "grid:3x4", "--coalition", "1,4", *QUICK]) == 0
    shown = capsys.readouterr().out
    for said in (
        "Under FS, agents 1 and 4 would know the objective of agent 0 exactly.",
        "Function sharing: against coalition {1, 4} P2 fails and so does P1: it cuts the honest agents apart.",
        "Exposed exactly to it: the objective of agent 0.",
        "RSS-NB: no theorem. Coalition {1, 4}:",
        "To repair it for function sharing: add",
        "with all messages",
        "not differential privacy",
    ):
        assert said in shown


def test_the_table_names_whom_a_tap_serves_better():
    """On this graph agent 5 hears most by itself, and with a tap agent 1 leaves somebody one honest neighbour."""
    graph = nx.compose(nx.gnp_random_graph(6, 0.45, seed=1), nx.path_graph(6))
    found = hk.audit(hk.Network(graph), colluders=1, algorithm="rss-nb", rounds=60)
    (row,) = findings_table(found.findings).rows
    assert row[:2] == ("RSS-NB", "{5}")
    assert [cell[:4] for cell in row[3:]] == ["{1}:", "{1}:"]


def test_links_from_a_file(tmp_path, audited):
    (tmp_path / "ward.txt").write_text("# a ring\n0 1\n1, 2\n2 3\n3 0\n")
    found = audited("--edges", "ward.txt", "--colluders", "1", *ALONE)
    assert (found["topology"], found["agents"], found["links"]) == ("ward", 4, 4)
    assert found["p2"] is True


def test_forbidden_links_are_not_added(audited):
    free = audited("--topology", "cycle:6", "--colluders", "2", *ALONE)["repair"]["added"]
    forbidden = ",".join(f"{j}-{i}" for i, j in free)  # in either order
    found = audited("--topology", "cycle:6", "--colluders", "2", "--forbid", forbidden, *ALONE)
    assert not {*map(tuple, free)} & {*map(tuple, found["repair"]["added"])}
    none = audited("--topology", "cycle:6", "--colluders", "2", "--forbid", "0-2,0-3,0-4", *ALONE)
    assert none["repair"] is None
    assert "cut {0} from {2, 3, 4}" in none["unrepairable"]


def test_the_plan_is_what_was_asked_for(audited):
    plan = ["--rounds", "5", "--step", "0.2", "--sigma", "0.5", "--runs", "3", "--weights", "metropolis"]
    found = audited("--topology", "cycle:5", "--coalition", "1", "--algorithm", "rss-lb", *plan)
    network = hk.Network.cycle(5, weights="metropolis")
    right = hk.leakage(network, "rss-lb", coalition={1}, rounds=5, step=0.2, sigma=0.5, runs=3)
    assert found["findings"][0]["sd"] == right.sd.tolist()
    assert "over 5 rounds of 3 runs" in found["statement"][0]
    assert (found["p1"], found["p2"]) == (None, None)  # no theorem


def test_noise_for_a_wanted_uncertainty(audited, capsys):
    asked = ["--topology", "cycle:5", "--coalition", "1", "--dim", "1", "--wanted-sd", "2", *QUICK]
    planned = audited(*asked)["noise_plan"]
    assert min(planned["sd"][j] for j in (0, 2, 3, 4)) >= 2
    assert planned["delta"] == min(one["delta"] for one in planned["considered"])
    assert main(["audit", *asked]) == 0
    assert f"RSS-NB with delta={planned['delta']:.4g} and" in capsys.readouterr().out
    hopeless = audited(
        "--topology", "cycle:5", "--coalition", "1,4", "--dim", "1", "--wanted-sd", "2", *QUICK
    )
    assert hopeless["noise_plan"].startswith(
        "No plan for the noise of RSS-NB: no noise of RSS-NB hides agent 0"
    )


def test_noise_for_states_of_many_numbers_reaches_what_was_wanted(audited):
    asked = ["--topology", "cycle:5", "--coalition", "1", "--wanted-sd", "0.5", *QUICK]
    planned = {dim: audited(*asked, "--dim", str(dim))["noise_plan"] for dim in (1, 11)}
    for dim, plan in planned.items():
        algorithm = hk.RssNb(plan["delta"], persistent=plan["persistent"])
        how = {"rounds": 8, "step": hk.Power(1, 20, 0.75), "dim": dim}
        found = hk.leakage(hk.Network.cycle(5), algorithm, coalition={1}, **how)
        assert 0.5 <= found.sd[list(found.honest)].min() < 0.55
    # Noise is dealt over all numbers of a state: without the dimension Δ was too small by its root.
    assert planned[11]["delta"] == pytest.approx(11**0.5 * planned[1]["delta"], rel=0.02)


def test_an_algorithm_is_audited_with_its_own_noise(audited):
    own = [
        "--algorithm",
        "rss-nb",
        "--noise-bound",
        "20",
        "--persistent",
        "0.5",
        "--dim",
        "11",
        "--gradient-size",
        "4",
    ]
    found = audited("--topology", "cycle:5", "--coalition", "1", *own, *QUICK)
    how = {"rounds": 8, "step": hk.Power(1, 20, 0.75), "dim": 11}
    right = hk.leakage(hk.Network.cycle(5), hk.RssNb(20.0, persistent=0.5), coalition={1}, **how)
    assert found["findings"][0]["sd"] == right.sd.tolist()
    assert found["gradient_size"] == 4.0
    assert "of size 4 per coordinate, as declared" in " ".join(found["statement"])


def test_the_page_of_a_run_holds_all_that_its_verdict_says(tmp_path, capsys, audited):
    """And no P1 or P2, which are about another algorithm."""
    solved(tmp_path, "rss-nb")
    capsys.readouterr()
    found = audited("--run", "done", "--coalition", "1,4", "--html", "audit.html")
    seen = visible((tmp_path / "audit.html").read_text(encoding="utf-8"))
    assert len(found["measured"]) == 3
    for line in (found["answer"], *found["verdict"], *found["statement"]):
        assert line.replace("e-", "e\N{NON-BREAKING HYPHEN}") in seen
    assert "P1" not in seen
    assert "P2" not in seen
    assert "Under function sharing" not in seen


def test_terms_are_explained_on_the_page(tmp_path, audited):
    audited("--topology", "cycle:5", "--colluders", "2", *QUICK, "--html", "audit.html")
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    explained = re.findall(r"<dt>(.*?)</dt>", page)
    assert {"gradient", "coalition", "±", "relative error", "estimate", "theorem", "P1", "P2"} <= {*explained}


def test_at_most_six_rows_are_read_before_the_raw_table(tmp_path, audited):
    asked = ["--topology", "cycle:12", "--coalition", "1", "--algorithm", "rss-nb", *QUICK]
    audited(*asked, "--html", "audit.html")
    page = (tmp_path / "audit.html").read_text(encoding="utf-8")
    rows = re.search(r'<table class="stacked">.*?</table>', page, re.DOTALL)
    assert rows is not None
    assert rows[0].count("<tr>") == 7  # and the head
    assert "and 6 more" in rows[0]
    assert page.index('class="lead"') < rows.start() < page.index("<details>")


def test_a_page_that_needs_nothing_else(tmp_path, audited):
    asked = ["--topology", "cycle:5", "--colluders", "2", "--sigma", "0.5", "--forbid", "0-2", *QUICK]
    found = audited(*asked, "--html", "sub/audit.html")
    assert found["page"] == "sub/audit.html"
    page = (tmp_path / "sub" / "audit.html").read_text(encoding="utf-8")
    assert re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", page) is None
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", page)
    assert "Function sharing: against any 2 colluders P2 fails" in page
    again = "hocket audit --topology cycle:5 --rounds 8 --sigma 0.5"
    assert f"{again} --colluders 2 --forbid 0-2 --html sub/audit.html" in page
    assert f"{again} --coalition" in page


CONFIG = """
[problem]
kind = "polynomials"
coefficients = [[0, -2, 1], [0, -1, 1], [0, 0, 1], [0, 1, 1], [0, 2, 1]]
box = [-5, 5]
[network]
topology = "cycle:5"
[algorithm]
name = "NAME"
[step]
a = 0.1
b = 20
p = 0.75
[run]
rounds = 12
start = 0.5
"""
ALGORITHMS = {
    "dgd": "",
    "rss-nb": "delta = 1.0\npersistent = 0.5",
    "rss-lb": "delta = 1.0",
    "function-sharing": "degree = 2\nbound = 0.3",
    "independent": "sd = 1.0",
}


def solved(folder, name, keep='keep = "transcript"'):
    """A run in a folder, as `hocket solve` leaves it."""
    text = CONFIG.replace('"NAME"', f'"{name}"\n{ALGORITHMS[name]}') + keep
    (folder / "problem.toml").write_text(text)
    assert main(["solve", "problem.toml", "--out", "done"]) == 0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("rss-nb", "function-sharing") else pytest.mark.slow)
        for name in ALGORITHMS
    ],
)
def test_a_folder_holds_all_that_an_audit_needs(tmp_path, capsys, audited, name):
    solved(tmp_path, name)
    capsys.readouterr()
    found = audited("--run", "done", "--coalition", "1,4")
    assert found["topology"] == "cycle:5"
    first = found["measured"][0]
    assert first["target"] == [0]
    assert first["error"] is not None
    assert first["exact"] == (name != "independent")
    if first["exact"]:
        assert first["error"] < 1e-9
    assert (found["p1"] is False) == (name == "function-sharing")
    assert found["findings"][0]["searched"] is None


EXACT = """
[problem]
kind = "paper-polynomials"
[network]
topology = "cycle:5"
[algorithm]
name = "NAME"
[run]
rounds = 6
keep = "transcript"
"""


@pytest.mark.parametrize(
    "name",
    [
        "extra",
        pytest.param("push-diging", marks=pytest.mark.slow),
        pytest.param('function-sharing"\ndegree = 2\nbound = 1.0\ninner = "extra', marks=pytest.mark.slow),
    ],
    ids=["exact", "push", "function sharing"],
)
def test_a_folder_whose_step_was_left_to_the_algorithm_is_audited(tmp_path, capsys, audited, name):
    """'auto' was no step size: no run of an exact method was audited or reported whose file says nothing of steps."""
    (tmp_path / "problem.toml").write_text(EXACT.replace("NAME", name))
    assert main(["solve", "problem.toml", "--out", "done"]) == 0
    capsys.readouterr()
    found = audited("--run", "done", "--colluders", "1")
    assert found["measured"]
    assert main(["report", "done", "--colluders", "1"]) == 0


def test_a_folder_whose_run_kept_no_words_is_refused(tmp_path, capsys):
    solved(tmp_path, "dgd", keep="")
    capsys.readouterr()
    assert main(["audit", "--run", "done", "--coalition", "1"]) == 1
    assert "kept no messages to attack; run it again with keep='transcript'" in capsys.readouterr().err


RING = ["--topology", "cycle:5"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*RING], "an audit is against somebody: name --colluders, a number, or --coalition"),
        (["--colluders", "1"], "an audit needs one of --topology, --edges, --run and --plan, and has none"),
        ([*RING, "--edges", "x", "--colluders", "1"], "and has --topology and --edges"),
        (["--edges", "x", "--colluders", "1"], "x does not exist; name a file with two agent numbers a line"),
        (["--run", "x", "--colluders", "1"], "x is no folder of a run: it has no config.toml; name one that"),
        (["--topology", "path:2", "--colluders", "1"], "path:2 has 2 agents"),
        ([*RING, "--colluders", "5"], "5 colluders among 5 agents leave nobody honest; plan for at most 3"),
        ([*RING, "--colluders", "4"], "leave one, with nothing to hide behind; plan for at most 3"),
        ([*RING, "--coalition", "1,9"], "agent 9 is unknown: this network has agents 0 to 4"),
        ([*RING, "--coalition", "0,1,2,3,4"], "all 5 agents, nobody is left to hide anything"),
        ([*RING, "--coalition", "0,1,2,3"], "everybody but agent 4, who has nothing left to hide behind"),
        ([*RING, "--coalition", "one"], "--coalition 'one' is no list of agents; write their numbers, 1,4"),
        ([*RING, "--colluders", "2", "--coalition", "1"], "2 colluders and the coalition {1} disagree"),
        ([*RING, "--colluders", "1", "--forbid", "0"], "--forbid '0' is no link; write its two agents, 0-2"),
        ([*RING, "--colluders", "1", "--forbid", "0-9"], "the forbidden link 0-9 does not join two of"),
        ([*RING, "--colluders", "1", "--step", "a"], "--step 'a' is no step size; write a,b,p"),
        ([*RING, "--colluders", "1", "--step", "1,2"], "--step '1,2' is no step size"),
        ([*RING, "--colluders", "1", "--step", "-1"], "steps must be positive"),
        ([*RING, "--colluders", "1", "--rounds", "0"], "rounds = 0; give a whole number, 1 or more"),
        ([*RING, "--colluders", "1", "--sigma", "-1"], "sigma = -1.0; a standard deviation is zero or more"),
        ([*RING, "--colluders", "1", "--algorithm", "rsa"], "unknown algorithm 'rsa'; choose one of rss-nb"),
        ([*RING, "--colluders", "1", "--weights", "x"], "unknown weights 'x'; choose 'paper'"),
        (
            [*RING, "--colluders", "1", "--dim", "1", "--wanted-sd", "-1", *QUICK],
            "wanted = -1.0; give a standard deviation",
        ),
        ([*RING, "--colluders", "1", "--wanted-sd", "1", *QUICK], "--wanted-sd needs --dim"),
        ([*RING, "--colluders", "1", "--persistent", "0.5"], "--persistent is a share of --noise-bound"),
        ([*RING, "--colluders", "1", "--noise-bound", "2"], "name it, --algorithm rss-nb"),
        (
            [*RING, "--colluders", "1", "--algorithm", "rss-nb", "--noise-bound", "2", "--sigma", "1"],
            "both say how much noise there is",
        ),
        ([*RING, "--colluders", "1", "--gradient-size", "0"], "gradient_size = 0.0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_questions_are_answered_in_words(words, says, capsys):
    assert main(["audit", *words]) == 1
    shown = capsys.readouterr()
    assert says in shown.err
    assert shown.out == ""
    assert "Traceback" not in shown.err


def test_a_run_is_not_planned_again(tmp_path, capsys):
    solved(tmp_path, "dgd")
    for extra, says in (
        (["--wanted-sd", "1"], "--wanted-sd plans a run to come; leave --run away"),
        (["--algorithm", "rss-nb"], "a run says itself which algorithm it played"),
    ):
        assert main(["audit", "--run", "done", "--coalition", "1", *extra]) == 1
        assert says in capsys.readouterr().err


def test_what_a_declared_class_gives_away(audited):
    words = [
        "--topology",
        "complete:5",
        "--coalition",
        "0",
        "--algorithm",
        "rss-nb",
        "--noise-bound",
        "5",
        *QUICK,
    ]
    (form,) = audited(*words, "--objectives", "polynomial:2")["findings"][0]["forms"]
    assert form["exact"] == {"curvatures": [1, 2, 3, 4]}
    assert audited(*words, "--objectives", "any")["findings"][0]["forms"] == []
