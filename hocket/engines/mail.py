"""Words in weather: what arrives in a round, what is on its way, and what an agent hears in place of a lost word.

Everything leads with the agent that listens, and then with its slots: an agent's mail is part of where it stands, and
is placed, stored and resumed with it. What happens on a link is drawn from its number and the round, by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from hocket.algorithm import Unheard
from hocket.networks.neighbour_tables import NeighbourTables
from hocket.noise import threefry
from hocket.runs.weather import Weather

LABEL = 0x7EA7
"""Of the weather among all streams of a run."""
LOSS, SLEEP, DELAY = 0, 1, 2
"""What is drawn; rounds are below 2^30, so that a round and one of four kinds fit into a counter."""
NEVER = 1 << 20
"""The age of the last word of a neighbour that nobody ever heard."""
UNROLLED = 32
"""Slots are summed in straight-line code up to here; beyond, in a loop, to keep programs small."""


class Sky(eqx.Module):
    """A weather, as a program computes with it: probabilities in units of 2^-32, the same in any precision."""

    lost: Any
    worse: Any
    """That a link fails which did not."""
    better: Any
    """That a link works again which did not."""
    asleep: Any
    key: Any
    """None for the run's own."""
    bursts: bool = eqx.field(static=True)
    sleeps: bool = eqx.field(static=True)
    both_ways: bool = eqx.field(static=True)
    delay: int = eqx.field(static=True)
    unheard: Unheard = eqx.field(static=True)

    @staticmethod
    def of(weather: Weather, unheard: Unheard) -> Sky:
        """The weather of a run whose algorithm wants this in place of a word that does not come."""
        loss, burst = weather.loss, weather.burst
        worse = loss if burst is None else loss / (burst * (1 - loss))
        return Sky(
            lost=_threshold(loss),
            worse=_threshold(worse),
            better=_threshold(1.0 if burst is None else 1 / burst),
            asleep=_threshold(weather.sleep),
            key=None if weather.seed is None else threefry.seed_key(weather.seed),
            bursts=burst is not None,
            sleeps=weather.sleep > 0,
            both_ways=weather.both_ways,
            delay=weather.delay,
            unheard=unheard,
        )

    @property
    def ages(self) -> int:
        """How many rounds a word may be old on which it arrives, this one counted."""
        return self.delay + 1

    @property
    def kept(self) -> int:
        """How many words of each neighbour are kept from round to round."""
        return self.delay if self.unheard == "own" else self.ages

    def draw(self, root: tuple[Any, Any], kind: int, k: Any, numbers: Any) -> tuple[Any, Any]:
        """Two words for each of these numbers in round k."""
        own = root if self.key is None else (self.key[0], self.key[1])
        moment = jnp.asarray(k).astype(np.uint32) * np.uint32(4) + np.uint32(kind)
        number = numbers.astype(np.uint32)
        return threefry.words(threefry.derive(own, LABEL), jnp.full_like(number, moment), number)

    def on_links(self, root: tuple[Any, Any], kind: int, k: Any, tables: NeighbourTables) -> Any:
        """A draw for what each neighbour says to each agent in round k."""
        low, high = self.draw(root, kind, k, tables.numbers_of(tables.link))
        if self.both_ways and kind == LOSS:
            return low
        # The neighbour speaks in the direction that is not the agent's own.
        return jnp.where(tables.direction == 1, low, high)


def _threshold(part: float) -> np.ndarray:
    return np.asarray(min(round(part * 2**32), 2**32 - 1), dtype=np.uint32)


class Mail(eqx.Module):
    """What is on its way to every agent, and what has been counted so far."""

    down: Any
    """Whether the link on which a neighbour speaks fails; None where rounds fail by themselves."""
    due: Any
    """After how many rounds a word arrives that was said 1, 2, … rounds ago; −1 if never."""
    age: Any
    """How old the last word is that was heard of a neighbour; None where nobody asks."""
    held: tuple[Any, ...]
    """By array said in a round: words of neighbours that are on their way, were heard last, or wait to be made up."""
    sent: Any
    received: Any
    lost: Any
    """Words to each agent, by what became of them."""


class Arrivals(NamedTuple):
    """What a round brings."""

    awake: Any
    """Of every agent, whether it takes part."""
    said: Any
    """Whether a neighbour speaks at all."""
    chosen: Any
    """Which of a neighbour's words is heard: by age, and after these the one that was heard last."""
    mail: Mail
    """With everything but words themselves brought up to date."""


def no_mail(sky: Sky, root: tuple[Any, Any], tables: NeighbourTables, words: list[Any]) -> Mail:
    """Before round 1; `words` are all arrays said in a round, or their shapes."""
    agents, slots = tables.neighbour.shape
    # One array each: counters that were one and the same would be two arguments that are one buffer.
    sent, received, lost = (jnp.zeros(agents, dtype=int) for _ in range(3))
    return Mail(
        down=sky.on_links(root, LOSS, 0, tables) < sky.lost if sky.bursts else None,
        due=jnp.full((agents, slots, sky.delay), -1, jnp.int32),
        age=jnp.full((agents, slots), NEVER, jnp.int32) if sky.unheard == "last" else None,
        held=tuple(jnp.zeros((agents, slots, sky.kept, *word.shape[1:]), word.dtype) for word in words),
        sent=sent,
        received=received,
        lost=lost,
    )


