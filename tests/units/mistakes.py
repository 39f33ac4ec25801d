"""Mistakes that can be made on the command line: what is typed, and what the answer must say.

Choose it for a new error: a row here has it triggered, and checked for its culprit and its limit or cure.
"""

from __future__ import annotations

from typing import NamedTuple

FAILED, MISUSED = 1, 2


class Mistake(NamedTuple):
    """A command line, what its error must name as culprit, and what as limit or cure."""

    words: str
    culprit: str
    fix: str
    code: int = FAILED


RING = "audit --topology cycle:5"
PAIR = f"{RING} --colluders 1"

GENERAL = [
    Mistake("slove", '"slove"', 'Did you mean "solve"?', MISUSED),
    Mistake("completion tcsh", '"tcsh"', '"bash", "fish", "zsh"', MISUSED),
    Mistake("demo --uot x", "--uot", "Did you mean --out?", MISUSED),
    Mistake("demo --out full", "full is not empty", "name a new folder"),
    Mistake("demo --out file", "file is a file", "name a new folder"),
]

SOLVE = [
    Mistake("solve", "PROBLEM", "requires an argument", MISUSED),
    Mistake("solve good.toml --engine moon", '"moon" for --engine', '"simulator", "cluster"', MISUSED),
    Mistake("solve none.toml", "none.toml", "name a configuration file"),
    Mistake("solve empty", "it has no config.toml", "name a configuration file"),
    Mistake("solve good.toml --algorithm none.py:Mine", "none.py", "relative to the configuration file"),
    Mistake("solve good.toml --set delta=1", "--set delta=1 is of --algorithm", "name it"),
    Mistake("solve run --algorithm dgd", "run is a run's folder", "leave --algorithm away"),
    Mistake("solve run --out other", "run is a run's folder", "leave --out away"),
    Mistake("solve good.toml --out full", "full is not empty", "name a new folder"),
    Mistake("solve good.toml --out run", "run is not empty", "go on with it (hocket solve run)"),
    Mistake("solve good.toml --out file", "file is a file", "name a new folder"),
    Mistake("solve good.toml --out file/run", "file", "name a"),
    Mistake("solve typo.toml", "'detla'", "did you mean 'delta'?"),
    Mistake("solve sectionless.toml", "[run] is missing", "the sections are [problem]"),
    Mistake("solve negative.toml", "delta = -1.0", "must be zero or more"),
    Mistake("solve text.toml", "rounds = '5' (text)", "a whole number of rounds"),
    Mistake("solve zero.toml", "rounds = 0", "at least 1"),
    Mistake("solve six.toml", "5 agents and the network 6", "must be the same agents"),
    Mistake("solve apart.toml", "{0, 1}, {2, 3, 4}", "add links between them"),
    Mistake("solve moon.toml", "'moon'", "known are cycle"),
    Mistake("solve path.toml", "agent 0, 4", "give it a second link"),
    Mistake("solve far.toml", "agent 0 starts at [99.]", "move it inside"),
    Mistake("solve data.toml", "there is no file none.npz", "relative to the configuration file"),
    Mistake("solve nameless.toml", "defines no 'nothing'", "write the name of a Problem"),
    Mistake("solve failing.toml", "failing.py, line 1", "ZeroDivisionError"),
    Mistake("solve seven.toml", "gives a int", "must be a hocket.Problem"),
    Mistake("solve broken.toml", "broken.toml is not valid TOML", "line 1"),
    Mistake("solve bytes.toml", "bytes.toml is not text in UTF-8", "save it as UTF-8"),
]

