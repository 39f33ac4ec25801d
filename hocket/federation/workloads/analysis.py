"""An analysis at home: a generator that asks for sums, and can be taken up from those it was given."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import jax
import numpy as np

from hocket.algorithm import SecureSum
from hocket.errors import BadInput, HocketError
from hocket.federation.runtime.payload import like

Questions = Generator[SecureSum, Any, Any]


class Analysis:
    """Runs a generator along with the sums that come in; from the start again where they are not the next ones.

    The generator must ask the same of the same sums, so that what is said after a crash is what was said before.
    """

    def __init__(self, begin: Callable[[], Questions]):
        self._begin = begin
        self._restart()

    @property
    def result(self) -> Any:
        """What the analysis came to, once it asks for nothing more."""
        assert self._asked is None
        return self._result

    def asked(self, sums: np.ndarray) -> SecureSum | None:
        """What is to be summed next, after these sums; None if all is known."""
        if sums.size < self._given:
            self._restart()
        while sums.size > self._given:
            assert self._asked is not None
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(self._asked.values)]
            parts: list[np.ndarray] = []
            for leaf in leaves:
                parts.append(sums[self._given : self._given + leaf.size].reshape(leaf.shape))
                self._given += leaf.size
            self._advance(like(self._asked.values, parts))
        return self._asked

    def _restart(self) -> None:
        self._questions, self._given = self._begin(), 0
        self._advance(None)

    def _advance(self, answer: Any) -> None:
        try:
            self._asked: SecureSum | None = self._questions.send(answer)
        except StopIteration as end:
            self._asked, self._result = None, end.value
        except HocketError:
            raise
        except (ArithmeticError, ValueError, IndexError) as error:
            raise BadInput(
                f"the analysis cannot go on from the sums so far ({error}): its question is not one that these rows "
                "can answer, or a member gives numbers that cannot be its own; masks hide who"
            ) from error
