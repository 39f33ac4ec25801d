"""A lossy channel: what arrives in a round, what is on its way, and what an agent takes in place of a lost message.

Everything leads with the agent that listens, and then with its slots: an agent's mail is part of where it stands, and
is placed, stored and resumed with it. What happens on a link is drawn from its number and the round, no matter who
asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.runs.channel import Channel, OnMissing

LABEL = 0x7EA7
"""Of the channel among all streams of a run."""
LOSS, INACTIVE, DELAY = 0, 1, 2
"""What is drawn; rounds are below 2^30, so that a round and one of four kinds fit into a counter."""
NEVER = 1 << 20
"""The age of the last message of a neighbour that nobody ever received."""
UNROLLED = 32
"""Slots are summed in straight-line code up to here; beyond, in a loop, to keep programs small."""


class ChannelModel(eqx.Module):
    """A channel, as a program computes with it: probabilities in units of 2^-32, the same in any precision."""

    lost: Any
    worse: Any
    """That a link fails which did not."""
    better: Any
    """That a link works again which did not."""
    inactive: Any
    key: Any
    """None for the run's own."""
    bursts: bool = eqx.field(static=True)
    pauses: bool = eqx.field(static=True)
    both_ways: bool = eqx.field(static=True)
    delay: int = eqx.field(static=True)
    on_missing: OnMissing = eqx.field(static=True)

    @staticmethod
    def of(channel: Channel, on_missing: OnMissing) -> ChannelModel:
        """The channel of a run whose algorithm wants this in place of a message that does not come."""
        loss, burst = channel.loss, channel.burst
        worse = loss if burst is None else loss / (burst * (1 - loss))
        return ChannelModel(
            lost=_threshold(loss),
            worse=_threshold(worse),
            better=_threshold(1.0 if burst is None else 1 / burst),
            inactive=_threshold(channel.inactive),
            key=None if channel.seed is None else threefry.seed_key(channel.seed),
            bursts=burst is not None,
            pauses=channel.inactive > 0,
            both_ways=channel.both_ways,
            delay=channel.delay,
            on_missing=on_missing,
        )

    @property
    def ages(self) -> int:
        """How many rounds a message may be old on which it arrives, this one counted."""
        return self.delay + 1

    @property
    def kept(self) -> int:
        """How many messages of each neighbour are kept from round to round."""
        return self.delay if self.on_missing == "own" else self.ages

    def draw(self, root: tuple[Any, Any], kind: int, k: Any, numbers: Any) -> tuple[Any, Any]:
        """Two random words of 32 bits for each of these numbers in round k."""
        own = root if self.key is None else (self.key[0], self.key[1])
        moment = jnp.asarray(k).astype(np.uint32) * np.uint32(4) + np.uint32(kind)
        number = numbers.astype(np.uint32)
        return threefry.words(threefry.derive(own, LABEL), jnp.full_like(number, moment), number)

    def on_links(self, root: tuple[Any, Any], kind: int, k: Any, tables: NeighbourTables) -> Any:
        """A draw for what each neighbour says to each agent in round k."""
        low, high = self.draw(root, kind, k, tables.numbers_of(tables.link))
        if self.both_ways and kind == LOSS:
            return low
        # The neighbour sends in the direction that is not the agent's own.
        return jnp.where(tables.direction == 1, low, high)


def _threshold(part: float) -> np.ndarray:
    return np.asarray(min(round(part * 2**32), 2**32 - 1), dtype=np.uint32)


class Mail(eqx.Module):
    """What is on its way to every agent, and what has been counted so far."""

    down: Any
    """Whether the link on which a neighbour sends fails; None where rounds fail by themselves."""
    due: Any
    """After how many rounds a message arrives that was sent 1, 2, … rounds ago; −1 if never."""
    age: Any
    """How old the last message is that was received of a neighbour; None where nobody asks."""
    held: tuple[Any, ...]
    """By array sent in a round: neighbours' messages that are on their way, came last, or wait to be made up."""
    sent: Any
    received: Any
    lost: Any
    """Messages to each agent, by what became of them."""


class Arrivals(NamedTuple):
    """What a round brings."""

    active: Any
    """Of every agent, whether it takes part."""
    said: Any
    """Whether a neighbour sends at all."""
    chosen: Any
    """Which of a neighbour's messages is received: by age, and after these the one that was received last."""
    mail: Mail
    """With everything but messages themselves brought up to date."""


def no_mail(channel: ChannelModel, root: tuple[Any, Any], tables: NeighbourTables, words: list[Any]) -> Mail:
    """Before round 1; `words` are all arrays said in a round, or their shapes."""
    agents, slots = tables.neighbour.shape
    # One array each: counters that were one and the same would be two arguments that are one buffer.
    sent, received, lost = (jnp.zeros(agents, dtype=int) for _ in range(3))
    return Mail(
        down=channel.on_links(root, LOSS, 0, tables) < channel.lost if channel.bursts else None,
        due=jnp.full((agents, slots, channel.delay), -1, jnp.int32),
        age=jnp.full((agents, slots), NEVER, jnp.int32) if channel.on_missing == "last" else None,
        held=tuple(jnp.zeros((agents, slots, channel.kept, *word.shape[1:]), word.dtype) for word in words),
        sent=sent,
        received=received,
        lost=lost,
    )