AUDIT = [
    Mistake("audit", "has none", "one of --topology, --edges, --run and --plan"),
    Mistake(f"{PAIR} --edges links.txt", "--topology and --edges", "one of"),
    Mistake(RING, "against somebody", "--colluders"),
    Mistake(f"{RING} --coalition x", "--coalition 'x'", "write their numbers"),
    Mistake(f"{RING} --coalition 9", "agent 9", "0 to 4"),
    Mistake(f"{RING} --colluders x", '"x"', "--colluders", MISUSED),
    Mistake(f"{RING} --colluders 0", "colluders = 0", "1 or more"),
    Mistake(f"{RING} --colluders 5", "5 colluders among 5", "at most 3"),
    Mistake(f"{PAIR} --step fast", "'fast'", "write a,b,p"),
    Mistake(f"{PAIR} --step=-1", "-1", "a > 0"),
    Mistake(f"{PAIR} --forbid 0", "'0' is no link", "write its two agents"),
    Mistake(f"{RING} --colluders 2 --forbid 0-9", "0-9", "0 to 4"),
    Mistake(f"{PAIR} --algorithm rsa", "'rsa'", "choose one of"),
    Mistake(f"{PAIR} --weights heavy", "'heavy'", "choose 'paper'"),
    Mistake(f"{PAIR} --rounds 0", "rounds = 0", "1 or more"),
    Mistake(f"{PAIR} --runs 0", "runs = 0", "1 or more"),
    Mistake(f"{PAIR} --sigma=-1", "sigma = -1", "zero or more"),
    Mistake(f"{PAIR} --rounds 5 --dim 1 --wanted-sd=-1", "wanted = -1", "above zero"),
    Mistake(f"{PAIR} --rounds 5 --html empty", "empty", "name another place"),
    Mistake("audit --topology moon:5 --colluders 1", "'moon'", "known are cycle"),
    Mistake("audit --topology complete:100000000 --colluders 1", "4,999,999,950,000,000 links", "name fewer"),
    Mistake(
        f"{RING} --colluders 1 --coalition 1,3", "1 colluder and the coalition {1, 3}", "pass one of them"
    ),
    Mistake(f"{PAIR} --algorithm none.py:Mine", "there is no file none.py", "names are relative"),
    Mistake(f"{PAIR} --algorithm failing.py:Mine", "failing.py, line 1", "ZeroDivisionError"),
    Mistake(f"{PAIR} --algorithm rss-nb --set delta", "--set delta sets nothing", "gain=0.3"),
    Mistake(f"{PAIR} --set gain=1", "--set is of one algorithm", "name it, --algorithm rss-nb"),
    Mistake("audit --topology cycle:2 --colluders 1", "got 2", "at least 3"),
    Mistake(f"{RING} --colluders 1 --objectives cubic", "'cubic'", "write polynomial:2"),
    Mistake("audit --topology cycle --colluders 1", "'cycle' does not say n", "cycle:5"),
    Mistake("audit --edges none.txt --colluders 1", "none.txt", "two agent numbers a line"),
    Mistake("audit --edges links.txt --colluders 1", "links.txt, line 2", "write two agent numbers"),
    Mistake("audit --run empty --colluders 1", "it has no config.toml", "`hocket solve` wrote"),
    Mistake("audit --run run --colluders 1", "kept no messages", "keep='transcript'"),
    Mistake("audit --run run --colluders 1 --wanted-sd 1", "--wanted-sd", "leave --run away"),
]

PAGES = [
    Mistake("report", "FOLDER", "requires an argument", MISUSED),
    Mistake("report nowhere", "there is no folder nowhere", "name one"),
    Mistake("report empty", "neither run.json nor plan.toml", "name one that"),
    Mistake("report run --colluders 1 --coalition 2", "--coalition", "leave one away"),
    Mistake("report run --coalition x", "'x'", "write their numbers"),
    Mistake("report run --colluders 4", "4 colluders among 5", "at most 3"),
    Mistake("explore --topology moon:5 --no-browser", "'moon'", "known are cycle"),
    Mistake("explore --port x", '"x"', "--port", MISUSED),
    Mistake("explore --port 99999 --no-browser", "port 99999", "name another with --port"),
]

