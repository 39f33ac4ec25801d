"""Agents, links and uncertainties in words, the same in every verdict and every error; and typed remarks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

SHOWN = 8
"""Agents named before the rest are only counted."""


def named(agents: Collection[int]) -> str:
    """Agents as a subject.

    >>> named([2]), named([5, 2, 3]), named(range(20))
    ('agent 2', 'agents 2, 3 and 5', 'agents 0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    numbers = [str(agent) for agent in sorted(agents)]
    if len(numbers) == 1:
        return f"agent {numbers[0]}"
    if len(numbers) > SHOWN + 1:
        numbers = [*numbers[:SHOWN], f"{len(numbers) - SHOWN} more"]
    return f"agents {', '.join(numbers[:-1])} and {numbers[-1]}"


def braced(agents: Collection[int]) -> str:
    """Agents as a set.

    >>> braced((4, 1)), braced(range(20))
    ('{1, 4}', '{0, 1, 2, 3, 4, 5, 6, 7, … 20 agents}')
    """
    numbers = [str(agent) for agent in sorted(agents)]
    if len(numbers) > SHOWN + 1:
        numbers = [*numbers[:SHOWN], f"… {len(numbers)} agents"]
    return "{" + ", ".join(numbers) + "}"


def listed(agents: Collection[int], labels: Sequence[object] | None) -> str:
    """Agents by their names where they have some, as a subject.

    >>> listed([2, 0], ["Aalst", "Bruges", "Ghent"]), listed([2, 0], None)
    ('Aalst and Ghent', 'agents 0 and 2')
    """
    if labels is None:
        return named(agents)
    names = [str(labels[agent]) for agent in sorted(agents)]
    if len(names) > SHOWN + 1:
        names = [*names[:SHOWN], f"{len(names) - SHOWN} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "link"), counted(2000, "link")
    ('1 link', '2,000 links')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def sentence(text: str) -> str:
    """Words as a sentence of their own.

    >>> sentence("nothing is known")
    'Nothing is known.'
    """
    return f"{text[0].upper()}{text[1:]}."


def grouped(agents: Collection[int], labels: Sequence[object] | None) -> str:
    """Agents as a set, by their names where they have some.

    >>> grouped([2, 0], ["Aalst", "Bruges", "Ghent"]), grouped([2, 0], None)
    ('Aalst and Ghent', '{0, 2}')
    """
    return braced(agents) if labels is None else listed(agents, labels)


def linked(links: Iterable[tuple[int, int]], labels: Sequence[object] | None = None) -> str:
    """Links by their ends, which go by their names where they have some.

    >>> linked([(0, 3), (1, 2)]), linked([(0, 1)], ["Aalst", "Ghent"])
    ('0-3, 1-2', 'Aalst to Ghent')
    """
    if labels is None:
        return ", ".join(f"{i}-{j}" for i, j in links)
    return ", ".join(f"{labels[i]} to {labels[j]}" for i, j in links)


@dataclass(frozen=True, init=False)
class Said:
    """A typed remark: which sentence of a table, and what it is about. Decisions look at `what`; text is made at the
    edge, agents by name where they have one.

    >>> class Table(Enum):
    ...     RECEIVED = "the messages of {who:agents} on {links:link} were received"
    >>> str(Said(Table.RECEIVED, who=(0, 2), links=3))
    'the messages of agents 0 and 2 on 3 links were received'
    """

    what: Enum
    """The sentence, as a template: `agents` and `set` are formats for agents, `links` for links, and a noun counts."""
    about: Mapping[str, Any]

    def __init__(self, what: Enum, **about: Any):
        object.__setattr__(self, "what", what)
        object.__setattr__(self, "about", about)

    def in_words(self, labels: Sequence[object] | None = None) -> str:
        """The sentence without its full stop."""
        shown = {name: _Shown(value, labels) for name, value in self.about.items()}
        return str(self.what.value).format(**shown)

    def __str__(self) -> str:
        return self.in_words()

    def to_json(self) -> str:
        """In words."""
        return self.in_words()


@dataclass(frozen=True)
class _Shown:
    value: Any
    labels: Sequence[object] | None

    def __format__(self, how: str) -> str:
        value = self.value
        if isinstance(value, Said):
            return value.in_words(self.labels)
        if how in ("agents", "set", "links"):
            return {"agents": listed, "set": grouped, "links": linked}[how](value, self.labels)
        return counted(value, how) if how.isalpha() and len(how) > 1 else format(value, how)


def rendered(remarks: Iterable[Said], labels: Sequence[object] | None = None, joint: str = " and ") -> str:
    """Several remarks in one sentence."""
    return joint.join(one.in_words(labels) for one in remarks)


SUPPOSED = 1.0
"""The size of a gradient's coordinates where nobody says what it is."""


def share(number: float, size: float) -> str:
    """A part of a size in per cent, to two digits; what is short of all is never rounded to all.

    >>> share(0.11, 1.0), share(0.00115, 1.0), share(3.0, 4.0), share(0.9999, 1.0), share(9.0, 1.0)
    ('11 %', '0.11 %', '75 %', '99.9 %', '900 %')
    """
    percent = 100 * number / size
    if percent >= 100 or not percent:
        return f"{percent:,.0f} %"
    if percent < 1e-4:
        return "less than 0.0001 %"
    if percent < 1e-3:
        return f"{percent:.4f} %"
    return f"{min(float(f'{percent:.2g}'), 99.9):g} %"


def known(sd: float, size: float = SUPPOSED) -> str:
    """How far off an estimate with this deviation is, where what it estimates is of this size.

    >>> known(0.0), known(0.11), known(0.7, 10.0), known(0.9999)
    ('known exactly', 'relative error 0.11', 'relative error 0.07', 'relative error 0.999')
    >>> known(0.11, 0.1)
    'error as large as the gradient'
    """
    if sd == 0:
        return "known exactly"
    error = min(float(f"{sd / size:.2g}"), 0.999)
    return "error as large as the gradient" if sd >= size else f"relative error {error:g}"


def judged(sd: float, size: float = SUPPOSED) -> str:
    """An uncertainty as people can judge it: no ± is printed but beside what it means for a gradient of this size.

    >>> judged(0.0), judged(0.11), judged(0.022, 3.3)
    ('known exactly', '±0.11, relative error 0.11', '±0.022, relative error 0.0067')
    """
    return known(sd, size) if sd == 0 else f"±{sd:.3g}, {known(sd, size)}"


def searched_share(done: int, total: int) -> str:
    """How far a search went, said so that nobody takes a part for the whole.

    >>> searched_share(10, 10), searched_share(1, 1_313_400)
    ('worst of all 10', 'worst of the 1 searched of 1,313,400, less than 0.0001 %')
    """
    if done == total:
        return f"worst of all {total:,}"
    return f"worst of the {done:,} searched of {total:,}, {share(done, total)}"
