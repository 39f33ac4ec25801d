"""The audit of a plan: it refuses by name, says what would help, and counts runs."""

from __future__ import annotations

import dataclasses
import time

import pytest

from hocket.errors import BadPlan, UnsafePlan
from hocket.federation.audit.plan_audit import audit_plan, audit_seconds
from hocket.federation.plan.plan import Dial
from hocket.networks.network import Network
from tests.peers.plans import BOX, JOINT, RSS_NB, SHARING, WIDE, drawn


def test_a_safe_plan_passes_its_audit():
    found = audit_plan(drawn(algorithm=SHARING, objectives="polynomial:1"))
    assert found.problems == ()
    assert any("P1 and P2 hold" in line for line in found.words)
    assert found.to_json()["safe"] is True


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"topology": "cycle"},
            "clinic-a, .*clinic-e can be surrounded by 2 colluders: clinic-b, clinic-e are all that",
        ),
        ({"topology": "cycle", "algorithm": SHARING}, "can be surrounded"),
        ({"algorithm": {"name": "dgd"}}, "gradient of clinic-.* would be known exactly.*dgd hides nothing"),
        (
            {"min_sd": 0.5},
            r"gradient of clinic-. would be ±.*, relative error .* after 50 rounds, where 50 % of a gradient of size 1 "
            r"is the least; reuse part of the noise \(--persistent 0.5\)",
        ),
    ],
    ids=str,
)
def test_an_unsafe_plan_is_refused_by_name_with_a_cure(change, words):
    with pytest.raises(UnsafePlan, match=words):
        audit_plan(drawn(**change))
    accepted = audit_plan(drawn(**change, unsafe=True))
    assert accepted.problems
    assert accepted.to_json()["safe"] is False


def test_a_plan_of_sums_has_its_theorem_whatever_the_objectives_and_local_steps():
    found = audit_plan(drawn(algorithm=JOINT, local_steps=10))
    assert found.covered
    assert found.answer.endswith("no contribution by itself (Theorem T).")
    assert found.to_json()["audit"]["claim"]["theorem"] == "Theorem T"


@pytest.mark.parametrize("algorithm", [SHARING, JOINT], ids=lambda one: one["name"])
def test_a_cut_is_refused_where_sums_over_parts_would_be_known(algorithm):
    """Two triangles that share a member: nobody can be surrounded by one colluder, but that member cuts them apart."""
    links = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]
    network = Network(links, n=5)
    plan = drawn(algorithm=algorithm, colluders=1)
    plan = dataclasses.replace(
        plan,
        links=tuple(Dial(i, j) for i, j in network.links.tolist()),
        weights=tuple(tuple(row) for row in network.B.tolist()),
        topology="bow tie",
    )
    with pytest.raises(
        UnsafePlan, match=r"P2 fails: clinic-c would cut .clinic-a, clinic-b. from .clinic-d, clinic-e."
    ):
        audit_plan(plan)


def test_persistent_noise_counts_as_known_where_states_may_reach_the_sides_of_the_set():
    persistent = RSS_NB | {"persistent": 0.5}
    wide, narrow = (audit_plan(drawn(algorithm=persistent, feasible=one)) for one in (WIDE, BOX))
    fresh = audit_plan(drawn(algorithm=RSS_NB | {"delta": 0.5}, feasible=BOX))
    assert narrow.least == pytest.approx(fresh.least)
    assert narrow.least < wide.least
    assert "states may reach the sides of the feasible set" in " ".join(narrow.words)


def test_persistent_noise_keeps_what_fresh_noise_loses_over_runs():
    fresh, persistent = (
        drawn(algorithm=RSS_NB | {"persistent": persistent}, rounds=20, feasible=WIDE)
        for persistent in (0.0, 0.5)
    )
    for plan, kept in ((fresh, False), (persistent, True)):
        once, often = (audit_plan(plan, runs=runs).worst for runs in (1, 9))
        ratio = often.sd[list(often.honest)].min() / once.sd[list(once.honest)].min()
        # Nine runs of fresh noise average to a third; what persists stays.
        assert ratio > 0.6 if kept else ratio < 0.45
        assert often.runs == 9


@pytest.mark.timeout(20)
def test_an_audit_that_would_take_for_ever_is_refused_at_once():
    plan = drawn(rounds=10_000_000)
    words = r"10,000,000 rounds of 5 members would take about 50 minutes, and 10 .* most; plan at most 1,9..,... rounds"
    with pytest.raises(BadPlan, match=words):
        audit_plan(plan)
    with pytest.raises(BadPlan, match=r"after 99 runs on the same data, .*plan at most"):
        audit_plan(drawn(rounds=1_000_000), runs=100)
    with pytest.raises(BadPlan, match="these have served too many runs"):
        audit_plan(drawn(rounds=10_000), runs=10_000)


def test_how_long_an_audit_takes_is_known_before():
    plan = drawn(rounds=3000)
    begun = time.process_time()
    audit_plan(plan)
    took = time.process_time() - begun
    # Measured within a factor of two on one machine: another may be as much slower or faster again.
    assert took / 6 < audit_seconds(plan) < took * 6


def test_more_colluders_than_planned_may_be_asked_about():
    plan = drawn(algorithm=SHARING)
    with pytest.raises(UnsafePlan, match="can be surrounded by 3 colluders"):
        audit_plan(plan, colluders=3)
