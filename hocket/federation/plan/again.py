"""The same once more: a new plan like an earlier one, for members who came, left, or have new cards."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from hocket.errors import BadPlan, HocketError
from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import draw_up, study_topology
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.sections import PUBLIC
from hocket.networks.topologies import FORMS, parse


def draw_up_again(
    before: FederationPlan,
    cards: Sequence[Card],
    *,
    without: Collection[str] = (),
    topology: str | None = None,
    colluders: int | None = None,
    rounds: int | None = None,
) -> FederationPlan:
    """A new plan for the task of an earlier one, with its cards and these; a member's new card replaces its old one.

    All that was agreed stays, but for what depends on who takes part: links are those of the same topology for as many
    as there are now, or of the one that is given.
    """
    for name in without:
        before.agent(name)
    if before.certificate is not None:
        raise BadPlan(
            "noise was chosen for the members of the earlier plan, and what it promised holds for them alone; plan "
            "anew with --epsilon"
        )
    if before.run.start != PUBLIC:
        raise BadPlan(
            "the earlier plan goes on from yet another run, of which newcomers have no state; plan anew, with --after "
            "if all were in it"
        )
    newer = {card.name: card for card in before.cards} | {card.name: card for card in cards}
    chosen = [card for name, card in newer.items() if name not in without]
    against = before.audit.colluders if colluders is None else colluders
    if topology is None:
        study = before.study is not None
        topology = study_topology(len(chosen), against) if study else resized(before.topology, len(chosen))
    run = before.run.model_dump(exclude={"id", "start"})
    return draw_up(
        chosen,
        topology,
        algorithm=before.algorithm_section.model_dump(exclude_none=True),
        step=before.step_section.model_dump(),
        task=before.task.model_dump(),
        run=run if rounds is None else run | {"rounds": rounds},
        feasible=before.feasible_section.model_dump(),
        audit=before.audit.model_dump() | {"colluders": against},
        weights=_kind_of_weights(before),
    )


def _kind_of_weights(plan: FederationPlan) -> str:
    """How the weights of a plan were made: it keeps the numbers alone."""
    for kind in ("paper", "metropolis"):
        try:
            if np.array_equal(parse(plan.topology, weights=kind).B, np.array(plan.weights)):
                return kind
        except HocketError:
            break
    if plan.study is not None:  # sums have no use for them
        return "paper"
    raise BadPlan(
        f"nobody can tell how the weights of the earlier plan were made for {plan.topology}; plan anew, with --weights"
    )


def resized(topology: str, members: int) -> str:
    """A topology for another number of agents.

    >>> resized("cycle:5", 6), resized("harary:k=3,n=5", 6)
    ('cycle:n=6', 'harary:k=3,n=6')
    """
    name, _, rest = topology.partition(":")
    if name not in FORMS or "n" not in FORMS[name][1]:
        raise BadPlan(
            f"{topology} has a shape for its own number of members, and there are {members} now; choose with --topology"
        )
    keys, values = list(FORMS[name][1]), dict[str, str]()
    for place, field in enumerate(rest.split(",")):
        key, equals, value = field.partition("=")
        values[key if equals else keys[place]] = value if equals else key
    values["n"] = str(members)
    return f"{name}:{','.join(f'{key}={values[key]}' for key in keys if key in values)}"
