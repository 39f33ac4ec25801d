"""`hocket certify`: differential privacy with a number, against a coalition or any of a size."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.audit import Coalition, Colluders, Edges, Topology, agents_in, named_network, read_step
from hocket.errors import BadConfig, BadInput

if TYPE_CHECKING:
    from hocket.privacy.certificates.certificate import Certificate

KEYWORD = re.compile(
    r"(?<![\w-])(anchor_sigma|coalition|colluders|kept|move|own|rate|rounds|runs|sensitivity|shift|sigma|step|"
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
    algorithm: Annotated[str, Parameter(help="function-sharing, rss-nb, …")] = "function-sharing",
    colluders: Colluders = None,
    coalition: Coalition = None,
    sigma: Annotated[
        str, Parameter(help="Standard deviation of one draw, or one for each link in order: 1,2,1.5.")
    ] = "1",
    own: Annotated[float, Parameter(help="That of noise of each agent's own.")] = 0.0,
    anchor_sigma: Annotated[float, Parameter(help="That of pairwise noise kept over rounds.")] = 0.0,
    move: Annotated[
        str | None,
        Parameter(help="Hide this: from, to, coefficients, as 1,4,.6;-.8.", allow_leading_hyphen=True),
    ] = None,
    shift: Annotated[
        str | None, Parameter(help="Hide this: coefficients by agent, as 1:1,2:-2,4:.5,6:.5.")
    ] = None,
    transfer: Annotated[
        float | None, Parameter(help="Hide coefficients of this norm moved between any two.")
    ] = None,
    sensitivity: Annotated[
        float | None, Parameter(help="Hide one record replaced that changes a contribution by at most this.")
    ] = None,
    records: Annotated[int, Parameter(help="So many records of one agent.")] = 1,
    rounds: Annotated[
        int | None, Parameter(help="Rounds planned; needed for noise that is drawn in every round.")
    ] = None,
    step: Annotated[
        str | None, Parameter(help="a,b,p for a/(k+b)^p, or a constant; without it noise is scaled alike.")
    ] = None,
    rate: Annotated[
        float, Parameter(help="How likely a record is to take part in a round, by a secret coin of its own.")
    ] = 1.0,
    runs: Annotated[int, Parameter(help="Runs on the same data.")] = 1,
    kept: Annotated[bool, Parameter(negative=(), help="Noise is the same in all runs.")] = False,
    leavers: Annotated[str | None, Parameter(help="Members who left: 2,3.")] = None,
    delta: Annotated[float, Parameter(help="The δ at which ε is said.")] = 1e-5,
) -> Answer:
    """Certify what insiders can tell at most, as Gaussian differential privacy, by theorem and with its conditions.

    Name the network by --topology or --edges, the adversary by --colluders or --coalition, and what is to be hidden by
    --move, --shift, --transfer or --sensitivity.
    """
    from hocket.privacy import certify as judge
    from hocket.privacy.certificates.price import price_of
    from hocket.privacy.certificates.strength import in_practice

    network = named_network(topology, edges, "certificate")
    found = _as_typed(
        judge,
        network,
        algorithm,
        colluders=colluders,
        coalition=None if coalition is None else agents_in(coalition),
        sigma=_numbers("--sigma", sigma, ","),
        own=own,
        anchor_sigma=anchor_sigma,
        move=None if move is None else _move(move),
        shift=None if shift is None else _shift(shift),
        transfer=transfer,
        sensitivity=sensitivity,
        records=records,
        rounds=rounds,
        step=None if step is None else read_step(step),
        rate=rate,
        runs=runs,
        kept=kept,
        leavers=() if leavers is None else agents_in(leavers),
    )
    data = found.to_json()
    lines, price = [_flags(found.statement)], list[str]()
    if found.mu and (transfer is not None or (found.kappa and own)):
        noise = price_of(network, _numbers("--sigma", sigma, ","), own, found, moved=transfer)
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
            *(f"- {_flags(one)}" for one in found.assumptions),
        ]
    return Answer(data, lines)


def _as_typed(judge: Callable[..., Certificate], *arguments: Any, **options: Any) -> Certificate:
    """A certificate; an error names flags of this command, not keywords of Python."""
    try:
        return judge(*arguments, **options)
    except BadInput as error:
        raise BadInput(_flags(str(error))) from None


def _flags(text: str) -> str:
    for keyword, flag in IN_PYTHON.items():
        text = text.replace(keyword, flag)
    return KEYWORD.sub(lambda found: f"--{found[1].replace('_', '-')}{' ' if found[2] else ''}", text)


def _numbers(option: str, text: str, separator: str) -> list[float]:
    try:
        return [float(word) for word in text.split(separator)]
    except ValueError:
        raise BadConfig(f"{option} {text!r} has something that is no number; write 1{separator}2.5") from None


def _move(text: str) -> tuple[int, int, list[float]]:
    words = text.split(",")
    if len(words) != 3 or not all(word.strip().isdecimal() for word in words[:2]):
        raise BadConfig(f"--move {text!r} is no move; write from, to and coefficients, 1,4,.6;-.8")
    return int(words[0]), int(words[1]), _numbers("--move", words[2], ";")


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
    return {agent: _numbers("--shift", row, ";") for agent, (_, row) in zip(agents, pairs, strict=True)}
