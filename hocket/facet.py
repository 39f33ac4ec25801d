"""What others than an algorithm itself know of it: facts by its exact type, and a cautious default for any other.

A subclass is another algorithm, of which nothing is known until somebody says it. So no fact is inherited, and none of
them can be switched on by an option.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from hocket.errors import BadAlgorithm

Facts = TypeVar("Facts")


class Facet(Generic[Facts]):
    """One kind of facts about algorithms.

    >>> directed = Facet(False)
    >>> directed.of(float)(lambda algorithm: True)  # doctest: +ELLIPSIS
    <function <lambda> at ...>
    >>> directed(1.0), directed(1)
    (True, False)

    What is stated of a class of hocket's stays: nobody else can say otherwise.
    """

    def __init__(self, default: Facts):
        self._default = default
        self._known: dict[type, Callable[[Any], Facts]] = {}

    def __call__(self, algorithm: Any) -> Facts:
        """The facts about this algorithm."""
        known = self._known.get(type(algorithm))
        return self._default if known is None else known(algorithm)

    def of(self, *kinds: type) -> Callable[[Callable[[Any], Facts]], Callable[[Any], Facts]]:
        """A decorator for the function that states the facts about algorithms of exactly these types."""

        def known(facts: Callable[[Any], Facts]) -> Callable[[Any], Facts]:
            for kind in kinds:
                if kind in self._known and kind.__module__.startswith("hocket."):
                    raise BadAlgorithm(
                        f"facts about {kind.__name__} are stated already; state those of your own class"
                    )
            self._known.update(dict.fromkeys(kinds, facts))
            return facts

        return known

    def add(self, facts: Facts, *kinds: type) -> None:
        """State the same facts about all algorithms of exactly these types."""
        self.of(*kinds)(lambda _: facts)