def arrivals(program: Any, k: Any, phase: Any, mail: Mail) -> Arrivals:
    """Who is active in round k, who sends, and what of all that was sent arrives."""
    channel, tables, root = program.channel, program.tables, program.root
    said = tables.weight[phase] > 0
    active = jnp.ones(tables.n, bool)
    if channel.pauses:
        numbers = jnp.arange(tables.n) if tables.agent_numbers is None else tables.agent_numbers
        active = channel.draw(root, INACTIVE, k, numbers)[0] >= channel.inactive
        said &= program.population.said(active.astype(jnp.int32))[tables.neighbour] == 1
    drawn, down = channel.on_links(root, LOSS, k, tables), mail.down
    if down is not None:
        down = jnp.where(down, drawn >= channel.better, drawn < channel.worse)
    gone = said & (drawn < channel.lost if down is None else down)
    late = jnp.zeros(said.shape, jnp.int32)
    if channel.delay:
        late = (channel.on_links(root, DELAY, k, tables) % np.uint32(channel.ages)).astype(jnp.int32)
    due = jnp.concatenate([jnp.where(said & ~gone, late, -1)[..., None], mail.due], axis=-1)
    landing = due == jnp.arange(channel.ages)
    received = landing & active[:, None, None]
    missed = gone.sum(axis=1) + (landing & ~received).sum(axis=(1, 2))
    chosen, age = _chosen(channel, received, mail.age)
    counted = Mail(
        down=down,
        due=due[..., : channel.delay],
        age=age,
        held=mail.held,
        sent=said.sum(axis=1),
        received=received.sum(axis=(1, 2)),
        lost=missed,
    )
    return Arrivals(active, said, chosen, counted)


def _chosen(channel: ChannelModel, received: Any, age: Any) -> tuple[Any, Any]:
    """Which messages an agent takes: the newest that arrives, and with it all older ones where they are made up."""
    so_far = jnp.cumsum(received, axis=-1)
    if channel.on_missing == "later":
        return so_far > 0, None
    newest = received & (so_far == 1)
    if channel.on_missing == "own":
        return newest, None
    old = jnp.minimum(age + 1, NEVER)
    found = jnp.where(received.any(axis=-1), jnp.argmax(received, axis=-1).astype(jnp.int32), NEVER)
    newest &= (found < old)[..., None]
    age = jnp.minimum(found, old)
    stale = ((age < NEVER) & ~newest.any(axis=-1))[..., None]
    return jnp.concatenate([newest, stale], axis=-1), age


def delivered(program: Any, phase: Any, now: Arrivals, words: Any, held: Any) -> tuple[Any, Any]:
    """Σ_i B[j,i] (what j takes for i's message), for every agent j; and what it keeps of neighbours' messages."""
    channel, tables = program.channel, program.tables
    deep = words.ndim - 1

    def over(mask: Any) -> Any:
        return mask.reshape(*mask.shape, *(1,) * deep)

    weight = over(tables.weight[phase])
    fresh = program.population.said(words)[tables.neighbour]
    if channel.on_missing == "later":
        shared = jnp.where(over(now.said), weight * fresh, 0)[:, :, None]
        last = held[:, :, -2:].sum(axis=2, keepdims=True) if channel.delay else held + shared
        full = jnp.concatenate([shared, held[:, :, : max(channel.delay - 1, 0)], last], axis=2)[
            :, :, -channel.ages :
        ]
        taken = over(now.chosen)
        return _sum(jnp.where(taken, full, 0).sum(axis=2)), jnp.where(taken, 0, full)
    full = jnp.concatenate([fresh[:, :, None], held], axis=2)
    received = jnp.where(over(now.chosen), full, 0).sum(axis=2)
    after = full[:, :, : channel.delay]
    if channel.on_missing == "last":
        after = jnp.concatenate([after, received[:, :, None]], axis=2)
    return _sum(weight * received), after


def own_weight(program: Any, phase: Any, now: Arrivals) -> Any:
    """What every agent gives to its own message: its part, and those of neighbours of whom there is no message."""
    own, tables = program.tables.own[phase], program.tables
    if program.channel.on_missing == "later":
        return own  # senders give their messages away, and nobody takes another's part
    return own + _sum(jnp.where(now.chosen.any(axis=-1), 0, tables.weight[phase]))


def _sum(rows: Any) -> Any:
    """The sum over slots, one after the other, so that it is rounded alike wherever an agent is played."""
    return sum_slots(lambda slot: rows[:, slot], rows.shape[1], jnp.zeros_like(rows[:, 0]))


def sum_slots(word: Callable[[Any], Any], slots: int, start: Any) -> Any:
    """start + Σ_slot message(slot).

    In straight-line code, which runs up to ten times faster than a gather of all slots and a sum; in a loop where
    there are so many slots that the program would grow too long.
    """
    if slots > UNROLLED:
        return jax.lax.fori_loop(0, slots, lambda slot, total: total + word(slot), start)
    for slot in range(slots):
        start = start + word(slot)
    return start
