"""What of a certified run stays at home: what its task computes on this member's own data, which no ε covers.

All that is sent under a certificate, and all that follows from it, may be known to anybody: rounds, lags, distances
between messages, the movement of what was mixed. A loss on a member's own data does not follow from that, wherever it
is taken. It is written into the member's own folder and shown in its own terminal, marked as such; no port serves it
and no page that may be passed on holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hocket.federation.monitoring.metrics import OF_LINKS, Log
from hocket.federation.runtime.convergence import MEASURED

if TYPE_CHECKING:
    from hocket.federation.plan.plan import FederationPlan

T = TypeVar("T")
OF_MESSAGES = frozenset((*OF_LINKS, "disagreement", *MEASURED))
"""What is measured of messages and links; in a plan without a certificate, of the member's own state too."""
MARK = "stays at home: no ε covers it"
"""Beside a number that must not be passed on."""
LEFT_OUT = (
    "What its task measures on this member's own data stays at home, as no ε covers it: it is not shown here."
)
GRADIENT, MEASURE = "gradient counted as zero", "measure failed"
"""Events that depend on this member's data."""
OF_DATA = frozenset((GRADIENT, MEASURE))


def of_task(name: str) -> bool:
    """Whether a number is the task's own, of this member's data."""
    return name not in OF_MESSAGES and not name.startswith("joint_")


def stays_at_home(plan: FederationPlan, name: str) -> bool:
    """Whether a measured number must not be passed on."""
    return plan.certificate is not None and of_task(name)


def may_be_shown(plan: FederationPlan, numbers: Mapping[str, T]) -> dict[str, T]:
    """These numbers without those that stay at home."""
    return {name: value for name, value in numbers.items() if not stays_at_home(plan, name)}


def kept_at_home(plan: FederationPlan, numbers: Mapping[str, Any]) -> list[str]:
    """The names of those that stay at home."""
    return [name for name in numbers if stays_at_home(plan, name)]


def counted_as_zero(log: Log, k: int, reason: str) -> None:
    """A gradient that could not be used, for this member's operator alone."""
    log.say(GRADIENT, round=k, reason=reason)


def measured_at_home(measure: Callable[[Any], Mapping[str, float]], x: Any, log: Log) -> dict[str, float]:
    """What a task measures, under names of its own; if it fails nothing stops, as others would see that."""
    try:
        return {name: float(value) for name, value in measure(x).items() if of_task(name)}
    except Exception as error:
        log.say(MEASURE, reason=f"the task raised {type(error).__name__}")
        return {}
