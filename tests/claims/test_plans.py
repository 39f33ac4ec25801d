"""Plans with a [certificate]: with one key changed, or two, a plan is refused or says what `hk.certify` says of it.

Every key of every section is changed, or said to be no matter of privacy; one that is neither makes a test fail. And
what a certificate counts for one record is held against records at the ends of the declared columns.
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

import hocket as hk
from hocket.algorithms.function_sharing import stored_of
from hocket.algorithms.totals import Totals
from hocket.cli.peer.epsilon import EpsilonOptions
from hocket.config.problems import SETS
from hocket.config.sections import read_step
from hocket.errors import BadPlan, HocketError
from hocket.federation import ClippedTask, LeastSquaresTask
from hocket.federation.audit.certificate_check import check_certificate
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import parse_plan, plan_text
from hocket.federation.plan.sections import (
    SECTIONS as ALGORITHMS,
)
from hocket.federation.plan.sections import (
    AuditSection,
    CertificateSection,
    FederationSection,
    PlanNetworkSection,
    PlanRunSection,
    TaskSection,
    read_feasible,
)
from hocket.federation.workloads.study import MOST_SUMS, NUMBERS
from hocket.federation.workloads.task_checks import check_objectives, check_records
from tests.peers.test_certified_plans import CARDS, DIM, MEMBER, RECORD, TRANSFER, Wanted, drawn

BASES = {
    "record": (RECORD, "function-sharing", "quadratic"),
    "transfer": (TRANSFER, "function-sharing", "quadratic"),
    "member": (MEMBER, "certified-rss-nb", "any"),
    "clipped record": (Wanted(1.0, 1e-6, 1, sensitivity=0.1), "certified-rss-nb", "any"),
    "sampled record": (Wanted(1.0, 1e-6, 1, sensitivity=0.1, rate=0.2), "certified-rss-nb", "any"),
}
CHANGES = {
    "run.rounds": [1, 80],
    "run.local_steps": [3],
    "run.start": ["0" * 64],
    "run.verifiable": [True],
    "run.reach": [10.0],
    "run.means": [2],
    "run.drop_after": ["24h"],
    "audit.colluders": [2],
    "task.dimension": [2],
    "task.objectives": ["any", "polynomial:1"],
    "task.dtype": ["float32"],
    "algorithm.own": [0.0, 0.5],
    "algorithm.sd": [0.5],
    "algorithm.grid": [None],
    "algorithm.clip": [None, 5.0],
    "algorithm.persistent": [0.5],
    "algorithm.distribution": ["uniform", "gaussian"],
    "algorithm.failure": [1e-3],
    "algorithm.degree": [1, 3],
    "algorithm.bound": [2.0],
    "algorithm.family": ["polynomial", "linear", "cosine"],
    "algorithm.inner": ["nids", "choco"],
    "certificate.protect": ["transfer", "record", "member"],
    "certificate.epsilon": [0.5, 2.0],
    "certificate.delta": [1e-9, 0.1],
    "certificate.sensitivity": [0.01, 1.1, 100.0],
    "certificate.columns": [None, [0.5], [0.5, 0.5, 0.5], [3.0]],
    "certificate.target": [None, 0.5, 3.0],
    "certificate.sigma": [1e6],
    "certificate.own": [1e6],
    "certificate.mu": [1e-3, 10.0],
    "certificate.kappa": [1e-9, 1e9],
    "certificate.rate": [None, 0.1, 0.9],
    "step": [read_step({"a": 0.1, "b": 1.0}), read_step({"constant": 0.5})],
    "feasible": [
        read_feasible({"kind": "box", "low": -1.0, "high": 1.0}),
        read_feasible({"kind": "ball", "radius": 1.0}),
        read_feasible({"kind": "simplex", "total": 1.0}),
    ],
}
NO_MATTER = {
    **dict.fromkeys(
        ("task.name", "task.dataset", "run.id", "network.topology", "federation.members", "algorithm.name"),
        "names",
    ),
    "task.seed": "the public start is drawn from it",
    **dict.fromkeys(
        ("audit.gradient_size", "audit.min_sd", "audit.unsafe"), "of estimates, beside the certificate"
    ),
    **dict.fromkeys(("network.links", "network.weights"), "the axis 'network' of `options.COMMON`"),
    **dict.fromkeys(
        ("federation.protocol", "federation.noise"), "versions, refused unless they are this one's"
    ),
}
"""Keys of a plan that are not changed, and why; algorithms have tables of their own in `options.FIELDS`."""
DRAFTED = {"epsilon", "delta", "protect", "columns", "target", "sensitivity", "rate", "clip"}
"""Options of `hocket peer plan` that ask for a promise: each stands in one of `BASES`."""
GIVEN = {
    ClippedTask: {"loss", "data", "dimension", "clip", "batch", "size", "first", "objectives"},
    LeastSquaresTask: {"rows", "targets", "objectives"},
}
"""What tasks that vouch for records are given; see the tests below, and tests/peers/test_clipped_task.py."""
SECTIONS = {"algorithm": "algorithm_section", "step": "step_section", "feasible": "feasible_section"}
PART = {"algorithm.own", "algorithm.sd"}
"""Numbers that are changed to a part of what they were."""


def missing() -> Iterator[str]:
    """Keys of plans, options and arguments that are in the code and not here, as sentences; and the other way."""
    here = "tests/claims/test_plans.py"
    sections = {
        "federation": FederationSection,
        "task": TaskSection,
        "run": PlanRunSection,
        "network": PlanNetworkSection,
    }
    sections |= {"audit": AuditSection, "certificate": CertificateSection}
    there = {f"{section}.{key}" for section, model in sections.items() for key in model.model_fields}
    there |= {f"algorithm.{key}" for one in BASES.values() for key in ALGORITHMS[one[1]].model_fields}
    there |= {"step", "feasible"}
    for key in sorted(there ^ {*CHANGES, *NO_MATTER}):
        yield f"{key} of a plan is in the code or in the table alone: see CHANGES and NO_MATTER in {here}"
    for name in {*SETS} ^ {"everywhere", *(one.kind for one in CHANGES["feasible"])}:
        yield f"the set {name!r} is in the code or in the table alone: see CHANGES['feasible'] in {here}"
    for name in {one.name for one in dataclasses.fields(EpsilonOptions)} ^ DRAFTED:
        yield f"the option {name!r} of a promise is in the code or in the table alone: see DRAFTED in {here}"
    for kind, known in GIVEN.items():
        for name in {*inspect.signature(kind).parameters} ^ known:
            yield f"{kind.__name__}({name}=) is in the code or in the table alone: see GIVEN in {here}"


def altered(plan: FederationPlan, key: str, value: object) -> FederationPlan:
    section, _, name = key.partition(".")
    place = SECTIONS.get(section, section)
    if not name:
        return dataclasses.replace(plan, **{place: value})
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
        objectives=again.task.objectives,
        **{"transfer" if section.protect == "transfer" else "sensitivity": section.sensitivity},
    )
    assert asked.holds
    assert found.certificate.mu == pytest.approx(asked.mu)
    assert asked.epsilon(section.delta) <= section.epsilon * (1 + 1e-6)
    assert farthest(again) <= section.sensitivity
    return None


def farthest(plan: FederationPlan) -> float:
    """How far records move the stored sum, in units of its noise, among those whose member may begin: all that have
    their columns at the ends of some range, and a target at the end of its own. 0 where no columns are declared."""
    section, stored, dim = plan.certificate, stored_of(plan.algorithm), plan.task.dimension
    assert section is not None
    if section.columns is None or section.target is None or stored is None:
        return 0.0
    allowed = []
    for size in (*section.columns, section.target):
        for signs in itertools.product((-size, 0.0, size), repeat=dim):
            for target in (-section.target, section.target):
                task, coefficients = one_record(signs, target)
                try:
                    check_objectives(task, plan)
                    check_records(task, plan)
                except HocketError:
                    continue
                allowed.append(coefficients)
    if not allowed:
        return 0.0
    ends = np.array(allowed) / np.sqrt(stored.family.relative_variance(dim))
    others = np.zeros((1, ends.shape[1])) if section.protect == "transfer" else ends
    return max(float(np.linalg.norm(ends - other, axis=1).max()) for other in others)


@cache
def one_record(columns: tuple[float, ...], target: float) -> tuple[LeastSquaresTask, np.ndarray]:
    """A member with one record, and the coefficients of its objective."""
    task = LeastSquaresTask(np.array([columns]), np.array([target]))
    return task, task.coefficients()[0]


def planned(base: str) -> tuple[FederationPlan, list[tuple[str, object]]]:
    """A plan, and every key of it with every value."""
    wanted, key, objectives = BASES[base]
    plan = drawn(wanted, key=key, objectives=objectives)
    kinds = [
        (one, value)
        for one, values in CHANGES.items()
        for value in values
        if "." not in one
        or hasattr(getattr(plan, SECTIONS.get(one.split(".")[0], one.split(".")[0])), one.split(".")[1])
    ]
    return plan, kinds


def test_every_key_of_a_plan_is_changed_or_no_matter():
    assert [*missing()] == []


@pytest.mark.parametrize("base", BASES)
def test_a_plan_with_one_key_changed_or_two_is_refused_or_is_what_certify_says(base):
    """Each by itself, and as many pairs, drawn by a fixed seed; all of them by `make endurance`."""
    plan, kinds = planned(base)
    assert judged(plan) is None
    pairs = [pair for pair in itertools.combinations(kinds, 2) if pair[0][0] != pair[1][0]]
    some = np.random.default_rng(1).choice(len(pairs), size=120, replace=False)
    found = [judged(plan, *cell) for cell in [*((one,) for one in kinds), *(pairs[i] for i in some)]]
    assert None in found


@pytest.mark.parametrize("base", BASES)
def test_nothing_is_promised_of_a_plan_whose_members_disclose_their_steps(base):
    plan, kinds = planned(base)
    verifiable = ("run.verifiable", True)
    assert all(judged(plan, verifiable, one) for one in kinds if one[0] != verifiable[0])


@pytest.mark.endurance
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("base", BASES)
def test_a_plan_with_any_two_keys_changed_is_refused_or_is_what_certify_says(base):
    plan, kinds = planned(base)
    for one, other in itertools.combinations(kinds, 2):
        if one[0] != other[0]:
            judged(plan, one, other)


def test_one_bound_is_not_one_for_all_columns():
    """It was counted as the length of a record, and each column was held against it: S = 1 was promised of 1.7."""
    plan, _ = planned("record")
    changes = ("certificate.columns", [0.5]), ("certificate.sensitivity", 1.1)
    assert "bounds for 1 column, and records have 3" in (judged(plan, *changes) or "")
    each = ("certificate.columns", [0.5] * DIM), ("certificate.sensitivity", 1.8)
    assert judged(plan, *each) is None
    for alone in ("certificate.columns", "certificate.target"):
        assert "it declares one of the two" in (judged(plan, (alone, None)) or "")


def test_coins_of_records_hide_no_member():
    """A member takes part in every round, whatever coins its records toss: a tenth of them made ε far smaller."""
    plan = drawn(MEMBER, key="certified-rss-nb", objectives="any")
    assert "no coin decides what takes part" in (judged(plan, ("certificate.rate", 0.1)) or "")


CORNERS = [*itertools.product((-1.0, 0.0, 1.0), repeat=DIM + 1)]


def test_no_record_within_the_columns_moves_the_stored_sum_by_more_than_is_counted():
    plan = drawn(RECORD)
    stored, section = stored_of(plan.algorithm), plan.certificate
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


def test_theorem_t_is_about_hocket_s_own_sums(monkeypatch):
    """Of a study's plan, and of those who stay when a member leaves."""
    study = """[study]
    title = "T"
    formula = "y ~ x"
    """
    plan = draw_up(
        CARDS,
        "complete",
        algorithm={"name": "masked-totals", "study": study, "on_drop": "restart"},
        step={"constant": 1.0},
        task={"name": "t", "dataset": "t", "dimension": NUMBERS},
        run={"rounds": MOST_SUMS},
        audit={"colluders": 1},
    )
    assert "Theorem T" in judge_plan(plan).answer
    assert "Theorem T" in " ".join(judge_survivors(plan, {plan.names[0]: 1}).words)
    monkeypatch.setattr(Totals, "round", lambda self, agent, state, k: iter(()))
    with pytest.raises(BadPlan, match="round of Totals was put in from elsewhere"):
        judge_plan(plan)
    found = judge_survivors(plan, {plan.names[0]: 1})
    assert not found.safe
    assert "Theorem T" not in " ".join(found.words)
    assert "round of Totals was put in from elsewhere" in " ".join(found.words)
