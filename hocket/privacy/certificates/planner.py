"""The least noise for a wanted ε: how much between neighbours, how much of one's own, on which links, and its price."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.privacy.certificates import gdp, sampling
from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.certificates.certify import certify
from hocket.privacy.certificates.edge_noise import WORTH, EdgeNoise, optimise_links, takes_seconds
from hocket.privacy.certificates.price import Price, price_of
from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import counted
from hocket.steps import Number, Step

Protect = Literal["transfer", "record", "member"]
SLACK = 0.05
"""How much more noise the sum may have than with endless noise between neighbours, if nothing else is said."""
ENDLESS = 1e5
"""σ/τ at which more noise between neighbours changes nothing any more."""


@dataclass(frozen=True, eq=False)
class CertificatePlan:
    """Noise with which a certificate holds, and what it costs. Print it."""

    certificate: Certificate
    network: Network
    protect: Protect
    epsilon: float
    delta: float
    """The ε and δ that were asked for."""
    sensitivity: float
    sigma: float
    """σ: the deviation of one directed draw between neighbours; where links differ, the largest."""
    own: float
    """τ: of noise of an agent's own."""
    clip: float | None
    """C: what a step's displacement, over the step, is clipped to; for members."""
    price: Price
    edges: EdgeNoise | None = None
    """By link, where that was asked for: σ of each, and by how much it beats the same on all."""
    considered: tuple[CertificatePlan, ...] = ()
    """Other networks that were looked at."""

    @property
    def by_link(self) -> float | tuple[float, ...]:
        """σ as `certify` takes it."""
        return self.sigma if self.edges is None else tuple(self.edges.sigma.tolist())

    def __str__(self) -> str:
        price = self.price
        own = f", and τ = {self.own:.6g} of each agent's own" if self.own else ""
        lines = [
            f"{self.network.name}: σ = {self.sigma:.6g} between neighbours{own} give ε = "
            f"{self.certificate.epsilon(self.delta):.6g} at δ = {self.delta:g}",
            self.certificate.statement,
            *price.in_words(1, self.network.n, curved=self.certificate.rounds is None),
            f"At an agent: {price.at_agent:.4g} from its neighbours, which cancels in the sum and costs rounds",
        ]
        if self.edges is not None:
            lines.append(
                f"By link σ is between {min(self.edges.sigma):.4g} and {max(self.edges.sigma):.4g}; the same on all "
                f"links would take {self.edges.gain:.4g} times the variance"
            )
        lines += [
            f"{one.network.name} would take σ = {one.sigma:.4g}{f' and τ = {one.own:.4g}' if one.own else ''} on "
            f"{counted(len(one.network.links), 'link')}"
            for one in self.considered
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The plan in plain values."""
        return {
            "topology": self.network.name,
            **plain_values(self, "protect", "epsilon", "delta", "sensitivity", "sigma"),
            "by_link": None if self.edges is None else self.edges.sigma.tolist(),
            "gain": None if self.edges is None else self.edges.gain,
            **plain_values(self, "own", "clip"),
            "price": dataclasses.asdict(self.price) | {"over_central": self.price.over_central},
            "considered": [
                {"topology": one.network.name, "sigma": one.sigma, "own": one.own} for one in self.considered
            ],
            "certificate": self.certificate.to_json(),
        }


def plan_certificate(
    networks: Network | Iterable[Network],
    algorithm: str,
    *,
    epsilon: float,
    delta: float = 1e-6,
    colluders: int,
    protect: Protect = "record",
    sensitivity: float | None = None,
    clip: float | None = None,
    rounds: int | None = None,
    runs: int = 1,
    step: Step | Number | None = None,
    rate: float = 1.0,
    slack: float = SLACK,
    per_link: bool | Literal["auto"] = False,
) -> CertificatePlan:
    """The least noise with which an algorithm is (ε, δ)-private against any so many colluders, and its price.
    Ask it before a plan is drawn up; `hocket peer plan --epsilon` does.

    `protect="transfer"`: what moves between members, of norm `sensitivity`; noise between neighbours alone does it, and
    the sum has none. `"record"`: one record replaced, which changes what its member contributes by at most
    `sensitivity`; this takes noise of each member's own too. `"member"`: all that a member does in a round, clipped to
    `clip`, whose sensitivity is twice that. More noise between neighbours lets own noise be less, down to √(n/(n−f)) of
    a trusted server's on the sum: as much is taken as brings it within `slack` of that.

    Of several `networks` the one is chosen that costs fewest rounds, by the noise at an agent over how fast words mix.
    `per_link` chooses σ for each link apart; `"auto"` does where equal noise would take a twentieth more variance, and
    finding out takes seconds. Noise in every round needs `rounds`, and a `step` if it is scaled by α_k. With a
    `rate` records take part in a round by secret coins, and less noise does.

    >>> ring = Network.cycle(5)
    >>> found = plan_certificate(ring, "function-sharing", epsilon=1.0, delta=1e-5, colluders=1, sensitivity=1.0)
    >>> round(found.certificate.epsilon(1e-5), 6), round(found.price.over_central, 3)
    (1.0, 1.174)
    """
    asked = _Asked(
        algorithm, epsilon, delta, colluders, protect, sensitivity, clip, rounds, runs, step, slack, rate
    )
    several = [networks] if isinstance(networks, Network) else list(networks)
    if not several:
        raise BadInput("there is no network to choose; give one, or several to choose from")
    plans, reasons = [], []
    for network in several:
        try:
            plans.append(asked.on(network, per_link))
        except BadInput as error:
            reasons.append(f"{network.name}: {error}")
    if not plans:
        raise BadInput("\n".join(reasons) if len(reasons) > 1 else reasons[0].partition(": ")[2])
    plans.sort(key=lambda one: (round(one.price.slowed, 9), len(one.network.links)))
    return dataclasses.replace(plans[0], considered=tuple(plans[1:]))


@dataclass(frozen=True)
class _Asked:
    """What is wanted, on whatever network."""

    algorithm: str
    epsilon: float
    delta: float
    colluders: int
    protect: Protect
    sensitivity: float | None
    clip: float | None
    rounds: int | None
    runs: int
    step: Step | Number | None
    slack: float
    rate: float = 1.0

    def __post_init__(self) -> None:
        if self.protect not in get_args(Protect):
            raise BadInput(f"protect = {self.protect!r}; choose one of {', '.join(get_args(Protect))}")
        if not self.slack > 0:
            raise BadInput(
                f"slack = {self.slack!r}; own noise comes as near as you like to its least, never to it"
            )
        if self.rate != 1 and self.step is not None:
            raise BadInput(
                "rate= takes noise that is scaled as the gradient is that it hides; leave step= away"
            )
        if not self.goal > 0 or not math.isfinite(self.goal):
            raise BadInput(
                f"epsilon = {self.epsilon!r} and delta = {self.delta!r} are no goal: give both above zero, δ "
                "below 1"
            )
        if (self.clip is None) == (self.protect == "member"):
            raise BadInput(
                "to protect members give clip=, what a step's displacement is clipped to; for transfers and records "
                "give sensitivity="
            )
        if not (self.size > 0 and math.isfinite(self.size)):
            raise BadInput(f"sensitivity = {self.size!r}; give a finite number above zero")

    @property
    def goal(self) -> float:
        """μ of what is wanted."""
        if sampling.check_rate(self.rate) == 1:
            return gdp.mu(self.epsilon, self.delta)
        rounds = (self.rounds or 1) * self.runs
        return math.sqrt(rounds) * sampling.mu_of_round(self.epsilon, self.delta, self.rate, rounds)

    @property
    def size(self) -> float:
        """S: what is hidden, in norm; a displacement of norm C may turn into one of the opposite direction."""
        if self.clip is not None:
            return 2 * self.clip
        if self.sensitivity is None:
            raise BadInput("say how large a change is that is to be hidden: sensitivity=")
        return float(self.sensitivity)

    def certificate(self, network: Network, sigma: Any, own: float) -> Certificate:
        hidden: dict[str, Any] = {"transfer" if self.protect == "transfer" else "sensitivity": self.size}
        return certify(
            network,
            self.algorithm,
            colluders=self.colluders,
            sigma=sigma,
            own=own,
            rounds=self.rounds,
            runs=self.runs,
            step=self.step,
            rate=self.rate,
            **hidden,
        )

    def on(self, network: Network, per_link: bool | Literal["auto"]) -> CertificatePlan:
        ratio, own = (1.0, 0.0) if self.protect == "transfer" else (self.ratio(network), 1.0)
        # μ goes with the inverse of all noise together, whatever its parts are.
        unit = self.certificate(network, ratio, own)
        if not unit.holds:
            raise BadInput(unit.reason)
        scale = rounded_up(unit.mu / self.goal)
        sigma, own = ratio * scale, own * scale
        edges = None
        if per_link and (per_link != "auto" or takes_seconds(network, self.colluders)):
            edges = self.by_link(network, unit, ratio, scale)
        if edges is not None and per_link == "auto" and not self.worth_it(network, edges, own):
            edges = None
        by_link = sigma if edges is None else edges.sigma
        found, sigma = self.certificate(network, by_link, own), float(np.max(by_link))
        moved = self.size if self.protect == "transfer" else None
        price = price_of(network, by_link, own, found, moved=moved)
        return CertificatePlan(
            found,
            network,
            self.protect,
            self.epsilon,
            self.delta,
            self.size,
            sigma,
            own,
            self.clip,
            price,
            edges,
        )

    def ratio(self, network: Network) -> float:
        """The least σ/τ that leaves own noise within the slack of what it is at least."""
        least = self.certificate(network, ENDLESS, 1.0)
        if not least.holds:
            raise BadInput(least.reason)
        low, high = 1e-3, ENDLESS
        while high / low > 1 + 1e-6:
            middle = math.sqrt(low * high)
            enough = self.certificate(network, middle, 1.0).mu <= (1 + self.slack) * least.mu
            low, high = (low, middle) if enough else (middle, high)
        return high

    def worth_it(self, network: Network, edges: EdgeNoise, own: float) -> bool:
        """Whether σ by link saves enough, and is certified: a bound over all coalitions takes the least of links."""
        mu = self.certificate(network, edges.sigma, own).mu
        return edges.gain >= WORTH and mu <= self.goal * (1 + 1e-9)

    def by_link(self, network: Network, unit: Certificate, ratio: float, scale: float) -> EdgeNoise:
        """σ for each link, that keeps the same μ with least variance altogether."""
        if self.protect == "transfer":
            found = optimise_links(network, self.colluders, limit=1.0)
            return _scaled(found, 2 * (ratio * scale) ** 2 / found.equal)
        assert unit.kappa is not None
        found = optimise_links(network, self.colluders, limit=unit.kappa, protect="record", own=1.0)
        return _scaled(found, scale**2 * (1 + 1e-9))


def _scaled(edges: EdgeNoise, factor: float) -> EdgeNoise:
    return EdgeNoise(edges.conductance * factor, edges.equal * factor, edges.least * factor)


def rounded_up(value: float) -> float:
    """A deviation to seven digits, never less than it must be."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 6)
    return float(f"{math.ceil(value / unit * (1 + 1e-9)) * unit:.7g}")
