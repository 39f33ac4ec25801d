"""The options of `hocket peer plan` that ask for an ε, and what is said of what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from cyclopts import Parameter

from hocket.cli.options import numbers
from hocket.errors import BadConfig

if TYPE_CHECKING:
    from hocket.federation.plan.cards import Card
    from hocket.federation.plan.certified_draft import CertifiedDraft

DELTA = 1e-6
"""δ where none is given."""


@Parameter(name="*")
@dataclass(frozen=True)
class EpsilonOptions:
    """What a plan is to promise."""

    epsilon: float | None = None
    """Promise differential privacy with this ε: noise, clip and, with --topology auto, links are chosen for it."""
    delta: float | None = None
    """With --epsilon: the δ of the promise; by default 1e-6."""
    protect: Literal["transfer", "record", "member"] = "record"
    """With --epsilon: hide a transfer between members, one record, or all that a member does."""
    columns: str | None = None
    """Largest size of each column of a least-squares record, 1,1,0.5, or one for all."""
    target: float | None = None
    """Largest size of a record's target."""
    sensitivity: float | None = None
    """In place of columns: how much one record changes what is hidden, in norm."""
    rate: float | None = None
    """The probability that a record takes part in a round, by a secret coin."""
    clip: float | None = None
    """With --protect member: the most that a round moves a state, over the step; by default a gradient's norm."""


def draft(
    options: EpsilonOptions,
    cards: Sequence[Card],
    topology: str | None,
    algorithm: str,
    noise: Mapping[str, Any],
    task: Mapping[str, Any],
    audit: Mapping[str, Any],
    **plan: Any,
) -> CertifiedDraft | None:
    """Topology, noise and certificate for a plan with this task and audit, if an ε was asked for; None if not."""
    from hocket.federation.plan.certified_draft import AUTO, Wanted, certified_draft

    if options.epsilon is None:
        _check_nothing_else(options, topology)
        return None
    if noise:
        flags = {"delta": "--noise-bound", "bound": "--noise-bound", "persistent": "--persistent"}
        first = next(iter(noise))
        raise BadConfig(
            f"--epsilon chooses the noise itself; leave {flags.get(first, f'--set {first}')} away"
        )
    columns = options.columns
    wanted = Wanted(
        options.epsilon,
        DELTA if options.delta is None else options.delta,
        audit["colluders"],
        options.protect,
        options.sensitivity,
        None if columns is None else tuple(numbers("--columns", columns, write="1,1,0.5")),
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
    """What a promise costs, beside a trusted server (central) and beside local differential privacy."""
    planned, price = drafted.planned, drafted.planned.price
    noise = f"σ = {planned.sigma:.4g} between neighbours"
    if (edges := planned.edges) is not None:
        noise = f"σ = {edges.sigma.min():.4g} to {edges.sigma.max():.4g} between neighbours, by link"
    if not planned.independent:
        lines = [f"Noise: {noise}, which cancels: the answer is as exact as without."]
    else:
        lines = [
            f"Noise: {noise}, and independent noise τ = {planned.independent:.4g} of each member. On the sum over all "
            f"members that is {price.on_sum:.4g}, {price.over_central:.3g} times what a trusted server would add "
            f"({price.central:.4g}); local differential privacy would add {price.local:.4g}."
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


def _check_nothing_else(options: EpsilonOptions, topology: str | None) -> None:
    if topology is None or topology == "auto":
        raise BadConfig("the plan needs --topology; it is chosen only for a wanted --epsilon")
    for name in ("delta", "columns", "target", "sensitivity", "rate", "clip"):
        if getattr(options, name) is not None:
            raise BadConfig(f"--{name} is of a promise with --epsilon; give that too")
