"""Plans for five clinics."""

from __future__ import annotations

from hocket.federation.plan.cards import Card
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.plan import FederationPlan
from hocket.links.keys.identity import Identity

IDENTITIES = [Identity.create(f"clinic-{letter}") for letter in "abcde"]
CARDS = [Card.of(one, f"{one.name}.example:{7000 + place}") for place, one in enumerate(IDENTITIES)]
RSS_NB = {"name": "rss-nb", "delta": 1.0}
JOINT = {"name": "joint-average"}
SHARING = {"name": "function-sharing", "degree": 1, "bound": 1.0}


BOX = {"kind": "box", "low": -1.0, "high": 1.0}
WIDE = {"kind": "box", "low": -1e3, "high": 1e3}
"""So wide that states never reach its sides."""


def drawn(
    cards=CARDS,
    topology="harary:k=3",
    algorithm=RSS_NB,
    rounds=50,
    *,
    objectives="any",
    local_steps=1,
    feasible=BOX,
    **audit,
) -> FederationPlan:
    return draw_up(
        cards,
        topology,
        algorithm=algorithm,
        step={"a": 1.0, "b": 20.0, "p": 0.75},
        task={"name": "digits", "dataset": "trial-7", "dimension": 4, "objectives": objectives},
        run={"rounds": rounds, "local_steps": local_steps, "id": 16 * "0"},
        feasible=feasible,
        # What a plan allows by default is tested by itself: most of these are about other things than noise.
        audit={"colluders": 2, "min_sd": 0.0} | audit,
    )