REPRODUCE = [
    Mistake("reproduce moon", '"moon"', "Available commands: polynomials", MISUSED),
    *(
        Mistake(f"reproduce {part} --out full", "full is not empty", "name a new folder")
        for part in ("polynomials", "tradeoff", "privacy", "reconstruction", "certificates", "all")
    ),
    Mistake(
        "reproduce mnist --data nowhere", "nowhere, which is no folder", "name the one that holds your data"
    ),
    Mistake("reproduce mnist --data empty", "empty holds no train-images", "put it there"),
    Mistake("reproduce reuters --data empty", "empty holds no reuters.npz", "put it there"),
    Mistake("reproduce mnist --only moon", "'moon'", "its parts are curves"),
    Mistake(
        "reproduce reuters --data nowhere", "nowhere, which is no folder", "name the one that holds your data"
    ),
    Mistake("reproduce claims --only moon", "'moon'", "the claims are"),
    Mistake("reproduce claims --only lemma-1 --out x", "--only", "leave one of them away"),
    Mistake("reproduce learning-attacks --quikc", "--quikc", "Did you mean --quick?", MISUSED),
]

CLUSTER = [
    Mistake("cluster run good.toml", "--processes", "requires an argument", MISUSED),
    Mistake("cluster run good.toml --processes 0", "--processes 0", "at least one"),
    Mistake("cluster run none.toml --processes 1", "none.toml", "name a configuration file"),
]

CARDS = "clinic-a.toml clinic-b.toml clinic-c.toml"


def plan(more: str = "", *, cards: str = CARDS, **changes: object) -> str:
    """`hocket peer plan` with some options changed; None leaves one out."""
    options = {
        "topology": "complete",
        "colluders": 1,
        "algorithm": "rss-nb",
        "noise_bound": 1,
        "persistent": 0.5,
        "task": "mean",
        "dimension": 1,
        "rounds": 5,
        "out": "new.toml",
    } | changes
    given = " ".join(
        f"--{key.replace('_', '-')}={value}" for key, value in options.items() if value is not None
    )
    return f"peer plan {cards} {given} {more}".strip()


PLAN = [
    Mistake(plan(cards=""), "0 cards", "at least two members"),
    Mistake(plan(cards="clinic-a.toml"), "1 cards", "at least two members"),
    Mistake(plan(cards=f"none.toml {CARDS}"), "none.toml", "`hocket peer init` wrote"),
    Mistake(plan(cards=f"good.toml {CARDS}"), "good.toml is no card", "[card]"),
    Mistake(plan(cards=f"clinic-a.toml {CARDS}"), "clinic-a", "one card"),
    Mistake(plan(topology="cycle:7"), "7 agents, and 3 cards", "choose one that fits"),
    Mistake(plan(topology="moon"), "'moon'", "known are cycle"),
    Mistake(plan(cards=f"{CARDS} clinic-d.toml"), "clinic-c and clinic-d", "give one of them an address"),
    Mistake(plan(step="fast"), "'fast'", "write a,b,p"),
    Mistake(plan(box="1"), "'1' is no box", "write low,high"),
    Mistake(plan(box="-1,1", ball=1), "--box and --ball", "give one of them"),
    Mistake(plan(algorithm="rsa"), "'rsa'", "choose one of"),
    Mistake(plan(noise_bound=None), "'delta'", "give a number"),
    Mistake(plan(noise_bound=-1), "delta = -1.0", "zero or more"),
    Mistake(plan("--set degree=2"), "'degree'", "its keys are"),
    Mistake(plan(colluders=0), "colluders = 0", "at least 1"),
    Mistake(plan(rounds=0), "rounds = 0", "at least 1"),
    Mistake(plan(dimension=0), "dimension = 0", "how many numbers"),
    Mistake(plan(dimension=10**30), "dimension = 1000000", "at most 100,000,000"),
    Mistake(plan(rounds=10**9), "rounds = 1000000000", "at most 10,000,000"),
    Mistake(plan(rounds=10**7), "10,000,000 rounds of 3 members", "plan at most"),
    Mistake(plan(local_steps=10**9), "local_steps = 1000000000", "at most 1,000,000"),
    Mistake(plan(seed=10**30), "seed = 1000000", "below 2^63"),
    Mistake(plan(task="m" * 201, dataset="m"), "name = 'mmm", "at most 200 characters"),
    Mistake(plan(cards=f"empty {CARDS}"), "empty is a folder", "name a file"),
    Mistake(plan(dataset="Trial_7"), "'Trial_7'", "write trial-7"),
    Mistake(plan(dimension=None), "does not tell the dimension", "give --dimension"),
    Mistake(plan(dimension=None, task="none.py:task"), "none.py", "--task"),
    Mistake(plan(dimension=None, task="failing.py:task"), "failing.py, line 1", "ZeroDivisionError"),
    Mistake(plan(dtype="float8"), "'float8'", "'float64' or 'float32'"),
    Mistake(plan(dataset="../x"), "'../x'", "small letters and digits"),
    Mistake(plan(min_sd=9), "900 % of a gradient of size 1 is the least", "--unsafe"),
    Mistake(plan(out="file"), "file exists", "--out"),
    Mistake(plan(out="file/plan.toml"), "file/plan.toml", "cannot be written"),
    Mistake(plan(after="none.toml"), "none.toml", "hocket peer plan"),
]

