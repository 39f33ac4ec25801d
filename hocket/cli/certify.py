"""`hocket certify`: differential privacy with a number, against a coalition or any of a size."""

from __future__ import annotations

import re
from typing import Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.options import (
    Coalition,
    Colluders,
    Edges,
    Topology,
    agents_in,
    named_network,
    numbers,
    read_step,
)
from hocket.errors import BadConfig, BadInput

KEYWORD = re.compile(
    r"(?<![\w-])(persistent|independent|coalition|colluders|kept|move|rate|rounds|runs|sensitivity|shift|sigma|step|"
    r"transfer)=(?=(\d?))"
)
IN_PYTHON = {"move=(i, j, c)": "--move 1,4,.6;-.8", "shift={agent: c}": "--shift 1:1,4:-1"} | {
    "transfer=norm": "--transfer 1",
    "sensitivity=S": "--sensitivity 1",
}
"""How questions are put in Python, and how on the command line."""


def certify(
    *,
    topology: Topology = None,
    edges: Edges = None,
    algorithm: str = "function-sharing",
    colluders: Colluders = None,
    coalition: Coalition = None,
    sigma: str = "1",
    independent: float = 0.0,
    persistent: float = 0.0,
    move: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    shift: str | None = None,
    transfer: float | None = None,
    sensitivity: float | None = None,
    records: int = 1,
    rounds: int | None = None,
    step: str | None = None,
    rate: float = 1.0,
    runs: int = 1,
    kept: bool = False,
    leavers: str | None = None,
    delta: float = 1e-5,
) -> Answer:
    """Certify what insiders can tell at most, as Gaussian differential privacy, by theorem and with its conditions.

    Name the network by --topology or --edges, the adversary by --colluders or --coalition, and what is to be hidden by
    --move, --shift, --transfer or --sensitivity.

    Args:
        algorithm: function-sharing or certified-rss-nb.
        sigma: Standard deviation of one draw, or one for each link in order: 1,2,1.5.
        independent: Standard deviation of independent noise, which each agent adds by itself.
        persistent: Standard deviation of persistent pairwise noise, drawn once and reused in every round.
        move: Hide this: from, to, coefficients, as 1,4,.6;-.8.
        shift: Hide this: coefficients by agent, as 1:1,2:-2,4:.5,6:.5.
        transfer: Hide coefficients of this norm moved between any two.
        sensitivity: Hide one record replaced that changes a contribution by at most this.
        records: So many records of one agent.
        rounds: Rounds planned; needed for noise that is drawn in every round.
        step: a,b,p for a/(k+b)^p, or a constant; without it noise is scaled alike.
        rate: The probability that a record takes part in a round, by a secret coin of its own.
        runs: Runs on the same data.
        kept: Noise is the same in all runs.
        leavers: Members who left: 2,3.
        delta: The δ at which ε is given.
    """
    from hocket.privacy import certify as judge
    from hocket.privacy.dp.calibrate import price_of
    from hocket.privacy.dp.certificate import in_practice

    network, deviations = named_network(topology, edges, "a certificate"), numbers("--sigma", sigma)
    asked: dict[str, Any] = {
        "colluders": colluders,
        "coalition": None if coalition is None else agents_in(coalition),
        "sigma": deviations,
        "independent": independent,
        "persistent": persistent,
        "move": None if move is None else _move(move),
        "shift": None if shift is None else _shift(shift),
        "transfer": transfer,
        "sensitivity": sensitivity,
        "records": records,
        "rounds": rounds,
        "step": None if step is None else read_step(step),
        "rate": rate,
        "runs": runs,
        "kept": kept,
        "leavers": () if leavers is None else agents_in(leavers),
    }
    try:
        found = judge(network, algorithm, **asked)
    except BadInput as error:
        raise BadInput(_flags(str(error))) from None
    data = found.to_json()
    lines, price = [_flags(found.statement)], list[str]()
    if found.mu and (transfer is not None or (found.kappa and independent)):
        noise = price_of(network, deviations, independent, found, moved=transfer)
        price = noise.in_words(1, network.n, curved=found.rounds is None)
    if found.holds:
        data["epsilon"] = {f"{delta:g}": found.epsilon(delta)}
        who = f": {', '.join(map(str, found.coalition))}" if found.coalition else ""
        lines += [
            "",
            f"μ = {found.mu:.6g}, ε = {found.epsilon(delta):.6g} at δ = {delta:g}, δ = {found.delta(1.0):.6g} at ε = 1",
            f"At δ = {delta:g}: {in_practice(found.epsilon(delta), found.best_guess)}.",
            f"Worst case: {found.searched}{who}.",
            *price,
            "",
            *(f"- {_flags(str(one))}" for one in found.assumptions),
        ]
    return Answer(data, lines)


def _flags(text: str) -> str:
    """The same with flags of this command in place of keywords of Python."""
    for keyword, flag in IN_PYTHON.items():
        text = text.replace(keyword, flag)
    return KEYWORD.sub(lambda found: f"--{_flag(found[1])}{' ' if found[2] else ''}", text)


def _flag(keyword: str) -> str:
    return {"own": "independent", "persistent_sigma": "persistent"}.get(keyword, keyword)


def _move(text: str) -> tuple[int, int, list[float]]:
    words = text.split(",")
    if len(words) != 3 or not all(word.strip().isdecimal() for word in words[:2]):
        raise BadConfig(f"--move {text!r} is no move; write from, to and coefficients, 1,4,.6;-.8")
    return int(words[0]), int(words[1]), numbers("--move", words[2], separator=";", write=".6;-.8")


def _shift(text: str) -> dict[int, list[float]]:
    pairs = [word.split(":") for word in text.split(",")]
    if not all(len(pair) == 2 and pair[0].strip().isdecimal() for pair in pairs):
        raise BadConfig(
            f"--shift {text!r} is no shift; write agents with their coefficients, 1:.5;1,2:-.5;-1"
        )
    agents = [int(agent) for agent, _ in pairs]
    if twice := {agent for agent in agents if agents.count(agent) > 1}:
        raise BadConfig(
            f"--shift {text!r} names agent {min(twice)} twice; give each agent one row of coefficients"
        )
    rows = (numbers("--shift", row, separator=";", write=".5;1") for _, row in pairs)
    return dict(zip(agents, rows, strict=True))
