"""What secret batches add to a certificate: ε over rounds in each of which a record takes part by a coin of its own."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hocket.errors import BadInput


def sampled_epsilon(mu: float | Sequence[float], delta: float, *, rate: float, rounds: int = 1) -> float:
    """ε at δ for a record added or removed, if it takes part in each round with probability `rate`, in secret.

    `mu` is what one round costs a record that does take part, S√κ, the same in all `rounds` or one for each. To whoever
    hears all words a round is then the sampled Gaussian mechanism with noise multiplier 1/μ; Google's dp-accounting
    composes their privacy losses, rounded up.

    >>> round(sampled_epsilon(0.5, 1e-5, rate=0.1, rounds=100), 2)
    2.34
    """
    costs = list(mu) if isinstance(mu, Sequence) else [mu] * rounds
    for one in costs:
        if not (one >= 0 and one < float("inf")):
            raise BadInput(f"mu = {one}; a round costs zero or more, and an infinite cost has no ε")
    if not 0 < rate <= 1:
        raise BadInput(f"rate = {rate}; a record takes part with a probability above 0, up to 1")
    accounting = dp_accounting()
    accountant = accounting.pld.PLDAccountant(accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for cost, count in Counter(one for one in costs if one > 0).items():
        noisy = accounting.GaussianDpEvent(1 / cost)
        accountant.compose(accounting.PoissonSampledDpEvent(rate, noisy) if rate < 1 else noisy, count)
    return float(accountant.get_epsilon(delta))


def dp_accounting() -> Any:
    """Google's dp-accounting, which comes with an extra."""
    try:
        import dp_accounting as accounting

        importlib.import_module("dp_accounting.pld")  # a part that it does not load by itself
    except ImportError as error:
        raise BadInput(
            "accounts of sampling are kept with dp-accounting; install hocket[learning]"
        ) from error
    return accounting
