"""Drawing up a plan: members and choices in, one plan out."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from hocket.config.section import check
from hocket.config.sections import read_step
from hocket.errors import BadPlan
from hocket.federation.plan.cards import Card
from hocket.federation.plan.own_code import NO_CODE, OwnCode
from hocket.federation.plan.plan import Dial, FederationPlan
from hocket.federation.plan.sections import (
    AuditSection,
    CertificateSection,
    PlanRunSection,
    TaskSection,
    read_feasible,
    read_planned_algorithm,
)
from hocket.networks.topologies import FORMS, parse
from hocket.privacy.graph.guarantees import guarantees


def draw_up(
    cards: Sequence[Card],
    topology: str,
    *,
    algorithm: Mapping[str, Any],
    step: Mapping[str, Any],
    task: Mapping[str, Any],
    run: Mapping[str, Any],
    feasible: Mapping[str, Any] | None = None,
    audit: Mapping[str, Any] | None = None,
    certificate: Mapping[str, Any] | None = None,
    weights: str = "paper",
    after: FederationPlan | None = None,
    own: OwnCode = NO_CODE,
) -> FederationPlan:
    """A plan for these members, in the order of their names, on a topology such as 'cycle' or 'harary:k=3'.

    The other arguments are sections as they stand in a plan's file. Of two members who can both be reached the one
    with the lower agent number dials; if neither can, they meet at a relay. `after` is a plan that all these members
    have run: the new run goes on from the states that they published, masked from its first message on. `own` is the
    source of an algorithm that is not hocket's.
    """
    cards = sorted(cards, key=lambda card: card.name)
    if len(cards) < 2:
        raise BadPlan(
            f"a federation needs at least two members, and {len(cards)} cards were given; name the card of each"
        )
    beginning = {} if after is None else {"start": after.run_hash.hex()}
    network = parse(sized(topology, len(cards)), weights=weights).both_ways("a federation")
    if network.n != len(cards):
        raise BadPlan(
            f"{topology} has {network.n} agents, and {len(cards)} cards were given; choose one that fits"
        )
    drawn = FederationPlan(
        cards=tuple(cards),
        links=tuple(_dial(cards, i, j) for i, j in network.links.tolist()),
        weights=tuple(map(tuple, network.B.tolist())),
        topology=network.name,
        algorithm_section=read_planned_algorithm(algorithm, own),
        step_section=read_step(step),
        feasible_section=read_feasible(feasible or {"kind": "everywhere"}),
        task=check(TaskSection, "task", task),
        run=check(PlanRunSection, "run", {"id": secrets.token_hex(8), **run, **beginning}),
        audit=check(AuditSection, "audit", audit or {"colluders": 1}),
        certificate=None if certificate is None else check(CertificateSection, "certificate", certificate),
    )
    if after is not None:
        _check_follows(drawn, after)
    return drawn


ALL_LINKED = 12
"""Members up to which a study links everybody with everybody."""
TRIED = 10
"""Random graphs among which the one with the shortest ways is taken."""


def study_topology(members: int, colluders: int) -> str:
    """How a study links its members: all with all, or if they are many with few links, short ways and no weak place.

    A sum goes up and down a tree, so ways count: among fifty members with three links each, seven links lie between
    any two at most in the best of a few random graphs, and thirteen around a ring with chords.
    """
    if members <= ALL_LINKED:
        return "complete"
    degree = colluders + 2 + (members * (colluders + 2)) % 2
    named = [f"random-regular:d={degree},n={members},seed={seed}" for seed in range(TRIED)]
    safe = {one: network for one in named if guarantees(network := parse(one), colluders).p2}
    return min(safe, key=lambda one: nx.diameter(safe[one].graph), default=f"harary:k={colluders + 2}")


def sized(topology: str, members: int) -> str:
    """A topology with its number of agents filled in where it was left to the number of cards.

    >>> sized("cycle", 5), sized("harary:k=3", 5), sized("grid:2x3", 6)
    ('cycle:n=5', 'harary:k=3,n=5', 'grid:2x3')
    """
    name, _, rest = topology.partition(":")
    given = [field.partition("=") for field in rest.split(",") if field]
    keys = {key.strip() for key, _, _ in given}
    by_position = any(not equals for _, equals, _ in given)
    if name not in FORMS or "n" not in FORMS[name][1] or "n" in keys or by_position:
        return topology
    return f"{name}:{rest}{',' if rest else ''}n={members}"


def _check_follows(plan: FederationPlan, before: FederationPlan) -> None:
    """Refuse to go on from states that some member does not have, or that are of another form."""
    strangers = sorted({*plan.names} - {*before.names})
    if strangers:
        raise BadPlan(
            f"{', '.join(strangers)} took no part in the run that is to be gone on from, and has no state of it; leave "
            "it out, or plan a public start"
        )
    for what in ("dimension", "dtype"):
        mine, theirs = getattr(plan.task, what), getattr(before.task, what)
        if mine != theirs:
            raise BadPlan(
                f"the task has {what} {mine}, and the run that is to be gone on from had {theirs}; plan the same, or a "
                "public start"
            )


def _dial(cards: Sequence[Card], i: int, j: int) -> Dial:
    if cards[j].address is not None:
        return Dial(i, j)
    if cards[i].address is not None:
        return Dial(j, i)
    if cards[j].relays or cards[i].relays:
        return Dial(i, j) if cards[j].relays else Dial(j, i)
    raise BadPlan(
        f"{cards[i].name} and {cards[j].name} are to be linked and neither has an address; give one of them an "
        "address that the other can reach, or a relay, or choose a topology without this link"
    )
