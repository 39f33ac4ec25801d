"""What bounded draws hide from every estimator, linear or not: less than normal draws of the same variance do.

A linear estimate sees variances only. Uniform draws have edges, and anybody who knows the law reads more from a draw
near its edge: after K rounds of uniform noise the middle of the extremes is off by 1/K, where the mean is off by 1/√K.
So a number that nobody gets below takes more than variances.

**Bound.** Unknowns ξ with independent smooth densities of Fisher information J are seen through y = Hξ, exactly. For
every direction h with Hh = 0 and every estimate t(y) of aᵀξ, partial integration gives E[(aᵀξ − t(y)) hᵀ∇log p(ξ)] =
−aᵀh, hence E(aᵀξ − t)² ≥ (aᵀh)² / hᵀJh. The best h gives the posterior variance of a normal ξ with covariance J⁻¹: the
estimate for normal noise, each draw with variance 1/J in place of its own (van Trees).

**Edges.** A uniform draw, or a sum of some, has infinite J, because its density falls to zero too fast. But its
density is q f + (1 − q) r with f smooth at the edges and a little mass 1 − q cut off. Who is told, draw by draw, which
of the two it comes from knows more; and with probability q^M all M draws come from f. So the bound holds with variance
q^M / J_f.
Near an edge the densities of differences of uniforms, and of balanced draws, fall like the length ℓ of a chord; f has
ℓ²/c in its place for ℓ < c, which gives J_f ∝ 4 + log(1/c) and cuts off a mass ∝ c².

A draw that is kept is left as it is: it enters as an offset of the gradient, of which a view says nothing more. Where
it is drawn anew in every run on the same data, several runs are averaged as rounds are, and it counts as they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hocket.noise.draws import Balanced, Draw, Own, Paired

LEFT = 0.9
"""q^M: the chance that no draw of a whole run comes from an edge. A smaller one buys no better a bound."""


def has_edges(draw: Draw, *, kept: bool = True) -> bool:
    """Whether what it draws again and again is bounded, so that variances do not tell all; `kept` says whether what is
    drawn once is drawn once for all runs."""
    again = not (draw.once and kept)
    return again and (isinstance(draw, Own | Balanced) or (isinstance(draw, Paired) and not draw.normal))


def as_normal(draws: Mapping[str, Draw], counts: Mapping[str, int]) -> Mapping[str, Draw]:
    """The same draws, those with edges as small as normal ones that hide no more; `counts` says by name how many
    numbers each of these draws per coordinate, over all rounds."""
    if not counts:
        return draws
    cut = 1 - LEFT ** (1 / sum(counts.values()))
    return {name: _shrunk(draw, cut) if name in counts else draw for name, draw in draws.items()}


def _shrunk(draw: Draw, cut: float) -> Draw:
    if isinstance(draw, Paired):
        return replace(draw, scale=np.sqrt(of_difference(cut)) * draw.scale)
    if isinstance(draw, Balanced):
        return replace(draw, gamma=np.sqrt(of_balance(np.asarray(draw.towards), cut)) * draw.gamma)
    assert isinstance(draw, Own)
    return replace(draw, bound=np.asarray(np.sqrt(of_uniform(cut)) * draw.bound))


def of_uniform(cut: float) -> float:
    """The part of its variance that counts, of one uniform draw: on [−1, 1] ramps of width c cut 2c/3 off, and then
    J = 4/c."""
    c = min(1.5 * cut, 1.0)
    return LEFT * 3 * (1 - cut) * c / 4


def of_difference(cut: float) -> float:
    """Of a difference of two, on [−1, 1]: p = 1 − |x|, of variance 1/6, from which c²/3 is cut off."""
    c = min(np.sqrt(3 * cut), 1.0)
    return float(LEFT * 6 * (1 - cut) / (2 * (4 - np.log(c))))


def of_balance(towards: np.ndarray, cut: float) -> np.ndarray:
    """Of draws u that lose their part along the weights b, by phase and agent: Pu, of variance 1/3 in all directions.

    Its density at z is ∝ ℓ(z), the length of the chord of the cube along b. A chord from face l to another face i has
    ∇ℓ = e_l/b_l − e_i/b_i, and such chords of length ℓ take up b_i b_l 2^{m−2} dℓ at most. Summed over faces, J is at
    most ½ (4 + log(ℓ_max/c)) P (diag(Σb/b) − 11ᵀ) P, with ℓ_max = 2 / max b; and c² ((Σb)² − |b|²) / 24 is cut off.
    """
    part = np.ones(towards.shape[:2])
    for place in np.ndindex(*part.shape):
        b = towards[place][towards[place] > 0]
        if len(b) < 2:
            continue  # nothing is drawn
        beside = np.eye(len(b)) - np.outer(b, b) / (b @ b)
        spread = np.linalg.eigvalsh(beside @ (np.diag(b.sum() / b) - 1.0) @ beside).max()
        longest = 2 / b.max()
        c = min(np.sqrt(24 * cut / (b.sum() ** 2 - b @ b)), longest)
        part[place] = LEFT * 6 * (1 - cut) / (spread * (4 + np.log(longest / c)))
    return np.minimum(part, 1.0)
