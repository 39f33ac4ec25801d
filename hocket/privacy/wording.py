"""Agents and links in words, the same in every verdict and every error."""

from __future__ import annotations

from collections.abc import Collection, Iterable

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


def linked(links: Iterable[tuple[int, int]]) -> str:
    """Links by their ends.

    >>> linked([(0, 3), (1, 2)])
    '0-3, 1-2'
    """
    return ", ".join(f"{i}-{j}" for i, j in links)
