"""What one algorithm leaves open to one kind of listener: by theorem where there is one, else by estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hocket.algorithm import Algorithm
from hocket.algorithms import RssNb
from hocket.privacy.leakage import Leakage
from hocket.privacy.topology import Exposure
from hocket.privacy.wording import named
from hocket.view import Threat

LABELS = {
    "function-sharing": "FS",
    "rss-nb": "RSS-NB",
    "rss-lb": "RSS-LB",
    "dgd": "DGD",
    "independent": "independent noise",
}


@dataclass(frozen=True)
class Option:
    """An algorithm to audit, with its noise level if it is given by name."""

    algorithm: str | Algorithm
    sigma: float = 1.0
    anchor_sigma: float = 0.0

    @property
    def anchored(self) -> bool:
        """Whether some noise is drawn once and kept."""
        if isinstance(self.algorithm, RssNb):
            return self.algorithm.anchor > 0
        return self.anchor_sigma > 0


@dataclass(frozen=True, eq=False)
class Finding:
    """One line of a verdict."""

    option: Option
    label: str
    threat: Threat
    basis: Literal["theorem", "estimate"]
    coalition: tuple[int, ...]
    """The coalition it is about: the one named, or the worst that was found."""
    searched: tuple[int, int] | None
    """How many coalitions were searched, and of how many; None where one was named."""
    exact: tuple[int, ...]
    """Agents whose gradients, or objectives, are known exactly."""
    averaged: tuple[int, ...]
    """Agents whose noise averages out as rounds go by."""
    hidden: tuple[int, ...]
    """Agents of whom only sums with others are known."""
    leakage: Leakage
    least: float
    """The smallest standard deviation with which an honest gradient is known."""

    @property
    def weakest(self) -> int:
        """The honest agent who is known best."""
        return min(self.leakage.honest, key=lambda j: self.leakage.sd[j])

    @property
    def words(self) -> str:
        """The line in words."""
        parts = []
        if self.exact:
            parts.append(f"{named(self.exact)} known exactly")
        if self.averaged:
            parts.append(f"the noise of {named(self.averaged)} averages out in time")
        if self.hidden and self.basis == "theorem":
            parts.append(f"{named(self.hidden)} hidden but for sums")
        elif self.hidden:
            parts.append(f"{named(self.hidden)} not identifiable")
        return "; ".join(parts)

    @property
    def searched_words(self) -> str:
        """How far the search went."""
        if self.searched is None:
            return ""
        done, total = self.searched
        return f"all {total:,} searched" if done == total else f"searched {done:,} of {total:,}"

    @property
    def cell(self) -> str:
        """The line in a few characters."""
        groups = [("exact", self.exact), ("averaging", self.averaged), ("hidden", self.hidden)]
        return ", ".join(f"{len(who)} {what}{self._known_to(who)}" for what, who in groups if who)

    def _known_to(self, agents: tuple[int, ...]) -> str:
        least = min(self.leakage.sd[j] for j in agents)
        return f" ±{least:.2g}" if least else ""

    def to_json(self) -> dict[str, Any]:
        """The line in numbers."""
        return {
            "algorithm": self.label,
            "threat": self.threat,
            "basis": self.basis,
            "coalition": list(self.coalition),
            "searched": None if self.searched is None else list(self.searched),
            "exact": list(self.exact),
            "averaged": list(self.averaged),
            "hidden": list(self.hidden),
            "least_sd": self.least,
            "sd": self.leakage.sd.tolist(),
        }


def finding(
    option: Option, found: Leakage, exposure: Exposure | None, searched: tuple[int, int] | None = None
) -> Finding:
    """What a leakage means; `exposure` is Theorem 2's word where it applies."""
    label = LABELS[found.algorithm] + (", anchored" if option.anchored else "")
    exact = found.exact if exposure is None else tuple(sorted({*exposure.surrounded}))
    averaged = tuple(j for j in found.identifiable if j not in exact) if exposure is None else ()
    sd = found.sd[list(found.honest)]
    return Finding(
        option=option,
        label=label,
        threat=found.threat,
        basis="estimate" if exposure is None else "theorem",
        coalition=found.coalition,
        searched=searched,
        exact=exact,
        averaged=averaged,
        hidden=tuple(j for j in found.honest if j not in {*exact, *averaged}),
        leakage=found,
        least=float(np.min(sd)),
    )


def standard_options(sigma: float) -> Sequence[Option]:
    """Everything there is to choose from, at the same bound per link: half of it anchored, or all of it fresh."""
    return (
        Option("function-sharing", sigma),
        Option("rss-nb", sigma / 2, sigma / 2),
        Option("rss-nb", sigma),
        Option("rss-lb", sigma),
        Option("dgd", 0.0),
        Option("independent", sigma),
    )
