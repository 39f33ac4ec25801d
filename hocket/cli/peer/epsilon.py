"""The options of `hocket peer plan` that ask for an ε, and what is said of what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from hocket.errors import BadConfig

if TYPE_CHECKING:
    from hocket.federation.cards import Card
    from hocket.federation.certified_draft import CertifiedDraft

DELTA = 1e-6
"""δ where none is given."""


@Parameter(name="*")
@dataclass(frozen=True)
class EpsilonOptions:
    """What a plan is to promise."""

    epsilon: Annotated[
        float | None,
        Parameter(
            help="Promise differential privacy with this ε (and --delta): noise, clip and, with --topology auto, links "
            "are chosen for it."
        ),
    ] = None
    protect: Annotated[
        Literal["transfer", "record", "member"],
        Parameter(help="With --epsilon: what moves between members, one record, or all that a member does."),
    ] = "record"
    columns: Annotated[
        str | None,
        Parameter(help="Largest size of each column of a least-squares record, 1,1,0.5, or one for all."),
    ] = None
    target: Annotated[float | None, Parameter(help="Largest size of a record's target.")] = None
    sensitivity: Annotated[
        float | None, Parameter(help="In place of columns: how far one record moves what is hidden, in norm.")
    ] = None
    rate: Annotated[
        float | None, Parameter(help="How likely a record is to take part in a round, by a secret coin.")
    ] = None
    clip: Annotated[
        float | None,
        Parameter(
            help="With --protect member: what a step's way over the step is cut to; by default the length of a typical "
            "gradient, --gradient-size times the root of the dimension."
        ),
    ] = None


def draft(
    options: EpsilonOptions,
    cards: Sequence[Card],
    topology: str | None,
    algorithm: str,
    delta: float | None,
    noise: Mapping[str, Any],
    task: Mapping[str, Any],
    audit: Mapping[str, Any],
    **plan: Any,
) -> CertifiedDraft | None:
    """Topology, noise and certificate for a plan with this task and audit, if an ε was asked for; None if not."""
    from hocket.federation.certified_draft import AUTO, Wanted, certified_draft

    if options.epsilon is None:
        _check_nothing_else(options, topology)
        return None
    given = [name for name, value in noise.items() if value is not None and name != "delta"]
    if given:
        raise BadConfig(f"--epsilon chooses the noise itself; leave --{given[0]} away")
    wanted = Wanted(
        options.epsilon,
        DELTA if delta is None else delta,
        audit["colluders"],
        options.protect,
        options.sensitivity,
        None if options.columns is None else _numbers(options.columns),
        options.target,
        # A public choice that depends on no data: longer ones are cut, shorter ones are hidden all the better.
        audit["gradient_size"] * math.sqrt(task["dimension"])
        if options.clip is None and options.protect == "member"
        else options.clip,
        options.rate,
    )
    plan |= {name: task[name] for name in ("dimension", "objectives")}
    return certified_draft(cards, topology or AUTO, algorithm, wanted, **plan)


def price_in_words(drafted: CertifiedDraft) -> list[str]:
    """What a promise costs, beside a trusted server and beside everybody for itself."""
    planned, price = drafted.planned, drafted.planned.price
    noise = f"σ = {planned.sigma:.4g} between neighbours"
    if (edges := planned.edges) is not None:
        noise = f"σ = {edges.sigma.min():.4g} to {edges.sigma.max():.4g} between neighbours, by link"
    if not planned.own:
        lines = [f"Noise: {noise}, which cancels: the answer is as exact as without."]
    else:
        lines = [
            f"Noise: {noise}, and τ = {planned.own:.4g} of each member's own. On the sum over all members that is "
            f"{price.on_sum:.4g}, {price.over_central:.3g} times what a trusted server would add "
            f"({price.central:.4g}); everybody for itself would add {price.local:.4g}."
        ]
    if edges is not None:
        equal = math.sqrt(edges.equal / 2)
        lines.append(
            f"The same σ on all links, {equal:.4g}, would take {edges.gain:.3g} times the variance to promise the same."
        )
    if planned.clip is not None:
        lines.append(f"Clip: what a member does in a round is cut to {planned.clip:.4g} times the step.")
    lines += [f"{one}." for one in drafted.price_in_words[1:]]
    others = ", ".join(f"{one.network.name} (σ = {one.sigma:.4g})" for one in planned.considered)
    return lines + ([f"Links: {planned.network.name}, rather than {others}."] if others else [])


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise BadConfig(f"--columns {text!r} has something that is no number; write 1,1,0.5") from None


def _check_nothing_else(options: EpsilonOptions, topology: str | None) -> None:
    if topology is None or topology == "auto":
        raise BadConfig("the plan needs --topology; it is chosen only for a wanted --epsilon")
    for name in ("columns", "target", "sensitivity", "rate", "clip"):
        if getattr(options, name) is not None:
            raise BadConfig(f"--{name} bounds what is hidden with a wanted --epsilon; give that too")
