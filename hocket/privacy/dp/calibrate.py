"""The least noise for a wanted ε: how much between neighbours, how much independent, on which links, and its price."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hocket.errors import BadInput
from hocket.networks.network import Network
from hocket.privacy.dp import gdp, sampling
from hocket.privacy.dp.certificate import Certificate
from hocket.privacy.dp.certify import certify
from hocket.privacy.dp.edge_noise import WORTH, EdgeNoise, optimise_links, takes_seconds
from hocket.privacy.plain_values import plain_values
from hocket.privacy.questions import Adversary, Horizon, Neighbouring, NoiseSpec, Question
from hocket.privacy.wording import counted

Protect = Literal["transfer", "record", "member"]
SLACK = 0.05
"""How much more noise the sum may have than with endless noise between neighbours, if nothing else is said."""
TAKEN = frozenset({"transfer", "sensitivity", "rate", "rounds", "runs"})
"""Fields of a question that a plan has a use for."""
ENDLESS = 1e5
"""σ/τ at which more noise between neighbours changes nothing any more."""


@dataclass(frozen=True)
class Price:
    """What a certificate costs, beside a trusted server (central) and everybody for itself (local), in this order.

    Deviations of the noise on the sum over all agents, of one coefficient, in one look: of one round where noise is
    drawn afresh in every round.
    """

    on_sum: float
    central: float
    local: float
    at_agent: float
    """The deviation of what neighbours deal the agent that gets most of it: it cancels in the sum, and costs rounds."""
    gap: float
    """1 − λ of the network's weights: rounds to agree go with its inverse."""

    @property
    def over_central(self) -> float:
        """Noise on the sum, or on the average, over that of a trusted server; 1 where neither has any."""
        return self.on_sum / self.central if self.central else 1.0

    @property
    def slowed(self) -> float:
        """What topologies are compared by: noise at an agent over how fast a network mixes it away."""
        return self.at_agent / self.gap if self.gap > 0 else math.inf

    def curvature(self, dim: int, agents: int, failure: float = 1e-6) -> list[float]:
        """How much curvature noise adds to a quadratic that is descended, except with this probability; steps shrink
        with it."""
        most, own = 2 * (math.sqrt(dim) + math.sqrt(math.log(2 * agents / failure))), 1 / math.sqrt(agents)
        noise = math.hypot(self.at_agent, self.on_sum * own), self.central / agents, self.local * own
        return [most * one for one in noise]

    def rounds(self, added: Sequence[float] = (0.0, 0.0, 0.0)) -> list[float]:
        """Rounds that make the gap ten times smaller, where noise adds so much curvature to an agent's quadratic, as
        parts of its own: by steps of min{1, 1.5 (1 − λ)}/L̂, with a server 1/L̂."""
        mixing = min(1.0, 1.5 * self.gap)
        return [
            math.log(10) / 2 * (1 + one) / mix for one, mix in zip(added, (mixing, 1.0, mixing), strict=True)
        ]

    def gaps(self, curvature: float, dim: int = 1) -> list[float]:
        """By how much Σf at the answer exceeds its least, on average, where Σf is quadratic with this curvature in each
        of `dim` directions and noise is on slopes, of one look."""
        return [one**2 * dim / 2 / curvature for one in (self.on_sum, self.central, self.local)]

    def in_words(self, dim: int, agents: int, *, curved: bool) -> list[str]:
        """The price on the sum, in the gap and in rounds, whatever curvatures are; noise may be `curved` itself."""
        rounds = [f"{one:.3g}" for one in self.rounds()]
        if curved:
            rounds = [
                f"{one} (1 + {more:.3g}/L)"
                for one, more in zip(rounds, self.curvature(dim, agents), strict=True)
            ]
        where = (
            "; where a member's objective has curvature L"
            if curved
            else "; averaging noise of rounds takes more"
        )
        return [
            f"On the sum: noise of deviation {self.on_sum:.4g}; central {self.central:.4g}, local {self.local:.4g}",
            "Gap: {:.4g}/c, with a server {:.4g}/c, everybody for itself {:.4g}/c; on average, from one look at "
            "slopes in dimension {}, where the sum of all objectives has curvature c".format(
                *self.gaps(1.0, dim), dim
            ),
            "Rounds to a tenth of the gap: about {}, with a server {}, everybody for itself {}".format(
                *rounds
            )
            + where,
        ]


