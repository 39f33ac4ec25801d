"""What one insider could learn on a ring, foretold for several algorithms: the part of a page that runs cannot show."""

from __future__ import annotations

from collections.abc import Iterable

from hocket.algorithm import Algorithm
from hocket.networks.network import Network
from hocket.privacy import audit
from hocket.report.exposure import compared
from hocket.report.page import Card, Exposure
from hocket.steps import Step

FORETOLD = 1000
"""Rounds, at most: they take a second each algorithm."""


def exposed_to_one(algorithms: Iterable[Algorithm], *, step: Step, rounds: int) -> tuple[Card, Exposure]:
    """The card and the section of a page on the ring of five, where one agent is like another."""
    ring, rounds = Network.cycle(5), min(rounds, FORETOLD)
    found = [audit(ring, coalition={0}, algorithm=one, step=step, rounds=rounds) for one in algorithms]
    return compared(found, "hocket audit --topology cycle:5 --colluders 1 --html audit.html")
