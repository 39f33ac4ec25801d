"""A certificate: what is protected, against whom, for how long, by which theorem, the number, and what it is worth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from hocket.privacy.dp import sampling
from hocket.privacy.dp.reasons import Assumption
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import Said, braced, counted, rendered

Arithmetic = Literal["exact", "real-arithmetic model"]
Strength = Literal["strong", "moderate", "weak", "none"]
SAID_AT = 1e-5
"""The δ at which a statement says what ε is."""
BANDS: tuple[tuple[float, Strength], ...] = ((1.0, "strong"), (3.0, "moderate"), (10.0, "weak"))
"""The ε below which protection is called so."""
NEARLY_ALL = 0.9995
"""Beyond which a share of cases is no longer told from all of them."""


@dataclass(frozen=True)
class Certificate:
    """What insiders can tell apart at most, as Gaussian differential privacy. Print it, or take it apart."""

    mu: float
    """μ: two neighbouring inputs are no easier to tell apart than N(0, 1) and N(μ, 1), even by who knows all coins;
    infinite where nothing is promised."""
    algorithm: str
    topology: str
    theorem: str
    protected: str
    """The change that is hidden, in words."""
    of_records: bool
    """Whether it is about records, and not about what moves between agents."""
    against: str
    """Who is kept from telling it, in words."""
    coalition: tuple[int, ...] | None
    """The coalition named, or the worst of its size; None where a bound over all of them was taken."""
    agent: int | tuple[int, ...] | None
    """Whom it hits worst: one agent, or the agents between whom something moved."""
    kappa: float | None
    """κ of that agent, for records: the squared μ of one look for a unit of sensitivity."""
    per_round: float | None
    """μ of a single round for records, the largest, if the record takes part: what secret batches begin with."""
    rounds: int | None
    """Gradients that are covered; None for any number of rounds."""
    runs: int
    searched: str
    """How the worst coalition is known: by a search over all, or by which bound without one."""
    arithmetic: Arithmetic
    assumptions: tuple[Assumption, ...]
    """Each condition, and how it stands."""
    reasons: tuple[Said, ...] = ()
    """Why μ is infinite; empty where it is not."""
    rate: float = 1.0
    """q: how likely a record is to take part in a round, by a coin that nobody else knows."""

    def epsilon(self, delta: float = SAID_AT) -> float:
        """ε at this δ: exactly; with secret coins, no less than it is."""
        return sampling.epsilon([self.view], delta, known=self.mu)

    def delta(self, epsilon: float) -> float:
        """δ at this ε, likewise."""
        return sampling.delta([self.view], epsilon, known=self.mu)

    @property
    def view(self) -> sampling.Sampled:
        """All of it as one part of what runs tell together."""
        if self.rate == 1 or self.per_round is None or self.rounds is None:
            return sampling.Sampled(self.mu)
        return sampling.Sampled(self.per_round, self.rate, self.rounds * self.runs)

    @property
    def holds(self) -> bool:
        """Whether anything is promised at all."""
        return math.isfinite(self.mu)

    @property
    def hides_records(self) -> bool:
        """Whether it promises something of records."""
        return self.holds and self.of_records

    @property
    def reason(self) -> str:
        """Why nothing is promised; empty where something is."""
        return rendered(self.reasons, joint="; ")

    @property
    def statement(self) -> str:
        """One sentence to sign."""
        if not self.holds:
            return (
                f"No certificate for {self.algorithm} on {self.topology}, against {self.against}, of {self.protected}: "
                f"{self.reason}."
            )
        model = "" if self.arithmetic == "exact" else " in a real-arithmetic model"
        return (
            f"Against {self.against}, receiving every message, over {self.lasting}, {self.algorithm} on "
            f"{self.topology} gives, by Theorem {self.theorem}{model}, {self.promise()}."
        )

    def promise(self, delta: float = SAID_AT, of: str = "") -> str:
        """ε, δ and μ, and what they are worth in practice; goes on a sentence whose verb is "gives"."""
        coins = (
            " to an adversary that knows in which rounds it takes part, which it does with probability "
            f"{self.rate:.4g} in each, in secret"
            if self.rate < 1
            else ""
        )
        epsilon, hidden = self.epsilon(delta), of or self.protected
        return (
            f"ε = {epsilon:.6g} at δ = {delta:g} (μ = {self.mu:.6g}{coins}) for {hidden}: "
            f"{in_practice(epsilon, self.best_guess)}"
        )

    @property
    def best_guess(self) -> float:
        """How often the best guess between the two cases is right, where a coin is tossed for them: Φ(μ/2), with secret
        coins perhaps less."""
        return (1 + self.delta(0.0)) / 2

    @property
    def strength(self) -> Strength:
        """What it is worth in practice, by its ε."""
        return strength(self.epsilon())

    @property
    def lasting(self) -> str:
        """How long it covers, in words."""
        rounds = "any number of rounds" if self.rounds is None else counted(self.rounds, "round")
        return rounds if self.runs == 1 else f"{rounds} in each of {counted(self.runs, 'run')}"

    def __str__(self) -> str:
        if not self.holds:
            return self.statement
        conditions = (f"- {one}" for one in self.assumptions)
        return "\n".join([self.statement, f"Worst case: {self.searched}.", *conditions])

    def to_json(self) -> dict[str, Any]:
        """The certificate in plain values; what is infinite is null."""
        numbers = {"mu": self.mu, "kappa": self.kappa, "per_round": self.per_round}
        worth: dict[str, Any] = dict.fromkeys(("epsilon", "delta", "best_guess", "strength"))
        if self.holds:
            worth = {"epsilon": {f"{SAID_AT:g}": self.epsilon()}, "delta": {"1": self.delta(1.0)}}
            worth |= plain_values(self, "best_guess", "strength")
        about = plain_values(
            self, "theorem", "algorithm", "topology", "protected", "against", "coalition", "agent"
        )
        how = plain_values(self, "rounds", "runs", "rate", "searched", "arithmetic", "assumptions")
        finite = {
            key: one if one is not None and math.isfinite(one) else None for key, one in numbers.items()
        }
        said = {"statement": self.statement, "reason": self.reason or None}
        return said | finite | worth | about | how


def strength(epsilon: float) -> Strength:
    """How strong a promise of this ε is.

    >>> [strength(epsilon) for epsilon in (0.1, 1.0, 3.0, 41.0)]
    ['strong', 'moderate', 'weak', 'none']
    """
    names: list[Strength] = [name for below, name in BANDS if epsilon < below]
    return names[0] if names else "none"


def in_practice(epsilon: float, right: float) -> str:
    """What an ε leaves to who guesses, as the end of a sentence; `right` is how often the best guess is.

    >>> in_practice(0.5, 0.54)
    'the best guess between the two cases is right in 54 % of tries, strong protection'
    >>> in_practice(41.0, 0.99999)
    'the best guess between the two cases is right in more than 99.9 % of tries, which is no protection in practice'
    """
    found = strength(epsilon)
    judged = "which is no protection in practice" if found == "none" else f"{found} protection"
    part = f"{100 * right:.3g} %" if right > 0.9 else f"{100 * right:.2g} %"
    part = "more than 99.9 %" if right > NEARLY_ALL else part
    return f"the best guess between the two cases is right in {part} of tries, {judged}"


def against_words(coalition: frozenset[int] | None, colluders: int, gone: frozenset[int]) -> str:
    """The adversary in words."""
    left = f", with what {braced(gone)} knew who left" if gone else ""
    if coalition is not None:
        inside = sorted(coalition - gone)
        return (f"coalition {braced(inside)}" if inside else "an eavesdropper on all links") + left
    return (
        "an eavesdropper on all links" if colluders == 0 else f"any {counted(colluders, 'colluder')}"
    ) + left
