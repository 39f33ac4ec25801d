"""Plans with a [certificate]: with one key changed, or two, a plan is refused or says what `hk.certify` says of it.

And what its certificate counts for one record is held against records at the ends of the declared columns.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import hocket as hk
from hocket.errors import HocketError
from hocket.federation import ClippedTask, LeastSquaresTask
from hocket.federation.certificate_check import check_certificate
from hocket.federation.plan import FederationPlan
from hocket.federation.plan_file import parse_plan, plan_text
from tests.peers.test_certified_plans import DIM, MEMBER, RECORD, TRANSFER, Wanted, drawn

BASES = {
    "record": (RECORD, "function-sharing", "quadratic"),
    "transfer": (TRANSFER, "function-sharing", "quadratic"),
    "member": (MEMBER, "rss-nb", "any"),
    "clipped record": (Wanted(1.0, 1e-6, 1, sensitivity=0.1), "rss-nb", "any"),
}
CHANGES = {
    "run.rounds": [1, 80],
    "run.local_steps": [3],
    "run.verifiable": [True],
    "run.reach": [10.0],
    "run.means": [2],
    "run.drop_after": ["24h"],
    "audit.colluders": [2],
    "task.objectives": ["any", "polynomial:1"],
    "task.dtype": ["float32"],
    "algorithm.own": [0.0, 0.5],
    "algorithm.sd": [0.5],
    "algorithm.grid": [None],
    "algorithm.clip": [None, 5.0],
    "certificate.protect": ["transfer", "record", "member"],
    "certificate.epsilon": [0.5, 2.0],
    "certificate.sensitivity": [0.01, 100.0],
    "certificate.rate": [0.1],
}
SECTIONS = {"algorithm": "algorithm_section"}
PART = {"algorithm.own", "algorithm.sd"}
"""Numbers that are changed to a part of what they were."""


def altered(plan: FederationPlan, key: str, value: object) -> FederationPlan:
    section, name = key.split(".")
    place = SECTIONS.get(section, section)
    part = getattr(plan, place)
    if key in PART:
        value = getattr(part, name) * value
    return dataclasses.replace(plan, **{place: part.model_copy(update={name: value})})


def judged(plan: FederationPlan, *changes: tuple[str, object]) -> str | None:
    """Why a plan is refused; None where it is held against `hk.certify`."""
    try:
        for key, value in changes:
            plan = altered(plan, key, value)
        again = parse_plan(plan_text(plan))
        found = check_certificate(again)
    except HocketError as error:
        return str(error)
    assert found is not None
    section = again.certificate
    assert section is not None
    asked = hk.certify(
        again.network,
        again.algorithm,
        colluders=again.audit.colluders,
        step=again.step,
        rounds=again.run.rounds,
        dim=again.task.dimension,
        rate=section.rate or 1.0,
        release="mixed",
        linear=again.task.objectives == "polynomial:1",
        objectives=again.task.objectives,
        **{"transfer" if section.protect == "transfer" else "sensitivity": section.sensitivity},
    )
    assert asked.holds
    assert found.certificate.mu == pytest.approx(asked.mu)
    assert asked.epsilon(section.delta) <= section.epsilon * (1 + 1e-6)
    return None


@pytest.mark.parametrize("base", BASES)
def test_a_plan_with_one_key_changed_or_two_is_refused_or_is_what_certify_says(base):
    wanted, key, objectives = BASES[base]
    plan = drawn(wanted, key=key, objectives=objectives)
    assert judged(plan) is None
    kinds = [
        (one, value)
        for one, values in CHANGES.items()
        for value in values
        if hasattr(getattr(plan, SECTIONS.get(one.split(".")[0], one.split(".")[0])), one.split(".")[1])
    ]
    found = {(one,): judged(plan, one) for one in kinds}
    found |= {
        (one, other): judged(plan, one, other)
        for one, other in itertools.combinations(kinds, 2)
        if one[0] != other[0]
    }
    verified = [cell for cell, why in found.items() if why is None and ("run.verifiable", True) in cell]
    assert verified == []
    assert None in found.values()


def test_coins_of_records_hide_no_member():
    """A member takes part in every round, whatever coins its records toss: a tenth of them made ε far smaller."""
    plan = drawn(MEMBER, key="rss-nb", objectives="any")
    assert "no coin decides what takes part" in (judged(plan, ("certificate.rate", 0.1)) or "")


CORNERS = [*itertools.product((-1.0, 0.0, 1.0), repeat=DIM + 1)]


def test_no_record_within_the_columns_moves_the_stored_sum_by_more_than_is_counted():
    plan = drawn(RECORD)
    stored, section = plan.algorithm.stored, plan.certificate
    relative = stored.family.relative_variance(DIM)
    rows = np.array(CORNERS)
    records = LeastSquaresTask(rows[:, :DIM], rows[:, DIM]).coefficients() / np.sqrt(relative)
    apart = max(np.linalg.norm(records - one, axis=1).max() for one in records)
    assert 0.9 * section.sensitivity < apart <= section.sensitivity


@pytest.mark.parametrize("far", [0.0, 1.0, 1e6, -1e30])
def test_no_record_moves_a_clipped_gradient_by_more_than_its_task_says(far):
    def task(first: float) -> ClippedTask:
        data = np.vstack([np.full((1, DIM), first), np.ones((39, DIM))]), np.append(-first, np.ones(39))
        return ClippedTask(lambda x, one: (one[0] @ x - one[1]) ** 2, data, DIM, clip=1.0, batch=40, size=40)

    x = np.full(DIM, far)
    seen = [task(one).gradient(x, 1, 0, np.random.default_rng(0)) for one in (1.0, -1.0, 1e30, 0.0)]
    most = task(1.0).sensitivity(replace=True)
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)]
    assert all(math.isfinite(one) and one <= most * (1 + 1e-6) for one in apart)
