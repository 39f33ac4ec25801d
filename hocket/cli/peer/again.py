"""`hocket peer again`: the same once more, with a newcomer or without somebody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.common import refuse_existing
from hocket.cli.peer.plan import write_drawn

if TYPE_CHECKING:
    from hocket.federation.plan import FederationPlan


def again(
    plan: Annotated[Path, Parameter(help="The earlier plan.")],
    /,
    *cards: Annotated[Path, Parameter(help="Cards of newcomers, and renewed ones of its members.")],
    without: Annotated[tuple[str, ...], Parameter(help="Members who take no part any more.")] = (),
    topology: Annotated[
        str | None, Parameter(help="Other links; by default the same kind, for as many as there are now.")
    ] = None,
    colluders: Annotated[int | None, Parameter(help="How many may collude; by default as before.")] = None,
    rounds: Annotated[int | None, Parameter(help="How many rounds; by default as before.")] = None,
    days: Annotated[int | None, Parameter(help="How many days the run may take, as for plan.")] = None,
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="File for the new plan.")] = Path(
        "plan-again.toml"
    ),
) -> Answer:
    """Draw up a new plan like an earlier one, with its cards and these: a newcomer joins a finished study like this.

    All sign it anew. What the same data told in the earlier run counts: members' own `sign` adds it up.
    """
    from hocket.federation.cards import read_card
    from hocket.federation.plan_again import draw_up_again
    from hocket.federation.plan_file import read_plan

    refuse_existing(out, "plan")
    before = read_plan(plan)
    drawn = draw_up_again(
        before,
        [read_card(path) for path in cards],
        without=without,
        topology=topology,
        colluders=colluders,
        rounds=rounds,
    )
    return write_drawn(drawn, out, days, price=_shown(before, drawn))


def _shown(before: FederationPlan, drawn: FederationPlan) -> list[str]:
    """What a run with other members shows beside the earlier one, to be said to whom it concerns."""
    from hocket.studies.seen import DIFFERENCE

    new = ", ".join(name for name in drawn.names if name not in before.names)
    left = ", ".join(name for name in before.names if name not in drawn.names)
    words = list[str]()
    if drawn.algorithm.sums and left:
        words.append(f"{DIFFERENCE.format(left=left)}.")
    if drawn.algorithm.sums and new:
        words.append(
            f"What was summed without {new} and is summed again with it shows, by the difference of the two sums, what "
            f"{new} gives: of the first sum exactly, and to everybody who has seen both. Tell {new} before it signs."
        )
    return words