def arrivals(program: Any, k: Any, phase: Any, mail: Mail) -> Arrivals:
    """Who is awake in round k, what is said, and what of all that was said arrives."""
    sky, tables, root = program.sky, program.tables, program.root
    said = tables.weight[phase] > 0
    awake = jnp.ones(tables.n, bool)
    if sky.sleeps:
        numbers = jnp.arange(tables.n) if tables.agent_numbers is None else tables.agent_numbers
        awake = sky.draw(root, SLEEP, k, numbers)[0] >= sky.asleep
        said &= program.population.said(awake.astype(jnp.int32))[tables.neighbour] == 1
    drawn, down = sky.on_links(root, LOSS, k, tables), mail.down
    if down is not None:
        down = jnp.where(down, drawn >= sky.better, drawn < sky.worse)
    gone = said & (drawn < sky.lost if down is None else down)
    late = jnp.zeros(said.shape, jnp.int32)
    if sky.delay:
        late = (sky.on_links(root, DELAY, k, tables) % np.uint32(sky.ages)).astype(jnp.int32)
    due = jnp.concatenate([jnp.where(said & ~gone, late, -1)[..., None], mail.due], axis=-1)
    landing = due == jnp.arange(sky.ages)
    heard = landing & awake[:, None, None]
    missed = gone.sum(axis=1) + (landing & ~heard).sum(axis=(1, 2))
    chosen, age = _chosen(sky, heard, mail.age)
    counted = Mail(
        down=down,
        due=due[..., : sky.delay],
        age=age,
        held=mail.held,
        sent=said.sum(axis=1),
        received=heard.sum(axis=(1, 2)),
        lost=missed,
    )
    return Arrivals(awake, said, chosen, counted)


def _chosen(sky: Sky, heard: Any, age: Any) -> tuple[Any, Any]:
    """Which words an agent takes: the newest that arrives, and with it all older ones where they are made up."""
    so_far = jnp.cumsum(heard, axis=-1)
    if sky.unheard == "later":
        return so_far > 0, None
    newest = heard & (so_far == 1)
    if sky.unheard == "own":
        return newest, None
    old = jnp.minimum(age + 1, NEVER)
    found = jnp.where(heard.any(axis=-1), jnp.argmax(heard, axis=-1).astype(jnp.int32), NEVER)
    newest &= (found < old)[..., None]
    age = jnp.minimum(found, old)
    stale = ((age < NEVER) & ~newest.any(axis=-1))[..., None]
    return jnp.concatenate([newest, stale], axis=-1), age


def delivered(program: Any, phase: Any, now: Arrivals, words: Any, held: Any) -> tuple[Any, Any]:
    """Σ_i B[j,i] (what j takes for i's word), for every agent j; and what it keeps of neighbours' words."""
    sky, tables = program.sky, program.tables
    deep = words.ndim - 1

    def over(mask: Any) -> Any:
        return mask.reshape(*mask.shape, *(1,) * deep)

    weight = over(tables.weight[phase])
    fresh = program.population.said(words)[tables.neighbour]
    if sky.unheard == "later":
        shared = jnp.where(over(now.said), weight * fresh, 0)[:, :, None]
        last = held[:, :, -2:].sum(axis=2, keepdims=True) if sky.delay else held + shared
        full = jnp.concatenate([shared, held[:, :, : max(sky.delay - 1, 0)], last], axis=2)[:, :, -sky.ages :]
        taken = over(now.chosen)
        return _sum(jnp.where(taken, full, 0).sum(axis=2)), jnp.where(taken, 0, full)
    full = jnp.concatenate([fresh[:, :, None], held], axis=2)
    heard = jnp.where(over(now.chosen), full, 0).sum(axis=2)
    after = full[:, :, : sky.delay]
    if sky.unheard == "last":
        after = jnp.concatenate([after, heard[:, :, None]], axis=2)
    return _sum(weight * heard), after


def own_weight(program: Any, phase: Any, now: Arrivals) -> Any:
    """What every agent gives to its own word: its part, and those of neighbours of whom there is no word."""
    own, tables = program.tables.own[phase], program.tables
    if program.sky.unheard == "later":
        return own  # speakers give their words away, and nobody takes another's part
    return own + _sum(jnp.where(now.chosen.any(axis=-1), 0, tables.weight[phase]))


def _sum(rows: Any) -> Any:
    """The sum over slots, one after the other, so that it is rounded alike wherever an agent is played."""
    return sum_slots(lambda slot: rows[:, slot], rows.shape[1], jnp.zeros_like(rows[:, 0]))


def sum_slots(word: Callable[[Any], Any], slots: int, start: Any) -> Any:
    """start + Σ_slot word(slot).

    In straight-line code, which runs up to ten times faster than a gather of all slots and a sum; in a loop where
    there are so many slots that the program would grow too long.
    """
    if slots > UNROLLED:
        return jax.lax.fori_loop(0, slots, lambda slot, total: total + word(slot), start)
    for slot in range(slots):
        start = start + word(slot)
    return start
