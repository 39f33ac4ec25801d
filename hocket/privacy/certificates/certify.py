"""`hk.certify`: a number that holds, for a coalition by name or any of a size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from threadpoolctl import threadpool_limits

from hocket.algorithm import Algorithm
from hocket.errors import BadInput
from hocket.networks.network import Network, network_asked
from hocket.noise.mechanism import Mechanism
from hocket.privacy.certificates.certificate import Certificate, against_words
from hocket.privacy.certificates.conditions import Circumstances, assumptions
from hocket.privacy.certificates.linearised import by_linearisation
from hocket.privacy.certificates.looks import Look, looks_at_gradients, looks_at_objectives
from hocket.privacy.certificates.magnitudes import check_magnitudes
from hocket.privacy.certificates.protected import Cost, Protected, Record, Shift, Transfer
from hocket.privacy.certificates.question import (
    adversary_of,
    check_dimension,
    check_types,
    class_of,
    dimension_of,
    known_agents,
    protected_of,
    weighed,
)
from hocket.privacy.certificates.refusals import Asked, by_theorem
from hocket.privacy.certificates.sampling import check_rate
from hocket.privacy.certificates.source import Source, source_of, whole
from hocket.privacy.certificates.worst import Worst, named, worst
from hocket.privacy.estimate.leakage import one_of
from hocket.privacy.estimate.recursion import Release
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.steps import Number, Step, as_step

By = Literal["theorem", "linearisation"]
"""Closed forms, where an algorithm says what its noise is; or the general accountant, where words are affine."""


MOST_AGENTS = 2_000
"""Of a network: its inverses take a minute, and grow with the third power."""


def certify(
    network: Network,
    algorithm: str | Algorithm,
    *,
    coalition: Iterable[int] | None = None,
    colluders: int | None = None,
    sigma: float | Iterable[float] | None = None,
    own: float = 0.0,
    anchor_sigma: float | Iterable[float] = 0.0,
    move: tuple[int, int, Any] | None = None,
    shift: Mapping[int, Any] | None = None,
    transfer: float | None = None,
    sensitivity: float | None = None,
    records: int | Mapping[int, int] = 1,
    step: Step | Number | None = None,
    rounds: int | None = None,
    runs: int = 1,
    kept: bool = False,
    leavers: Iterable[int] = (),
    release: Release = "nothing",
    linear: bool = True,
    batches: bool = False,
    rate: float = 1.0,
    problem: Problem | None = None,
    objectives: ObjectiveClass | str | None = None,
    dim: int | None = None,
    on_grid: bool = False,
    by: By = "theorem",
    every: int = 1,
    search: bool | None = None,
) -> Certificate:
    """Differential privacy with a number: how well insiders can tell two worlds apart, whatever they compute.
    Ask it before a run, to sign it; infinity is an answer too, and comes with its reason.

    The adversary is a `coalition` by name or any of so many `colluders` (0: whoever hears all words), and hears all
    words in any case; `leavers` are counted among it. What is hidden is one of: `move`, coefficients c taken from agent
    i and given to j; `shift`, a row of coefficients per agent; `transfer`, coefficients of a norm moved between any
    two; `sensitivity`, one record replaced (or so many `records`, or by agent) that changes what its agent contributes
    by no more than a norm S.

    `algorithm` is a key, with `sigma` the deviation of one directed draw (a number, or one for each of `net.links`),
    `own` that of noise of an agent's own, `anchor_sigma` that of pairwise noise kept over rounds; or the algorithm
    itself, with `problem` or `dim`, which knows its noise, and perhaps its sensitivity. Noise on gradients needs
    `rounds`; it is scaled by α_k if a `step` is given with a key, else by α_{k−1}. With several `runs` on the same data
    noise is fresh in each unless it is `kept`. `objectives` is the class that all objectives are declared to be of,
    "polynomial:2" or "any", where there is no `problem` to read it off: what may change must lie in the span of the
    noise, or nothing is promised. `release` is what is published; `linear` says that what moves is linear;
    `batches` that a step looks at some records only, and `rate` how likely each is to take part in one, by a secret
    coin of its own (then ε is smaller, by Theorem S); `on_grid` that what is hidden counts what rounding to the
    algorithm's grid adds to it, without which no certificate is called exact. `by="linearisation"` asks the general
    accountant, for any algorithm whose words are affine, where a record takes part in one round of `every` so many.
    `search` says whether all coalitions of a size are computed or none is, and a bound taken; by default whichever
    takes seconds.

    >>> from hocket import Network
    >>> found = certify(Network.cycle(5), "function-sharing", coalition={0}, sigma=2.0, move=(1, 4, [.6, -.8]))
    >>> round(found.mu, 6), round(found.epsilon(1e-5), 5)
    (0.612372, 2.50174)
    >>> certify(Network.cycle(5), "function-sharing", coalition={0, 2}, sigma=2.0, transfer=1.0).reason
    'the sum over {1} changes, and coalition {0, 2} learns that sum exactly: pairwise noise cancels over honest agents \
that hang together'
    """
    network = network_asked(network)
    network.both_ways("a certificate")
    check_types(
        algorithm,
        coalition=coalition,
        leavers=leavers,
        sigma=sigma,
        own=own,
        anchor_sigma=anchor_sigma,
        move=move,
        shift=shift,
        kept=kept,
        linear=linear,
        batches=batches,
        on_grid=on_grid,
        search=search,
        release=release,
        by=by,
        rate=rate,
        problem=problem,
        objectives=objectives,
        dim=dim,
    )
    if network.n > MOST_AGENTS:
        raise BadInput(f"certificates are worked out for {MOST_AGENTS:,} agents at most, not {network.n:,}")
    if problem is not None and problem.n != network.n:
        raise BadInput(
            f"the problem has {problem.n} agents, and {network.name} has {network.n}; pass its own network"
        )
    runs, every = whole("runs", runs), whole("every", every)
    dim = dimension_of(algorithm, move, shift, dim if problem is None else problem.dim)
    gone = known_agents(leavers, network.n)
    members, f = adversary_of(network, coalition, colluders, gone)
    found = source_of(
        network,
        algorithm,
        sigma=sigma,
        own=own,
        anchor_sigma=anchor_sigma,
        step=None if step is None else as_step(step),
        rounds=rounds,
        dim=dim,
    )
    check_dimension(found, dim)
    protected = weighed(
        protected_of(network, found, move, shift, transfer, sensitivity, records), found.algorithm, dim
    )
    check_magnitudes(found.mechanism, protected)
    exposed = sorted(gone & set(protected.agents))
    if exposed:
        raise BadInput(
            f"agent {exposed[0]} has left, and what a leaver had counts as known; change what those who stay have"
        )
    one = isinstance(protected, Record) and protected.held == 1 and by == "theorem"
    if check_rate(rate) < 1 and (not one or network.period > 1):
        raise BadInput(
            f"rate = {rate:g}: secret coins are accounted for where one record is replaced, on links that stay, by "
            "theorem; leave rate= out, which is safe"
        )
    honest = network.n - (f + len(gone) if members is None else len(members))
    if isinstance(protected, Transfer) and honest < 2:
        raise BadInput("what moves needs two honest agents, and fewer are left; plan for fewer colluders")
    about = Circumstances(
        release=one_of("release", release, Release),
        linear=linear,
        batches=batches or rate < 1,
        rate=float(rate),
        runs=runs,
        kept=kept,
        problem=problem,
        algorithm=algorithm if isinstance(algorithm, Algorithm) else None,
        setting=found.setting,
        step=found.step,
        dim=dim or 1,
        said_dim=dim,
        objectives=class_of(problem, objectives),
        rounded=on_grid or (isinstance(protected, Record) and sensitivity is None),
    )
    with threadpool_limits(1, user_api="blas"):  # many small factorisations
        if one_of("by", by, By) == "linearisation":
            return by_linearisation(network, found, protected, members, f, gone, about, every=every)
        return _by_theorem(network, found, protected, members, f, gone, about, search)


def _by_theorem(
    network: Network,
    source: Source,
    protected: Protected,
    members: frozenset[int] | None,
    f: int,
    gone: frozenset[int],
    about: Circumstances,
    search: bool | None,
) -> Certificate:
    mechanism, lasting = source.mechanism, source.rounds
    if isinstance(mechanism, str):
        reasons, theorem, said, looks = (mechanism,), "none", (), ()
    else:
        reasons = by_theorem(Asked(source.algorithm, mechanism, protected, about))
        said = () if reasons else assumptions(mechanism, protected, about)
        theorem, looks = _theorem(mechanism, protected), _looks(network, source, mechanism, protected, about)
        lasting = None if mechanism.on == "objective" else source.rounds
    if reasons or isinstance(mechanism, str):
        everyone = None if members is None else tuple(sorted(members))
        result = Worst(Cost(math.inf, protected.agents, "; ".join(reasons)), everyone, "no search was needed")
    elif members is not None:
        result = named(protected, looks, members)
    else:
        result = worst(protected, looks, f, gone=gone, search=search)
    cost, kappa = result.cost, _kappa(protected, looks, result)
    return Certificate(
        mu=math.sqrt(cost.squared),
        algorithm=source.title,
        topology=network.name,
        theorem=theorem if about.rate == 1 else f"{theorem} with S",
        protected=f"a linear function: {protected.words}" if theorem == "B0" else protected.words,
        against=against_words(members, f, gone),
        coalition=result.coalition,
        agent=cost.agents[0] if len(cost.agents) == 1 else cost.agents or None,
        kappa=kappa,
        per_round=_per_round(protected, looks, kappa, lasting),
        rounds=lasting,
        runs=about.runs,
        searched=result.searched,
        arithmetic="exact"
        if isinstance(mechanism, Mechanism) and mechanism.exact and about.rounded
        else "real-arithmetic model",
        assumptions=said,
        reason=cost.reason,
        rate=about.rate,
    )


def _looks(
    network: Network, source: Source, mechanism: Mechanism, protected: Protected, about: Circumstances
) -> tuple[Look, ...]:
    if mechanism.on == "objective":
        return looks_at_objectives(network, mechanism, runs=about.runs, kept=about.kept)
    if source.rounds is None:
        raise BadInput("noise on gradients is heard through in every round; say how many: rounds=")
    return looks_at_gradients(
        network,
        mechanism,
        step=source.step,
        rounds=source.rounds,
        runs=about.runs,
        kept=about.kept,
        constant=protected.constant,
    )


def _theorem(mechanism: Mechanism, protected: Protected) -> str:
    if mechanism.on == "objective":
        return "A2" if mechanism.own_sd or isinstance(protected, Record) else "A1"
    return "B1" if isinstance(protected, Record) else "B0"


def _kappa(protected: Protected, looks: tuple[Look, ...], found: Worst) -> float | None:
    """κ of the worst agent in a single round, where links do not vary: what noise there is beside central noise."""
    if not isinstance(protected, Record) or not isinstance(protected.held, int) or len(looks) != 1:
        return None
    (look,) = looks
    unit = (
        found.cost.squared / (protected.size * protected.held) ** 2 / look.times
        if protected.size
        else math.inf
    )
    return unit * look.share


def _per_round(
    protected: Protected, looks: tuple[Look, ...], kappa: float | None, rounds: int | None
) -> float | None:
    """μ of the round that tells most, where noise is drawn in every round."""
    if kappa is None or rounds is None or not isinstance(protected, Record):
        return None
    assert isinstance(protected.held, int)
    return protected.size * protected.held * math.sqrt(kappa * looks[0].peak)


__all__ = ["By", "Shift", "certify"]
