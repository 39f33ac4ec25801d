"""What a patient listener believes: a Gaussian kept as a mean and a factor, sharpened by exact observations.

Words carry no measurement error: once heard, a combination of unknowns is known for good. A covariance matrix would
lose such certainties to rounding, so the posterior keeps a factor S with covariance S Sᵀ; seeing a combination removes
one direction from its columns, by QR.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float

RESOLUTION = 1e-11
"""Words are double precision numbers: what is smaller than this, relative to their terms, is not in them."""
WORK = 64
"""Numbers of working space per column that LAPACK is given."""
MANY = 200
"""Unknowns from which on sources that stir states alone are kept apart: among fewer, calls cost more than numbers."""
_lapack: Any = scipy.linalg.lapack


@dataclass(frozen=True)
class Posterior:
    """A Gaussian over several unknowns; `mean` has a column per coordinate, and coordinates are alike and apart."""

    mean: Float[np.ndarray, "unknowns coordinates"]
    factor: Float[np.ndarray, "unknowns sources"]

    @property
    def sd(self) -> Float[np.ndarray, " unknowns"]:
        """How uncertain each unknown is by itself."""
        return np.sqrt(np.add.reduce(self.factor * self.factor, axis=1))  # half the time of NumPy's norm

    def see(
        self,
        unknowns: int,
        *,
        values: Float[np.ndarray, "seen coordinates"] | None = None,
        largest: float,
        stirred: int = 0,
    ) -> Posterior:
        """The posterior about the first `unknowns` once all the others were seen, and turned out to be `values`.

        `largest` is the size of the terms that those seen are sums of: what is below RESOLUTION times that is
        rounding, not news. Of many unknowns, `stirred` says how many come first that fresh noise enters round by
        round; the others stay, and most sources need never be mixed with theirs.
        """
        is_large = stirred and unknowns >= MANY
        factor, shared = _apart(self.factor, stirred, unknowns) if is_large else (self.factor, 0)
        kept, seen = factor[:unknowns], factor[unknowns:]
        q, r, order = pivoted_qr(seen.T)
        rank = int(np.count_nonzero(np.abs(np.diagonal(r)) > RESOLUTION * largest))
        q, r = q[:, :rank], r[:rank, :rank]
        if is_large:
            kept, q = _turned(kept, q, shared, stirred)
        along = kept[:, : len(q)] @ q
        mean = self.mean[:unknowns]
        if values is not None:
            surprise = (values - self.mean[unknowns:])[order[:rank]]
            mean = mean + along @ scipy.linalg.solve_triangular(r, surprise, trans=1, check_finite=False)
        if not is_large:
            return Posterior(mean, compressed(kept - along @ q.T))
        kept[:, : len(q)] -= along @ q.T
        if len(q) > 2 * (unknowns - stirred):  # compressed so that what stays needs the fewest sources
            kept = np.roll(compressed(np.roll(kept, -stirred, axis=0)), stirred, axis=0)
        return Posterior(mean, kept)


def _apart(factor: np.ndarray, stirred: int, unknowns: int) -> tuple[np.ndarray, int]:
    """A factor of the same covariance: first the sources that enter what stays, then few that do not; and how many
    there are of the former."""
    enters = factor[stirred:unknowns].any(axis=0)
    others = compressed(np.delete(factor[:, ~enters], np.s_[stirred:unknowns], axis=0))
    shared = int(np.count_nonzero(enters))
    found = np.zeros((len(factor), shared + others.shape[1]))
    found[:, :shared] = factor[:, enters]
    found[:stirred, shared:], found[unknowns:, shared:] = others[:stirred], others[stirred:]
    return found, shared


def _turned(kept: np.ndarray, q: np.ndarray, shared: int, stirred: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources beyond the shared ones turned, so that what is seen is in few of them; Q over those, and no more."""
    if not 0 < q.shape[1] < len(q) - shared:  # nothing was seen, or there are few
        return kept, q
    reflectors, scales, _, _ = _lapack.dgeqrf(q[shared:])
    kept = kept.copy()
    kept[:stirred, shared:], _, _ = _lapack.dormqr(
        "R", "N", reflectors, scales, kept[:stirred, shared:], WORK * stirred
    )
    return kept, np.vstack([q[:shared], np.triu(reflectors)[: q.shape[1]]])


def compressed(factor: Float[np.ndarray, "unknowns sources"]) -> Float[np.ndarray, "unknowns fewer"]:
    """A factor of the same covariance with no more columns than rows."""
    rows, columns = factor.shape
    if columns <= rows:
        return factor
    factored, _, _, _ = _lapack.dgeqrf(factor.T, lwork=WORK * max(rows, 1))
    return np.triu(factored[:rows]).T


def block_diagonal(*blocks: np.ndarray) -> np.ndarray:
    """Independent unknowns side by side."""
    return np.asarray(scipy.linalg.block_diag(*blocks))


def pivoted_qr(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, R and the order of the columns, the largest first. R is upper triangular; below stands what is not R.

    Straight from LAPACK: once a round on a handful of numbers, SciPy's own checks would take four times as long.
    """
    rank = min(matrix.shape)
    if not rank:
        return np.zeros((len(matrix), 0)), np.zeros((0, matrix.shape[1])), np.arange(matrix.shape[1])
    factored, order, scales, _, _ = _lapack.dgeqp3(matrix, lwork=WORK * (matrix.shape[1] + 1))
    q, _, _ = _lapack.dorgqr(factored[:, :rank], scales, lwork=WORK * rank)
    return q, factored[:rank], order - 1
