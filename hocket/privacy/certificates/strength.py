"""What an ε is worth in practice, in words: the only place where that is said.

Words go with ε, at the δ it is stated at; and beside them how often the best guess between the two neighbouring inputs
is right, where one of two is tossed for: Φ(μ/2) under Gaussian differential privacy, (1 + δ(0))/2 in general.
"""

from __future__ import annotations

from typing import Literal

Strength = Literal["strong", "moderate", "weak", "none"]

BANDS: tuple[tuple[float, Strength], ...] = ((1.0, "strong"), (3.0, "moderate"), (10.0, "weak"))
"""The ε below which protection is called so."""
NEARLY_ALL = 0.9995
"""Beyond which a share of cases is no longer told from all of them."""


def strength(epsilon: float) -> Strength:
    """How strong a promise of this ε is.

    >>> [strength(epsilon) for epsilon in (0.1, 1.0, 3.0, 41.0)]
    ['strong', 'moderate', 'weak', 'none']
    """
    for below, name in BANDS:
        if epsilon < below:
            return name
    return "none"


def in_practice(epsilon: float, right: float) -> str:
    """What an ε leaves to whoever guesses, as the end of a sentence.

    >>> in_practice(0.5, 0.54)
    'the best guess between the two cases is right in 54 % of tries, strong protection'
    >>> in_practice(41.0, 0.99999)
    'the best guess between the two cases is right in more than 99.9 % of tries, which is no protection in practice'
    """
    found = strength(epsilon)
    judged = "which is no protection in practice" if found == "none" else f"{found} protection"
    return f"the best guess between the two cases is right in {_share(right)} of tries, {judged}"


def promise(epsilon: float, delta: float, mu: float, right: float, of: str, coins: str = "") -> str:
    """A promise of differential privacy and what it is worth; goes on a sentence whose verb is "gives".

    >>> promise(2.50174, 1e-5, 0.612372, 0.62, "one record replaced")
    'ε = 2.50174 at δ = 1e-05 (μ = 0.612372) for one record replaced: the best guess between the two cases is right in \
62 % of tries, moderate protection'
    """
    return f"ε = {epsilon:.6g} at δ = {delta:g} (μ = {mu:.6g}{coins}) for {of}: {in_practice(epsilon, right)}"


def _share(right: float) -> str:
    if right > NEARLY_ALL:
        return "more than 99.9 %"
    return f"{100 * right:.3g} %" if right > 0.9 else f"{100 * right:.2g} %"
