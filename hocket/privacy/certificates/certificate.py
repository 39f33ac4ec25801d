"""A certificate: what is protected, against whom, for how long, by which theorem, and the number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from hocket.privacy.certificates import sampling
from hocket.privacy.certificates.strength import Strength, promise, strength
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import braced, counted

Arithmetic = Literal["exact", "real-arithmetic model"]
SAID_AT = 1e-5
"""The δ at which a statement says what ε is."""


@dataclass(frozen=True)
class Certificate:
    """What insiders can tell apart at most, as Gaussian differential privacy. Print it, or take it apart."""

    mu: float
    """μ: two worlds are no easier to tell apart than N(0, 1) and N(μ, 1), even by whoever knows all coins; infinite
    where nothing is promised."""
    algorithm: str
    topology: str
    theorem: str
    protected: str
    """The change that is hidden, in words."""
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
    assumptions: tuple[str, ...]
    """Each condition, and whether it was checked."""
    reason: str = ""
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
        """Whether it is about records, and not about what moves between agents."""
        return self.holds and "replaced, where" in self.protected

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
        """ε, δ and μ, and what they are worth in practice; goes on a sentence."""
        coins = (
            " to whoever knows in which rounds it takes part, which it does with probability "
            f"{self.rate:.4g} in each, in secret"
            if self.rate < 1
            else ""
        )
        return promise(self.epsilon(delta), delta, self.mu, self.best_guess, of or self.protected, coins)

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
        finite = {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in (("kappa", self.kappa), ("per_round", self.per_round))
        }
        plain = (
            "theorem",
            "algorithm",
            "topology",
            "protected",
            "against",
            "coalition",
            "agent",
            "rounds",
            "runs",
        )
        return {
            "statement": self.statement,
            "mu": self.mu if self.holds else None,
            "epsilon": {f"{SAID_AT:g}": self.epsilon()} if self.holds else None,
            "delta": {"1": self.delta(1.0)} if self.holds else None,
            "best_guess": self.best_guess if self.holds else None,
            "strength": self.strength if self.holds else None,
            **finite,
            **plain_values(self, *plain, "rate", "searched", "arithmetic", "assumptions"),
            "reason": self.reason or None,
        }


def against_words(coalition: frozenset[int] | None, colluders: int, gone: frozenset[int]) -> str:
    """The adversary in words."""
    left = f", with what {braced(gone)} knew who left" if gone else ""
    if coalition is not None:
        inside = sorted(coalition - gone)
        return (f"coalition {braced(inside)}" if inside else "whoever is nobody inside") + left
    if colluders == 0:
        return "an outsider" + left
    return f"any {counted(colluders, 'colluder')}" + left
