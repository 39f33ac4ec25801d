"""The channel of a run: messages that are lost or late, and agents that are inactive."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from hocket.algorithm import Algorithm
from hocket.algorithms import (
    PUSH,
    AugDgm,
    Centralised,
    Dgd,
    FunctionSharing,
    GradientTracking,
    JointAverage,
    RssLb,
    Safeguard,
)
from hocket.algorithms.totals import Totals
from hocket.claims import withholds_x
from hocket.errors import BadAlgorithm, BadInput
from hocket.facet import Facet
from hocket.steps import Derived, Step

OnMissing = Literal["own", "last", "later"]
"""What an agent takes for a message that does not come: its own, the last that came, or nothing now and with the next
one all that it missed. The last is what running sums give: the receiver takes the difference to the last that came."""
LONGEST_DELAY = 64
"""Rounds: messages on their way are kept for each neighbour and each round of delay."""


@dataclass(frozen=True)
class Channel:
    """What befalls messages on their way, and agents, at random in every round; for `solve` and `sweep`.
    Choose it to see what an algorithm is worth on links that fail: `run.remarks` says whether it is exact there.

    Anybody who receives nothing from a neighbour in a round gives that weight to its own message, unless its algorithm
    does better (`link_needs`). Push methods do: what was missed comes with the next message that arrives.

    >>> print(Channel(loss=0.1, burst=4, inactive=0.2, delay=2))
    10% of messages lost in runs of 4, 20% of agents inactive, messages up to 2 rounds late
    """

    loss: float = 0.0
    """The part of all messages that is lost."""
    inactive: float = 0.0
    """The part of all agents that is inactive in a round: they neither send, nor receive, nor step."""
    burst: float | None = None
    """Rounds for which a link fails once it does, on average (Gilbert and Elliott); None: each round by itself."""
    delay: int = 0
    """Rounds by which a message is late at most; each number up to it is equally likely."""
    both_ways: bool = False
    """Whether a link that fails does so in both directions, so that weights still balance."""
    seed: int | None = None
    """Of the channel alone; None for that of the run, so that a sweep over seeds is one over channels."""

    def __post_init__(self) -> None:
        for name in ("loss", "inactive"):
            part = getattr(self, name)
            if not _is_number(part) or not 0 <= part < 1:
                raise BadInput(f"channel: {name} = {part!r}; give the part that is hit, from 0 to below 1")
        if type(self.delay) is not int or not 0 <= self.delay <= LONGEST_DELAY:
            raise BadInput(
                f"channel: delay = {self.delay!r}; give a whole number of rounds, 0 to {LONGEST_DELAY}"
            )
        if self.seed is not None and (type(self.seed) is not int or not 0 <= self.seed < 1 << 64):
            raise BadInput(f"channel: seed = {self.seed!r}; give a whole number from 0 to 2^64 - 1, or None")
        if self.burst is None:
            return
        shortest = max(1.0, self.loss / (1 - self.loss))
        if not _is_number(self.burst) or not shortest <= self.burst < float("inf"):
            raise BadInput(
                f"channel: burst = {self.burst!r}; links that fail {self.loss:g} of the time do so for "
                f"{shortest:.3g} rounds at least, on average"
            )
        if not self.loss:
            raise BadInput("channel: burst is how long losses last, and there are none; give loss= too")

    @property
    def fair(self) -> bool:
        """Whether nothing ever happens."""
        return not (self.loss or self.inactive or self.delay)

    @property
    def balanced(self) -> bool:
        """Whether messages go both ways or not at all in every round, so that B_k stays doubly stochastic."""
        return not self.delay and (self.both_ways or not self.loss)

    def __str__(self) -> str:
        runs = "" if self.burst is None else f" in runs of {self.burst:g}"
        way = " both ways" if self.both_ways else ""
        parts = [
            f"{100 * self.loss:.3g}% of messages lost{way}{runs}" if self.loss else "",
            f"{100 * self.inactive:.3g}% of agents inactive" if self.inactive else "",
            f"messages up to {self.delay} round{'s' if self.delay > 1 else ''} late" if self.delay else "",
        ]
        return ", ".join(filter(None, parts)) or "fair"

    def outlook(self, algorithm: Algorithm) -> str:
        """Whether an algorithm is exact on this channel, and why; for readers of a run."""
        if link_needs(algorithm).exact_on == "channel":
            return (
                f"exact on this channel ({self}), given a step that is small enough: what a neighbour misses is "
                "summed up and comes with the next message that arrives"
            )
        if link_needs(algorithm).exact_on == "outages" and self.balanced:
            return (
                f"on this channel ({self}) weights stay doubly stochastic in every round, and {algorithm.title} "
                "does as on links that vary"
            )
        if link_needs(algorithm).exact_on == "outages" or not self.balanced:
            why = "messages come late" if self.delay else "messages are lost one way"
            return (
                f"not exact on this channel ({self}): {why}, so that weights do not balance; plan a push method, or "
                "both_ways=True if links fail as a whole"
            )
        return f"not known to be exact on this channel ({self}): nobody has shown that {algorithm.title} bears it"

    def slowed(self, step: Step) -> Step:
        """A derived step, for messages that come late; none is proved to converge on a lossy channel."""
        if not isinstance(step, Derived):
            return step
        late = f", divided by {1 + self.delay} for late messages" if self.delay else ""
        why = f"a rule of thumb on a lossy channel: the step without it ({step.why}){late}"
        return Derived(step.a / (1 + self.delay), why=why)

    def described(self) -> dict[str, Any]:
        """As it is stored with a run."""
        return dataclasses.asdict(self)


def check_channel(channel: Any, algorithm: Algorithm) -> Channel | None:
    """The channel of a run; None where every message arrives. Refuses an algorithm that cannot be played on it."""
    if channel is None:
        return None
    if not isinstance(channel, Channel):
        raise BadInput(f"channel = {channel!r}; give hk.Channel(loss=0.1, …)")
    if channel.fair:
        return None
    if refused := link_needs(algorithm).reliable:
        raise BadAlgorithm(f"{algorithm.title} cannot be played on a lossy channel: {refused}")
    if channel.inactive and withholds_x(algorithm):
        raise BadAlgorithm(
            f"{algorithm.title} with independent noise cannot be played where agents are inactive: one that comes back "
            "would send its last gradient under noise of a later, smaller step than a certificate counts; take "
            "inactive=0, or own=0"
        )
    return channel


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class LinkNeeds:
    """What an algorithm needs of its links."""

    directed: bool = False
    """Whether it reaches the optimum on directed links, where only the columns of the weights sum to one."""
    on_missing: OnMissing = "own"
    exact_on: Literal["", "outages", "channel"] = ""
    """Where it is known to reach the optimum: nowhere but on perfect links, with weights that vary and stay doubly
    stochastic, or on any channel."""
    reliable: str = ""
    """Why every message must arrive; empty where it need not."""


link_needs: Facet[LinkNeeds] = Facet(LinkNeeds())
link_needs.add(
    LinkNeeds(exact_on="outages"), Dgd, AugDgm, GradientTracking
)  # [Nedić, Olshevsky and Shi 2017]
link_needs.add(LinkNeeds(directed=True, on_missing="later", exact_on="channel"), *PUSH)
link_needs.add(
    LinkNeeds(reliable="a secure sum is over all agents, and takes every one of them"), JointAverage, Totals
)
link_needs.add(
    LinkNeeds(
        reliable="noise is balanced over all that a sender sends, and would not cancel where some of it is lost"
    ),
    RssLb,
)
link_needs.add(LinkNeeds(reliable="a single agent has no links"), Centralised)
link_needs.add(
    LinkNeeds(reliable="all agents begin anew in the same round, which every one of them must have heard of"),
    Safeguard,
)


@link_needs.of(FunctionSharing)
def _of_inner(algorithm: FunctionSharing) -> LinkNeeds:
    """Noise is dealt before the first message."""
    return link_needs(algorithm.inner)
