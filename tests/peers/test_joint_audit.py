"""A plan after the runs that the same data have served: a form that one of the plans declares is public in all."""

from __future__ import annotations

import numpy as np
import pytest

from hocket.federation.audit.joint_audit import Sequel
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.served_plan import ServedPlan, record_of
from tests.peers.plans import SHARING, WIDE, drawn

OWN = {"name": "independent", "sd": 1.0}


def plan(objectives: str, algorithm=OWN, rounds: int = 20):
    return drawn(algorithm=algorithm, objectives=objectives, feasible=WIDE, colluders=1, rounds=rounds)


def before(*plans) -> tuple[EarlierRun, ...]:
    return tuple(
        EarlierRun(RecordedRun(str(k), f"{k:02d}", "", record=record_of(one)), ServedPlan.of(one))
        for k, one in enumerate(plans)
    )


@pytest.mark.slow
def test_what_runs_tell_of_a_form_adds_up():
    """The minimum over runs was printed, .298 where .113 was right: fresh noise averages out over runs, too."""
    now = plan("generalised-linear")
    alone = Sequel(now).known([2])
    again = Sequel(now, before(*[plan("generalised-linear")] * 7)).known([2])
    honest = [0, 1, 3, 4]
    np.testing.assert_allclose(again.models[0].sd[honest], alone.models[0].sd[honest] / np.sqrt(8), rtol=0.01)
    assert (again.sd[honest] <= again.models[0].sd[honest] + 1e-9).all()


@pytest.mark.slow
def test_a_form_that_is_declared_later_is_known_of_earlier_runs():
    now = plan("generalised-linear")
    some, other = (Sequel(now, before(plan(kind))).known([2]) for kind in ("any", "generalised-linear"))
    np.testing.assert_allclose(some.models[0].sd, other.models[0].sd)


def test_nothing_is_rehearsed_where_nothing_is_declared_or_a_theorem_has_the_word():
    assert Sequel(plan("any"), before(plan("any"))).models == ()
    assert Sequel(plan("polynomial:1", SHARING), before(plan("polynomial:1", SHARING))).models == ()