def noise_at_worst(network: Network, sigma: Any) -> float:
    """The deviation of what neighbours deal the agent that gets most: two directed draws on each of its links."""
    at_agent, variance = np.zeros(network.n), 2 * np.square(np.asarray(sigma, dtype=float))
    np.add.at(at_agent, network.links, np.broadcast_to(variance, len(network.links))[:, None])
    return float(np.sqrt(at_agent.max()))


def price_of(network: Network, sigma: Any, own: float, found: Certificate, *, moved: float | None) -> Price:
    """The price of noise with which a certificate holds, for records, or for what is `moved`, of a norm."""
    n = network.n
    if moved is not None:  # a server would publish the sum as it is: nothing moves there
        central, local = 0.0, math.sqrt(2 * n) * moved / found.mu
    else:  # of one look, as κ is: a server composes as many
        assert found.kappa is not None
        central = 1 / math.sqrt(found.kappa)
        local = math.sqrt(n) * central
    return Price(own * math.sqrt(n), central, local, noise_at_worst(network, sigma), 1 - network.lam)


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
    independent: float
    """τ: of independent noise."""
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
        own = f", and τ = {self.independent:.6g} of each agent by itself" if self.independent else ""
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
            f"{one.network.name} would take σ = {one.sigma:.4g}"
            + (f" and τ = {one.independent:.4g}" if one.independent else "")
            + f" on {counted(len(one.network.links), 'link')}"
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
            **plain_values(self, "independent", "clip"),
            "price": dataclasses.asdict(self.price) | {"over_central": self.price.over_central},
            "considered": [
                {"topology": one.network.name, **plain_values(one, "sigma", "independent")}
                for one in self.considered
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
    neighbouring: Neighbouring | None = None,
    clip: float | None = None,
    slack: float = SLACK,
    per_link: bool | Literal["auto"] = False,
    **plain: Any,
) -> CertificatePlan:
    """The least noise with which an algorithm is (ε, δ)-private against any so many colluders, and its price.
    Ask it before a plan is drawn up; `hocket peer plan --epsilon` does.

    With `transfer=S` what moves between members is protected: noise between neighbours alone does it, and the sum has
    none. With `sensitivity=S` it is one record replaced, which changes what its member contributes by at most S; this
    takes independent noise of each member too. With `clip=C` it is all that a member does in a round, clipped to C,
    whose sensitivity is 2 C. More noise between neighbours lets independent noise be less, down to √(n/(n−f)) of a
    trusted server's on the sum: as much is taken as brings it within `slack` of that.

    Of several `networks` the one is chosen that costs fewest rounds, by the noise at an agent over how fast messages
    mix. `per_link` chooses σ for each link apart; `"auto"` does where equal noise would take a twentieth more variance,
    and finding out takes seconds. Noise in every round needs `rounds`. With a `rate` records take part in rounds by
    secret coins, and less noise does. `plain` are fields of `neighbouring`, and `rounds` and `runs`.

    >>> ring = Network.cycle(5)
    >>> found = plan_certificate(ring, "function-sharing", epsilon=1.0, delta=1e-5, colluders=1, sensitivity=1.0)
    >>> round(found.certificate.epsilon(1e-5), 6), round(found.price.over_central, 3)
    (1.0, 1.174)
    """
    asked = Question.of("plan_certificate", TAKEN, plain, neighbouring=neighbouring)
    wanted = _Wanted(algorithm, epsilon, delta, colluders, asked.neighbouring, asked.horizon, clip, slack)
    several = [networks] if isinstance(networks, Network) else list(networks)
    if not several:
        raise BadInput("there is no network to choose; give one, or several to choose from")
    plans, errors = [], []
    for network in several:
        try:
            plans.append(wanted.on(network, per_link))
        except BadInput as error:
            errors.append((network.name, error))
    if not plans:
        reasons = [f"{name}: {error}" for name, error in errors]
        raise BadInput("\n".join(reasons) if len(reasons) > 1 else str(errors[0][1]))
    plans.sort(key=lambda one: (round(one.price.slowed, 9), len(one.network.links)))
    return dataclasses.replace(plans[0], considered=tuple(plans[1:]))


