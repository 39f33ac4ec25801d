"""Every algorithm, one row each: a row enrols it in every law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from hypothesis import strategies as st

import hocket as hk


@dataclass(frozen=True)
class Row:
    """An algorithm and what the laws may expect of it."""

    name: str
    build: Callable[[float], hk.Algorithm]
    """The algorithm at a noise level."""
    cancels: bool = True
    """Whether its noise sums to zero over the network."""
    noisy: bool = True
    """Whether it is plain DGD once its noise is switched off."""
    decentralised: bool = True
    printed: bool = True
    """Whether it is as the paper has it, so that its theorems are about it."""
    rational: bool = True
    """Whether it can be carried out on fractions: no waves, and no lengths."""
    says: bool = True
    """Whether agents say words that stand for x; else all that is shown are sums."""
    plain: bool = True
    """Whether a round is one word that stands for x: x itself, or x and noise."""
    compiled: bool = True
    """Whether compiled code draws its noise, so that a sweep can."""
    alike: bool = False
    """Whether a row beside it stands for its kind while one works: its laws run with the slow ones."""

    def __str__(self) -> str:
        return self.name


def private(level: float) -> hk.Algorithm:
    """A budget so large that noise and clipping leave the optimum alone; without noise, no budget at all."""
    return hk.PrivateDgd(1e12 / level, clip=1e3, releases=20_000) if level else hk.Dgd()


def on_grid(level: float) -> hk.Algorithm:
    """Cross terms on a grid so fine that rounding is below what laws allow for; without noise, plain."""
    grid = 2.0 ** (-44 if level <= 10 else -40) if level else None
    return hk.FunctionSharing(2, sd=level / 5, family="quadratic", grid=grid)


ROWS = [
    Row("dgd", lambda level: hk.Dgd(), noisy=False),
    Row("rss-nb", lambda level: hk.RssNb(level)),
    Row("rss-nb-paper", lambda level: hk.RssNb(level, split="paper"), alike=True),
    Row("rss-nb-anchored", lambda level: hk.RssNb(level, persistent=0.5)),
    Row(
        "rss-nb-gaussian",
        lambda level: hk.RssNb(level, persistent=0.5, distribution="gaussian"),
        alike=True,
    ),
    Row("certified", lambda level: hk.CertifiedRssNb(level / 20), noisy=False, printed=False),
    Row(
        "certified-own",
        lambda level: hk.CertifiedRssNb(level / 20, own=level / 50),
        cancels=False,
        noisy=False,
        printed=False,
        alike=True,
    ),
    Row(
        "certified-clipped",
        lambda level: hk.CertifiedRssNb(level / 20, own=level / 50, clip=100.0),
        cancels=False,
        noisy=False,
        rational=False,
    ),
    Row("rss-lb", lambda level: hk.RssLb(level)),
    Row("fs-polynomial", lambda level: hk.FunctionSharing(2, level)),
    Row("fs-gaussian", lambda level: hk.FunctionSharing(2, level, distribution="gaussian"), alike=True),
    Row("fs-quadratic", lambda level: hk.FunctionSharing(2, sd=level / 5, family="quadratic")),
    Row("fs-grid", on_grid, compiled=False),
    Row("fs-cosine", lambda level: hk.FunctionSharing(2, level / 5, family="cosine"), rational=False),
    Row(
        "fs-aug-dgm",
        lambda level: hk.FunctionSharing(2, level, inner=hk.AugDgm()),
        noisy=False,
        printed=False,
        plain=False,
    ),
    Row("aug-dgm", lambda level: hk.AugDgm(), noisy=False, plain=False),
    Row("gradient-tracking", lambda level: hk.GradientTracking(), noisy=False, plain=False, alike=True),
    Row("extra", lambda level: hk.Extra(), noisy=False, plain=False),
    Row("nids", lambda level: hk.Nids(), noisy=False, plain=False, alike=True),
    Row("exact-diffusion", lambda level: hk.ExactDiffusion(), noisy=False, plain=False, alike=True),
    Row("admm", lambda level: hk.Admm(), noisy=False, plain=False, alike=True),
    Row("accelerated-tracking", lambda level: hk.AcceleratedTracking(), noisy=False, plain=False),
    Row("local-tracking", lambda level: hk.LocalTracking(3), noisy=False, plain=False, alike=True),
    Row("choco-top-k", lambda level: hk.Choco(hk.TopK(1), gamma=0.5), noisy=False, plain=False),
    Row(
        "choco-random-k",
        lambda level: hk.Choco(hk.RandomK(0.5), gamma=0.5),
        noisy=False,
        plain=False,
        alike=True,
    ),
    Row("choco-quantised", lambda level: hk.Choco(hk.Quantised(4)), noisy=False, plain=False, alike=True),
    Row("push-sum", lambda level: hk.PushSum(), noisy=False, plain=False, alike=True),
    Row("push-diging", lambda level: hk.PushDiging(), noisy=False, plain=False),
    Row("safeguard", lambda level: hk.Safeguard(hk.AugDgm()), noisy=False, plain=False),
    Row("joint-average", lambda level: hk.JointAverage(), noisy=False, says=False),
    Row(
        "joint-average-own",
        lambda level: hk.JointAverage(own=level / 50, clip=100.0),
        cancels=False,
        noisy=False,
        says=False,
        rational=False,
    ),
    Row("independent", lambda level: hk.IndependentNoise(level / 10), cancels=False),
    Row("private-dgd", lambda level: private(level), cancels=False),
    Row("centralised", lambda level: hk.Centralised(), decentralised=False),
]
DECENTRALISED = [row for row in ROWS if row.decentralised]
SPEAKING = [row for row in DECENTRALISED if row.says and row.plain]
CANCELLING = [row for row in SPEAKING if row.cancels]
NOISY = [row for row in DECENTRALISED if row.noisy]


AGENTS = 6


def ring_with_chords(
    order: Sequence[int] = range(AGENTS),
    chords: tuple[tuple[int, int], tuple[int, int]] = ((0, 2), (0, 3)),
    weights: str = "paper",
) -> hk.Network:
    """A ring and two chords that share an end.

    Everybody has at least two neighbours. All have equally many agents, links and slots, so that one compiled
    program serves them all.
    """
    ring = [(i, (i + 1) % AGENTS) for i in range(AGENTS)]
    return hk.Network([(order[i], order[j]) for i, j in [*ring, *chords]], weights=weights)


@st.composite
def networks(draw: st.DrawFn) -> hk.Network:
    """A random connected graph: a ring with chords, numbered at random."""
    order = draw(st.permutations(range(AGENTS)))
    chords = draw(st.sampled_from([((0, 2), (0, 3)), ((0, 2), (2, 4)), ((0, 3), (3, 5))]))
    return ring_with_chords(order, chords, draw(st.sampled_from(["paper", "metropolis"])))


@lru_cache(maxsize=32)  # a problem keeps its optimum, which takes as long to find as a short run
def quadratics(n: int, dim: int, seed: int) -> hk.Problem:
    """Well-conditioned quadratics whose minimisers differ from agent to agent."""
    rng = np.random.default_rng(seed)
    curvature = rng.uniform(0.5, 1.5, size=(n, dim))
    centre = rng.uniform(-1, 1, size=(n, dim))
    coefficients = np.stack([curvature * centre**2, -2 * curvature * centre, curvature], axis=1)
    return hk.polynomials(coefficients, box=(-5, 5), dim=dim)
