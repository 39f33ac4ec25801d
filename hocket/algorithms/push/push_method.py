"""What push methods have in common: senders share their messages out, and a share tells how much came together."""

from __future__ import annotations

from typing import Any

from hocket.algorithms.parts.noiseless import Noiseless
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.problems.problem import Problem


class PushMethod(Noiseless):
    """An algorithm for directed links, where weights balance over what is sent and not over what is received.

    What is sent keeps its sum over the network, and beside it goes a share that begins as one everywhere: the
    quotient of both forgets how links are spread. On a lossy channel agents send running sums, and a neighbour takes
    the difference to what it received last, so that lost messages are only late [Hadjicostis, Vaidya and
    Domínguez-García 2016; Olshevsky, Paschalidis and Spiridonoff 2020]. None of them hides anything.
    """

    def arrange(self, problem: Problem, network: Network) -> tuple[Problem, Network]:
        if problem.penalty is not None:
            raise BadAlgorithm(
                f"{self.title} has no proximal step, and {type(problem.penalty).__name__} needs one; leave prox= out, "
                "or take a method that ends its steps in one, on links that go both ways"
            )
        return problem, network


def quotient(mass: Any, share: Any) -> Any:
    """What masses and shares come to; without shares, all are one."""
    return mass if share is None else mass / share


def up_to_one(share: Any) -> Any:
    """min(1, share), on arrays and on fractions."""
    return 1 if share is None else share * (share < 1) + (share >= 1)