MEMBER = [
    Mistake("peer init", "--name", "requires an argument", MISUSED),
    Mistake("peer init --name Clinic --home new", "'Clinic'", "use small letters"),
    Mistake("peer init --name clinic-z --address clinic --home new", "'clinic'", "write host:port"),
    Mistake("peer init --name clinic-z --days 0 --home new", "0 days", "at least one day (--days)"),
    Mistake("peer init --name clinic-a --home new", "clinic-a.toml exists", "--card"),
    Mistake("peer init --name clinic-z --home home-a", "already holds an identity", "name another folder"),
    Mistake("peer init --name clinic-z --home file", "file", "name another place"),
    Mistake("peer verify none.toml --with home-a", "none.toml", "hocket peer plan"),
    Mistake("peer verify plan.toml --with home-a", "no transcript.json in home-a", "when it has finished"),
    Mistake(
        "peer verify plan.toml --with home-a --task clinic-a",
        "clinic-a names no member",
        "MEMBER=FILE.py:NAME",
    ),
    Mistake("peer disclose none.toml --out given --home home-a", "none.toml", "hocket peer plan"),
    Mistake("peer disclose plan.toml --out given --home home-a", "has not finished", "hocket peer run"),
    Mistake("peer sign none.toml --home home-a", "none.toml", "hocket peer plan"),
    Mistake("peer sign good.toml --home home-a", "good.toml", "a plan has"),
    Mistake(
        "peer sign clinic-a.toml --home home-a",
        "clinic-a.toml: this is a member's card",
        "hocket peer plan wrote",
    ),
    Mistake("peer sign plan.toml --home nobody", "nobody", "folder with --home"),
    Mistake("peer sign plan.toml --home home-d", "clinic-d is not in this plan", "its members are"),
    Mistake("peer sign plan.toml changed.toml --home home-a", "another plan", "rounds"),
    Mistake("peer sign plan.toml --home home-a", "standard input is no terminal", "add --yes"),
    Mistake("peer sign unsafe.toml --home home-a", "exactly", "add --yes and --accept-unsafe"),
    Mistake("peer sign unsafe.toml --home home-a --yes", "unsafe.toml exposes", "add --accept-unsafe"),
    Mistake("peer sign plan.toml --home home-b --yes", "would be ±", "home-b/policy.toml sets this policy"),
    Mistake("peer sign plan.toml --home home-c --yes", "home-c/policy.toml", "did you mean 'min_sd'?"),
    Mistake("peer sign empty --home home-a", "empty is a folder", "name a file"),
    Mistake("peer sign /dev/zero --home home-a", "/dev/zero is a device", "name a file"),
    Mistake("peer sign digits.toml --home home-a", "too many digits", "digits.toml"),
    Mistake("peer sign nested.toml --home home-a", "nested more than 32 deep", "nested.toml"),
    Mistake("peer status damaged.toml --home home-a", "status.json is damaged", "move it away"),
    Mistake("peer stop damaged.toml --home home-a", "status.json is damaged", "move it away"),
    Mistake("peer status none.toml --home home-a", "none.toml", "hocket peer plan"),
    Mistake(
        "peer status signed.toml --home home-a",
        "no run of this plan was begun",
        "begin it with hocket peer run",
    ),
    Mistake(
        "peer stop signed.toml --home home-a",
        "no run of this plan was begun",
        "begin it with hocket peer run",
    ),
    Mistake("peer watch none.toml --home home-a", "none.toml", "hocket peer plan"),
    Mistake("peer watch damaged.toml --home home-a", "status.json is damaged", "move it away"),
    Mistake("peer watch signed.toml --home nobody", "nobody", "hocket peer init"),
    Mistake("peer watch signed.toml --home home-d", "clinic-d is not in this plan", "its members are"),
    Mistake("peer watch signed.toml --home home-a --web --port 99999", "99999", "--port"),
    Mistake("peer service signed.toml --home home-a", "gradients of a task", "give --task FILE.py:NAME"),
    Mistake("peer service signed.toml --task none.py:task --home home-a", "none.py", "seen from"),
    Mistake("peer service signed.toml --task task.py:task --home home-a -o file", "file exists", "--out"),
    Mistake("peer service signed.toml --task task.py:task --home nobody", "nobody", "hocket peer init"),
    Mistake("peer invite --home nobody", "nobody", "hocket peer init"),
    Mistake("peer invite --home home-a --card clinic-b.toml", "clinic-b.toml", "name it with --card"),
    Mistake("peer invite --home home-a -o file", "file exists", "--out"),
    Mistake("peer invite plan.toml --home home-d", "clinic-d is not in this plan", "its members are"),
    Mistake("peer accept clinic-a.toml --home home-a", "[invitation] is missing", "no invitation"),
    Mistake("peer accept none.toml --home home-a", "none.toml", "hocket peer invite"),
    Mistake("peer accept plan.toml --home home-a", "this is a plan and no invitation", "hocket peer sign"),
    Mistake("peer again none.toml", "none.toml", "hocket peer plan"),
    Mistake("peer again signed.toml --without oak", "oak is not in this plan", "its members are"),
    Mistake("peer again signed.toml clinic-d.toml -o file", "file exists", "--out"),
    Mistake("peer again signed.toml --days 0", "not 0", "--days"),
    Mistake("peer drop signed.toml oak --home home-a", "oak is not in this plan", "its members are"),
    Mistake("peer drop signed.toml clinic-a --home home-a", "clinic-a is you", "to leave, stop"),
    Mistake("peer renew --home nobody", "nobody", "hocket peer init"),
    Mistake("peer renew --home home-a --card file", "file exists", "--card"),
    Mistake("peer renew --home home-a --address x", "'x'", "write host:port"),
    Mistake("peer replace signed.toml", "no card", "hocket peer renew"),
    Mistake("peer replace signed.toml clinic-d.toml", "clinic-d", "its members are"),
    Mistake("peer replace signed.toml clinic-a.toml -o file", "file exists", "--out"),
    Mistake("peer demo --algorithm rsa", "rsa", "choose one of"),
    Mistake("peer demo --out full", "full is not empty", "name a new folder"),
    *(
        mistake
        for command in ("check", "run")
        for mistake in (
            Mistake(
                f"peer {command} plan.toml --home home-a", "gradients of a task", "give --task FILE.py:NAME"
            ),
            Mistake(
                f"peer {command} plan.toml --data x.csv --home home-a", "gradients of a task", "no --data"
            ),
            Mistake(f"peer {command} none.toml --task task.py:task --home home-a", "none.toml", "peer plan"),
            Mistake(f"peer {command} plan.toml --task task.py:task --home home-a", "clinic-a", "peer sign"),
            Mistake(f"peer {command} signed.toml --task task --home home-a", "task", "FILE.py:NAME"),
            Mistake(f"peer {command} signed.toml --task none.py:task --home home-a", "none.py", "seen from"),
            Mistake(f"peer {command} signed.toml --task task.py:no --home home-a", "'no'", "name of a task"),
            Mistake(f"peer {command} signed.toml --task seven.py:problem --home home-a", "int", "gradient("),
            Mistake(f"peer {command} signed.toml --task task.py:wide --home home-a", "dimension 2", "plan 1"),
            Mistake(f"peer {command} signed.toml --task task.py:task --home nobody", "nobody", "peer init"),
            Mistake(
                f"peer {command} changed.toml --task task.py:task --home home-a",
                "the signature of clinic-",
                "signs it again",
            ),
        )
    ),
]