@dataclass(frozen=True)
class _Wanted:
    """What is wanted, on whatever network."""

    algorithm: str
    epsilon: float
    delta: float
    colluders: int
    neighbouring: Neighbouring
    horizon: Horizon
    clip: float | None
    slack: float

    def __post_init__(self) -> None:
        named = self.neighbouring.named
        if len(named) + (self.clip is not None) != 1:
            raise BadInput(
                "say how large a change is that is to be hidden, in one way: transfer= for what moves between members, "
                "sensitivity= for a record, clip= for a member, what a step's displacement is clipped to"
            )
        if not self.slack > 0:
            raise BadInput(
                f"slack = {self.slack!r}; independent noise comes as near as you like to its least, never to it"
            )
        if not self.goal > 0 or not math.isfinite(self.goal):
            raise BadInput(
                f"epsilon = {self.epsilon!r} and delta = {self.delta!r} are no goal: give both above zero, δ "
                "below 1"
            )
        if not (self.size > 0 and math.isfinite(self.size)):
            raise BadInput(f"{(*named, 'clip')[0]} = {self.size!r}; give a finite number above zero")

    @property
    def rate(self) -> float:
        return self.neighbouring.rate

    @property
    def protect(self) -> Protect:
        if self.clip is not None:
            return "member"
        return "record" if self.neighbouring.transfer is None else "transfer"

    @property
    def goal(self) -> float:
        """μ of what is wanted."""
        if self.rate == 1:
            return gdp.mu(self.epsilon, self.delta)
        rounds = (self.horizon.rounds or 1) * self.horizon.runs
        return math.sqrt(rounds) * sampling.mu_of_round(self.epsilon, self.delta, self.rate, rounds)

    @property
    def size(self) -> float:
        """S: what is hidden, in norm; a displacement of norm C may turn into one of the opposite direction."""
        if self.clip is not None:
            return 2 * self.clip
        one = self.neighbouring.transfer
        return float(self.neighbouring.sensitivity if one is None else one)  # type: ignore[arg-type]

    def certificate(self, network: Network, sigma: Any, independent: float) -> Certificate:
        moved = self.size if self.protect == "transfer" else None
        return certify(
            network,
            self.algorithm,
            adversary=Adversary(self.colluders),
            noise=NoiseSpec(sigma, independent),
            horizon=self.horizon,
            neighbouring=Neighbouring(
                transfer=moved, sensitivity=self.size if moved is None else None, rate=self.rate
            ),
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
            edges = self.by_link(network, unit, ratio, scale, per_link, own)
        by_link = sigma if edges is None else edges.sigma
        found = self.certificate(network, by_link, own)
        moved = self.size if self.protect == "transfer" else None
        return CertificatePlan(
            certificate=found,
            network=network,
            protect=self.protect,
            epsilon=self.epsilon,
            delta=self.delta,
            sensitivity=self.size,
            sigma=float(np.max(by_link)),
            independent=own,
            clip=self.clip,
            price=price_of(network, by_link, own, found, moved=moved),
            edges=edges,
        )

    def ratio(self, network: Network) -> float:
        """The least σ/τ that leaves independent noise within the slack of what it is at least."""
        least = self.certificate(network, ENDLESS, 1.0)
        if not least.holds:
            raise BadInput(least.reason)
        low, high = 1e-3, ENDLESS
        while high / low > 1 + 1e-6:
            middle = math.sqrt(low * high)
            enough = self.certificate(network, middle, 1.0).mu <= (1 + self.slack) * least.mu
            low, high = (low, middle) if enough else (middle, high)
        return high

    def by_link(
        self,
        network: Network,
        unit: Certificate,
        ratio: float,
        scale: float,
        per_link: bool | Literal["auto"],
        own: float,
    ) -> EdgeNoise | None:
        """σ for each link, that keeps the same μ with least variance altogether. Of "auto", None unless it saves enough
        and is certified: a bound over all coalitions takes the least of links."""
        try:
            if self.protect == "transfer":
                found = optimise_links(network, self.colluders, limit=1.0)
                edges = found.scaled(2 * (ratio * scale) ** 2 / found.equal)
            else:
                assert unit.kappa is not None
                found = optimise_links(network, self.colluders, limit=unit.kappa, protect="record", own=1.0)
                edges = found.scaled(scale**2 * (1 + 1e-9))
        except BadInput:
            if (
                per_link == "auto"
            ):  # where noise on links does not help, none of it is better than equal noise
                return None
            raise
        if per_link != "auto":
            return edges
        mu = self.certificate(network, edges.sigma, own).mu
        return edges if edges.gain >= WORTH and mu <= self.goal * (1 + 1e-9) else None


def rounded_up(value: float) -> float:
    """A deviation to seven digits, never less than it must be."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 6)
    return float(f"{math.ceil(value / unit * (1 + 1e-9)) * unit:.7g}")
