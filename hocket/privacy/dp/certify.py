"""`hk.certify`: a number that holds, for a coalition by name or any of a size."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from threadpoolctl import threadpool_limits

from hocket.algorithm import Algorithm
from hocket.algorithms.function_sharing import functions_of
from hocket.claims import foreign, mechanism
from hocket.errors import BadInput
from hocket.networks.network import Network, network_asked
from hocket.noise.mechanism import Mechanism
from hocket.privacy.dp.certificate import Certificate, against_words
from hocket.privacy.dp.conditions import Asked, assumptions, by_theorem
from hocket.privacy.dp.linearised import by_linearisation
from hocket.privacy.dp.looks import Look, looks_at_gradients, looks_at_objectives
from hocket.privacy.dp.protected import Cost, Protected, Record, Transfer, protected_of
from hocket.privacy.dp.reasons import Refusal
from hocket.privacy.dp.source import Source, source_of
from hocket.privacy.dp.worst import WorstCost, named, worst
from hocket.privacy.questions import Adversary, Horizon, Neighbouring, NoiseSpec, Question, one_of
from hocket.privacy.wording import Said, counted

By = Literal["theorem", "search", "bound", "linearisation"]
"""Closed forms, where an algorithm says what its noise is, with all coalitions of a size computed (search), none
(bound) or as many as take seconds; or the general accountant, where messages are affine."""
MOST_AGENTS = 2_000
"""Of a network: its inverses take a minute, and grow with the third power."""
TAKEN = frozenset(
    [
        "colluders",
        "coalition",
        "leavers",
        "release",
        "sigma",
        "independent",
        "persistent",
        "rounds",
        "step",
        "runs",
        "kept",
        "move",
        "shift",
        "transfer",
        "sensitivity",
        "records",
        "rate",
        "every",
        "on_grid",
        "form",
        "problem",
        "dim",
        "batches",
    ]
)
"""Fields of a question that a certificate has a use for."""


def certify(
    network: Network,
    algorithm: str | Algorithm,
    *,
    adversary: Adversary | None = None,
    noise: NoiseSpec | None = None,
    horizon: Horizon | None = None,
    neighbouring: Neighbouring | None = None,
    objectives: Any = None,
    by: By = "theorem",
    **plain: Any,
) -> Certificate:
    """Differential privacy with a number: how well insiders can tell neighbouring inputs apart, whatever they compute.
    Ask it before a run, to sign it; infinity is an answer too, and comes with its reason.

    The `adversary` receives all messages, no matter who colludes. `algorithm` is a key, with its `noise`; or the
    algorithm itself, with `problem` or `dim`, which knows its noise, and perhaps its sensitivity. Noise on gradients
    needs `rounds`; it is scaled by α_{k−1}, as the gradient is that it hides. `objectives` is the class that all
    objectives are declared to be of, "polynomial:2" or "any", where there is no `problem` to read it off: what may
    change must lie in the span of the noise, or nothing is promised. With a `rate` records take part in rounds by
    secret coins, and ε is smaller, by Theorem S; without `on_grid` no certificate is called exact. `by="linearisation"`
    asks the general accountant, for any algorithm whose messages are affine. `plain` are fields of the other arguments
    by their own names.

    >>> from hocket import Network
    >>> found = certify(Network.cycle(5), "function-sharing", coalition={0}, sigma=2.0, move=(1, 4, [.6, -.8]))
    >>> round(found.mu, 6), round(found.epsilon(1e-5), 5)
    (0.612372, 2.50174)
    >>> certify(Network.cycle(5), "function-sharing", coalition={0, 2}, sigma=2.0, transfer=1.0).reason
    'the sum over {1} changes, and coalition {0, 2} learns that sum exactly: pairwise noise cancels over connected \
honest agents'
    """
    network = network_asked(network)
    network.both_ways("a certificate")
    if not isinstance(algorithm, str | Algorithm):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"algorithm = {repr(algorithm)[:60]}; give a key, such as 'rss-nb', or an algorithm")
    parts = {"adversary": adversary, "noise": noise, "horizon": horizon, "neighbouring": neighbouring}
    question = Question.of("certify", TAKEN, plain, objectives=objectives, **parts)
    problem = question.objectives.problem
    if network.n > MOST_AGENTS:
        raise BadInput(f"certificates are worked out for {MOST_AGENTS:,} agents at most, not {network.n:,}")
    if problem is not None and problem.n != network.n:
        raise BadInput(
            f"the problem has {problem.n} agents, and {network.name} has {network.n}; pass its own network"
        )
    dim = _dimension(algorithm, question, by)
    question = replace(question, objectives=replace(question.objectives, dim=dim))
    gone = question.adversary.gone(network)
    members, f = question.adversary.members(network)
    source = _source(network, algorithm, question)
    protected = protected_of(network, source.algorithm, source.mechanism, question.neighbouring, dim)
    asked = Asked(question, algorithm, source, protected)
    _check_possible(network, asked, gone, f if members is None else len(members) - len(gone), by)
    _ = asked.objectives  # a declared class that does not hold the problem's is refused here
    with threadpool_limits(1, user_api="blas"):  # many small factorisations
        if one_of("by", by, get_args(By)) == "linearisation":
            return by_linearisation(network, asked, members, f, gone)
        return _by_theorem(network, asked, members, f, gone, {"search": True, "bound": False}.get(by))


def _dimension(algorithm: str | Algorithm, question: Question, by: By) -> int | None:
    """How many coordinates a state has: as was said, or as many as what moves between gradients."""
    known, asked = question.objectives, question.neighbouring
    dim = known.dim if known.problem is None else known.problem.dim
    given = next(iter(asked.shift.values())) if asked.shift else asked.move[2] if asked.move else None
    if given is None or isinstance(algorithm, str) or functions_of(algorithm) is not None:
        return dim
    if by != "linearisation" and foreign(algorithm):  # which is refused by its name
        return dim
    width = int(np.size(given))
    if dim is not None and dim != width:
        raise BadInput(
            f"dim = {dim}, and what moves has {counted(width, 'coefficient')}; a slope has one per coordinate"
        )
    return width


def _source(network: Network, algorithm: str | Algorithm, question: Question) -> Source:
    """The noise of the algorithm, which by a bound is dealt over all coordinates: how many there are must be said."""
    noise, horizon, dim = question.noise, question.horizon, question.objectives.dim
    source = source_of(
        network,
        algorithm,
        sigma=noise.sigma,
        own=noise.independent,
        persistent_sigma=noise.persistent,
        step=horizon.steps,
        rounds=horizon.rounds,
        dim=dim,
    )
    if dim is None and isinstance(source.algorithm, Algorithm) and source.setting is not None:
        one, two = (mechanism(source.algorithm, replace(source.setting, dim=some)) for some in (1, 2))
        if (
            isinstance(one, Mechanism)
            and isinstance(two, Mechanism)
            and not np.array_equal(one.link_sd, two.link_sd)
        ):
            raise BadInput(
                f"noise of {source.title} is dealt over all coordinates; say how many there are: dim="
            )
    return source


def _check_possible(network: Network, asked: Asked, gone: frozenset[int], colluders: int, by: By) -> None:
    protected = asked.protected
    exposed = sorted(gone & set(protected.agents))
    if exposed:
        raise BadInput(
            f"agent {exposed[0]} has left, and what a leaver had counts as known; change what those who stay have"
        )
    one = isinstance(protected, Record) and protected.held == 1 and by != "linearisation"
    if asked.rate < 1 and (not one or network.period > 1):
        raise BadInput(
            f"rate = {asked.rate:g}: secret coins are accounted for where one record is replaced, on links that stay, "
            "by theorem; leave rate= out, which is safe"
        )
    if isinstance(protected, Transfer) and network.n - colluders - len(gone) < 2:
        raise BadInput("what moves needs two honest agents, and fewer are left; plan for fewer colluders")


def _by_theorem(
    network: Network,
    asked: Asked,
    members: frozenset[int] | None,
    f: int,
    gone: frozenset[int],
    search: bool | None,
) -> Certificate:
    source, protected, mechanism = asked.source, asked.protected, asked.mechanism
    if mechanism is None:
        reasons: tuple[Said, ...] = (Said(Refusal.STATED, why=source.mechanism),)
        theorem, looks, lasting = "none", (), source.rounds
    else:
        reasons, looks = by_theorem(asked), _looks(network, asked, mechanism)
        theorem, lasting = _theorem(asked, mechanism), None if asked.on_objective else source.rounds
    if reasons:
        everyone = None if members is None else tuple(sorted(members))
        result = WorstCost(Cost(math.inf, protected.agents, reasons), everyone, "no search was needed")
    elif members is not None:
        result = named(protected, looks, members)
    else:
        result = worst(protected, looks, f, gone=gone, search=search)
    exact = mechanism is not None and mechanism.exact and asked.rounded
    found = certificate_of(
        network,
        asked,
        result,
        theorem=theorem if asked.rate == 1 else f"{theorem} with S",
        against=against_words(members, f, gone),
        rounds=lasting,
        arithmetic="exact" if exact else "real-arithmetic model",
        assumptions=() if reasons else assumptions(asked),
    )
    kappa = _kappa(protected, looks, result)
    return replace(found, kappa=kappa, per_round=_per_round(protected, looks, kappa, lasting))


def certificate_of(
    network: Network, asked: Asked, result: WorstCost, *, theorem: str, **about: Any
) -> Certificate:
    """What all certificates are made of."""
    cost, protected = result.cost, asked.protected
    return Certificate(
        mu=math.sqrt(cost.squared),
        algorithm=asked.source.title,
        topology=network.name,
        theorem=theorem,
        protected=f"a linear function: {protected.words}" if theorem == "B0" else protected.words,
        of_records=isinstance(protected, Record),
        coalition=result.coalition,
        agent=cost.agents[0] if len(cost.agents) == 1 else cost.agents or None,
        kappa=None,
        per_round=None,
        runs=asked.question.horizon.runs,
        searched=result.searched,
        reasons=cost.reasons,
        rate=asked.rate,
        **about,
    )


def _looks(network: Network, asked: Asked, mechanism: Mechanism) -> tuple[Look, ...]:
    runs, kept = asked.question.horizon.runs, asked.kept
    if asked.on_objective:
        return looks_at_objectives(network, mechanism, runs=runs, kept=kept)
    if asked.source.rounds is None:
        raise BadInput("noise on gradients is in messages of every round; say how many: rounds=")
    return looks_at_gradients(
        network,
        mechanism,
        rounds=asked.source.rounds,
        runs=runs,
        kept=kept,
        constant=asked.protected.constant,
    )


def _theorem(asked: Asked, mechanism: Mechanism) -> str:
    if asked.on_objective:
        return "A2" if mechanism.own_sd or asked.of_records else "A1"
    return "B1" if asked.of_records else "B0"


def _kappa(protected: Protected, looks: tuple[Look, ...], found: WorstCost) -> float | None:
    """κ of the worst agent in a single round, where links do not vary: what noise there is beside central noise."""
    if not isinstance(protected, Record) or not isinstance(protected.held, int) or len(looks) != 1:
        return None
    (look,), size = looks, protected.size * protected.held
    return (found.cost.squared / size**2 / look.times if protected.size else math.inf) * look.share


def _per_round(
    protected: Protected, looks: tuple[Look, ...], kappa: float | None, rounds: int | None
) -> float | None:
    """μ of the round that tells most, where noise is drawn in every round."""
    if kappa is None or rounds is None or not isinstance(protected, Record):
        return None
    assert isinstance(protected.held, int)
    return protected.size * protected.held * math.sqrt(kappa)