CERTIFY = [
    Mistake("certify", "needs one of --topology and --edges", "has none"),
    Mistake("certify --topology cycle:5 --colluders 1", "none was named", "give one of --move 1,4,.6;-.8"),
    Mistake(
        "certify --topology cycle:5 --algorithm certified-rss-nb --colluders 1 --transfer 1",
        "every round",
        "--rounds",
    ),
    Mistake("certify --topology cycle:5 --colluders 9 --transfer 1", "leave nobody honest", "at most 4"),
]

STUDIES = [
    Mistake("study check study.toml", "--data", "requires an argument", MISUSED),
    Mistake("study check none.toml --data a.csv", "none.toml", "name a study"),
    Mistake("study check good.toml --data a.csv", "no section [problem]", "the sections are study"),
    Mistake("study check study.toml --data none.csv", "none.csv", "name a CSV or Parquet file"),
    Mistake("study check study.toml --data empty", "empty is a folder", "name a CSV or Parquet file"),
    Mistake("study check study.toml --data links.txt", "there is no column 'y'", "rename it"),
    Mistake("study check study.toml --data a.csv --encoding moon", "no encoding 'moon'", "try utf-8"),
    Mistake("study check study.toml --data a.csv --decimal x", "--decimal 'x'", "a point or a comma"),
    Mistake("study check study.toml --data a.csv --delimiter ab", "--delimiter 'ab'", "one character"),
    Mistake("study forget none.toml", "none.toml", "make a plan"),
    Mistake("study forget plan.toml --home home-b", "follows gradients", "only a study's are forgotten"),
    Mistake("study simulate study.toml --data a.csv", "two members or more", "name a table for each"),
    Mistake("study simulate study.toml --data a.csv a.csv", "is named twice", "its own table"),
    Mistake(
        "study simulate study.toml --data a.csv b.csv --out full", "full is not empty", "name a new folder"
    ),
    Mistake("study simulate study.toml --data a.csv b.csv", "x is constant", "leave it out of the formula"),
]
BENCH = [
    Mistake("bench", "FILE", "requires an argument", MISUSED),
    Mistake("bench none.toml", "none.toml", "name a file that describes a comparison"),
    Mistake("bench good.toml", "no section [problem]", "did you mean 'problems'?"),
    Mistake("simulate none.toml", "none.toml", "make a plan with hocket peer plan"),
    Mistake("simulate signed.toml --write", "signed.toml", "sign"),
    Mistake("relay --listen 127.0.0.1:0", "--admit", "requires an argument", MISUSED),
    Mistake("relay --listen 127.0.0.1:0 --admit none.toml", "none.toml", "make a plan with hocket peer plan"),
    Mistake("relay --listen 127.0.0.1:0 --admit plan.toml", "name no relay at all", "--name"),
    Mistake("relay --listen 127.0.0.1:0 --admit empty", "admits nobody", "name a plan's file"),
]

ALL = [*GENERAL, *SOLVE, *CERTIFY, *STUDIES, *AUDIT, *PAGES, *REPRODUCE, *CLUSTER, *PLAN, *MEMBER, *BENCH]
