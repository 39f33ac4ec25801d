"""Plans that promise an ε: what `hocket peer plan --epsilon` writes, and what becomes of it."""

from __future__ import annotations

import dataclasses
import io
import json
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import hocket as hk
from hocket.cli import main
from hocket.cli.peer import peer
from hocket.cli.peer.epsilon import EpsilonOptions, draft, price_in_words
from hocket.errors import BadConfig, BadInput, BadPlan, UnsafePlan
from hocket.federation import ClippedTask, LeastSquaresTask
from hocket.federation.audit.certificate_check import check_certificate
from hocket.federation.audit.plan_audit import audit_plan
from hocket.federation.audit.plan_certificate import certificate_of_plan
from hocket.federation.audit.survivors import judge_survivors
from hocket.federation.plan.cards import Card
from hocket.federation.plan.certified_draft import AUTO, Wanted, certified_draft
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.own_code import NO_CODE, OwnCode
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import parse_plan, plan_text, read_plan
from hocket.federation.plan.policy import Policy, check_policy
from hocket.federation.plan.sections import read_planned_algorithm
from hocket.federation.state.accounts import RecordedRun
from hocket.federation.state.earlier_runs import EarlierRun
from hocket.federation.state.served_plan import ServedPlan, record_of
from hocket.federation.workloads.task_checks import check_records, records_of
from hocket.links.keys.identity import Identity
from hocket.privacy import gdp

from .plans import CARDS, IDENTITIES

DIM = 3
FOUR = tuple(CARDS[:4])
RECORD = Wanted(1.0, 1e-6, 1, columns=(1.0,), target=1.0)
TRANSFER = dataclasses.replace(RECORD, protect="transfer")
MEMBER = Wanted(1.0, 1e-6, 1, protect="member", clip=0.5)


@lru_cache
def drafted(
    wanted: Wanted, *, key="function-sharing", topology="complete", cards=FOUR, objectives="quadratic"
):
    return certified_draft(cards, topology, key, wanted, dimension=DIM, objectives=objectives, rounds=40)


def drawn(wanted: Wanted = RECORD, *, run=None, **how) -> FederationPlan:
    found, cards = drafted(wanted, **how), how.get("cards", FOUR)
    return draw_up(
        cards,
        found.topology,
        algorithm=found.algorithm,
        step={"constant": 0.002},
        task={
            "name": "regression",
            "dataset": "trial-7",
            "dimension": DIM,
            "objectives": how.get("objectives", "quadratic"),
        },
        run={"rounds": 40, "id": 16 * "0"} | (run or {}),
        audit={"colluders": wanted.colluders, "min_sd": 0.0},
        certificate=found.certificate,
    )


def changed(plan: FederationPlan, **changes) -> FederationPlan:
    """The plan, as somebody would have it who writes other numbers into its certificate."""
    assert plan.certificate is not None
    return dataclasses.replace(plan, certificate=plan.certificate.model_copy(update=changes))


def before(plan: FederationPlan, **changes) -> EarlierRun:
    served = RecordedRun("1" * 32, plan.run_hash.hex(), plan.algorithm_section.name, record=record_of(plan))
    return EarlierRun(served, ServedPlan.of(plan), **changes)


@pytest.mark.parametrize(
    ("wanted", "key", "theorem", "arithmetic"),
    [
        (RECORD, "function-sharing", "A2", "exact"),
        (TRANSFER, "function-sharing", "A1", "exact"),
        (MEMBER, "certified-rss-nb", "B1", "exact"),
        (Wanted(1.0, 1e-6, 1, sensitivity=0.1), "certified-rss-nb", "B1", "real-arithmetic model"),
    ],
    ids=["record", "transfer", "member", "record-nb"],
)
def test_what_is_drawn_up_promises_what_was_wanted_and_no_more_noise_than_that(
    wanted, key, theorem, arithmetic
):
    plan = drawn(wanted, key=key)
    found = check_certificate(plan)
    assert found is not None
    assert 1 - 2e-6 < found.epsilon <= 1.0
    assert (found.certificate.theorem, found.certificate.arithmetic) == (theorem, arithmetic)
    again = parse_plan(plan_text(plan))
    assert again.hash == plan.hash
    assert again.certificate == plan.certificate


SIX = (*CARDS, Card.of(Identity.create("clinic-f"), "clinic-f.example:7005"))
LADDER = {"cards": SIX, "topology": "grid:2x3"}
"""Six members on a ladder: its middle rung is unlike its ends."""


@pytest.mark.parametrize(
    ("wanted", "key"),
    [(RECORD, "function-sharing"), (MEMBER, "certified-rss-nb")],
    ids=["record", "member"],
)
def test_where_links_are_not_alike_each_has_the_noise_it_takes(wanted, key):
    found, plan = drafted(wanted, key=key, **LADDER), drawn(wanted, key=key, **LADDER)
    assert found.planned.edges is not None
    assert found.planned.edges.gain > 1.05
    checked = check_certificate(plan)
    assert checked is not None
    assert 1 - 2e-5 < checked.epsilon <= 1.0
    assert checked.certificate.arithmetic == "exact"
    again = parse_plan(plan_text(plan))
    assert again.hash == plan.hash
    sd = plan.tables()["algorithm"]["sd"]
    assert sd == plan.tables()["certificate"]["sigma"]
    assert len({*sd}) > 1
    # Less on any one link is another plan, and never a better one.
    for link in range(len(sd)):
        less = [one * (0.8 if place == link else 1.0) for place, one in enumerate(sd)]
        other = dataclasses.replace(
            plan, algorithm_section=plan.algorithm_section.model_copy(update={"sd": less})
        )
        assert other.hash != plan.hash
        assert certificate_of_plan(other).mu >= certificate_of_plan(plan).mu
    less = plan.algorithm_section.model_copy(update={"sd": [0.9 * one for one in sd]})
    with pytest.raises(UnsafePlan, match="its noise gives"):
        check_certificate(dataclasses.replace(plan, algorithm_section=less))


def test_alike_links_keep_one_number():
    assert drafted(RECORD).planned.edges is None
    assert isinstance(drawn().algorithm.sd, float)
    assert not any("by link" in line for line in price_in_words(drafted(RECORD)))


def test_what_noise_by_link_saves_is_said():
    found = drafted(RECORD, **LADDER)
    said = price_in_words(found)
    assert "between neighbours, by link" in said[0]
    assert f"would take {found.planned.edges.gain:.3g} times the variance to promise the same" in said[1]


def test_members_who_leave_take_the_noise_of_their_own_links_along():
    plan = drawn(**LADDER)
    left = certificate_of_plan(plan, leavers=[5])
    by_key = hk.certify(
        plan.network,
        "function-sharing",
        sigma=[plan.algorithm.stored.counted_as(one) for one in plan.algorithm.sd],
        independent=plan.algorithm.stored.counted_as(plan.algorithm.own),
        sensitivity=plan.certificate.sensitivity,
        colluders=1,
        leavers=[5],
    )
    assert left.mu == pytest.approx(by_key.mu, rel=1e-12)
    assert left.mu > certificate_of_plan(plan).mu


def test_runs_with_other_noise_on_one_link_are_not_the_same_noise():
    plan = drawn(**LADDER)
    same = drawn(**LADDER, run={"id": 16 * "1"})
    more = [*plan.algorithm.sd[:-1], 2 * plan.algorithm.sd[-1]]
    other = dataclasses.replace(
        same, algorithm_section=same.algorithm_section.model_copy(update={"sd": more})
    )
    assert "kept the same noise" in check_certificate(same, earlier=[before(plan)]).words[1]
    assert check_certificate(other, earlier=[before(plan)]).composed == np.inf


@pytest.mark.parametrize(
    ("sd", "error", "said"),
    [
        ([1.0] * 6, BadInput, "6 numbers for the 7 links of grid:2x3; .* that of clinic-a and clinic-b"),
        ([1.0] * 6 + [0.0], BadInput, "sd = 0.0 for link 6"),
        (
            [1.0] * 6 + ["1"],
            BadConfig,
            r"\[algorithm\] sd = .* expected a number, or a list of one for each link",
        ),
    ],
)
def test_a_plan_s_deviations_are_checked_when_it_is_read(sd, error, said):
    text = plan_text(drawn(**LADDER))
    kept = str(drawn(**LADDER).tables()["algorithm"]["sd"])
    assert kept in text
    with pytest.raises(error, match=said):
        parse_plan(text.replace(f"sd = {kept}", f"sd = {sd}".replace("'", '"')))


def test_a_plan_without_a_promise_has_the_hash_it_always_had():
    plain = dataclasses.replace(drawn(), certificate=None)
    assert "certificate" not in plain.tables()
    assert plain.hash != drawn().hash
    assert check_certificate(plain) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon": 0.5}, "it promises ε = 0.5 at δ = 1e-06, and its noise gives 0.99999"),
        ({"delta": 1e-9}, "it promises ε = 1 at δ = 1e-09"),
        ({"mu": 0.1}, "it says μ = 0.1"),
        ({"sensitivity": 1.0}, "it counts a record as 1, and within the declared columns one may weigh 4"),
        ({"columns": [2.0, 1.0, 1.0]}, "one may weigh 7"),
        ({"protect": "member"}, "nothing clips what a member does"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_a_number_that_is_not_so_is_refused_and_cannot_be_accepted(changes, said):
    forged = changed(drawn(), **changes)
    with pytest.raises(UnsafePlan, match=said):
        check_certificate(forged)
    with pytest.raises(UnsafePlan, match="does not hold"):
        audit_plan(forged, unsafe=True)


def test_columns_bound_no_gradient():
    """With x free to grow, a record's gradient a(aᵀx − b) is larger than any S that its columns give."""
    forged = changed(
        drawn(Wanted(1.0, 1e-6, 1, sensitivity=4.0), key="certified-rss-nb"), columns=[1.0] * DIM, target=1.0
    )
    with pytest.raises(UnsafePlan, match="noise is on gradients, which grow with x"):
        check_certificate(forged)


def test_less_noise_than_promised_is_refused():
    plan = drawn()
    less = plan.algorithm_section.model_copy(update={"own": 0.9 * plan.algorithm.own})
    with pytest.raises(UnsafePlan, match="its noise gives"):
        check_certificate(dataclasses.replace(plan, algorithm_section=less))
    open_form = plan.task.model_copy(update={"objectives": "any"})
    with pytest.raises(UnsafePlan, match="what noise functions do not span stays exposed"):
        check_certificate(dataclasses.replace(plan, task=open_form))


def with_algorithm(plan: FederationPlan, table, own=NO_CODE) -> FederationPlan:
    """The plan, as somebody would have it who puts another algorithm under its certificate."""
    return dataclasses.replace(plan, algorithm_section=read_planned_algorithm(table, own))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"name": "rss-nb", "delta": 100.0}, "RSS-NB as printed deals uniform noise"),
        (
            {"name": "rss-nb", "delta": 100.0, "distribution": "gaussian"},
            "RSS-NB as printed deals gaussian noise",
        ),
        ({"name": "rss-lb", "delta": 100.0}, "RSS-LB has no normal noise"),
        ({"name": "dgd"}, "DGD has no normal noise"),
    ],
    ids=["rss-nb", "normal", "rss-lb", "dgd"],
)
def test_no_other_algorithm_comes_under_a_certificate(table, said):
    forged = with_algorithm(drawn(MEMBER, key="certified-rss-nb"), table)
    with pytest.raises(UnsafePlan, match=f"does not hold: {said}"):
        check_certificate(forged)
    with pytest.raises(UnsafePlan, match="does not hold"):
        audit_plan(forged, unsafe=True)


@pytest.mark.parametrize("name", ["Plain", "Louder", "Renamed"])
def test_nobody_s_own_code_comes_under_a_certificate(tmp_path, monkeypatch, name):
    """Not even a subclass that changes nothing, or calls itself by the same name and states the same facts."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import hocket as hk\n"
        "from hocket.privacy.profile import profile\n\n\n"
        "class Plain(hk.CertifiedRssNb):\n    pass\n\n\n"
        "class Louder(hk.CertifiedRssNb):\n"
        "    def round(self, agent, state, k):\n        return (yield from super().round(agent, state, k))\n\n\n"
        "class Renamed(hk.CertifiedRssNb):\n"
        "    name, title = hk.CertifiedRssNb.name, hk.CertifiedRssNb.title\n\n\n"
        "profile.add(profile(hk.CertifiedRssNb(1.0, 0.5)), Renamed)\n"
    )
    plan, own = drawn(MEMBER, key="certified-rss-nb"), OwnCode(named=f"mine.py:{name}")
    same = plan.algorithm_section.model_dump(exclude={"name"}, exclude_none=True)
    forged = with_algorithm(plan, own.table() | same, own)
    assert forged.algorithm.own == plan.algorithm.own
    with pytest.raises(UnsafePlan, match=f"{name} is not one of hocket's classes"):
        check_certificate(forged)
    with pytest.raises(BadPlan, match=f"mine.py:{name} has no noise that an ε could rest on"):
        drawn(MEMBER, key=f"mine.py:{name}")


def test_what_is_disclosed_for_a_verification_is_hidden_from_nobody():
    with pytest.raises(UnsafePlan, match="what members disclose for that shows gradients bare"):
        check_certificate(drawn(MEMBER, key="certified-rss-nb", run={"verifiable": True}))


def test_noise_on_objectives_is_certified_on_a_grid_alone():
    """A task may draw batches, and nobody else can tell; on a grid what it gives is asked for once, as coefficients."""
    plan = drawn()
    floating = plan.algorithm_section.model_copy(update={"grid": None})
    with pytest.raises(UnsafePlan, match="on a grid they follow the stored sum alone"):
        check_certificate(dataclasses.replace(plan, algorithm_section=floating))


def test_the_audit_begins_with_the_certificate():
    found = audit_plan(drawn())
    assert found.words[0].startswith("Certificate (Theorem A2, exact arithmetic): against any 1 colluder")
    json.dumps(found.to_json(), allow_nan=False)
    assert found.to_json()["certificate"]["wanted"]["epsilon"] == 1.0


def test_what_nobody_can_check_is_said():
    by_hand = drawn(Wanted(1.0, 1e-6, 1, sensitivity=0.1), key="certified-rss-nb")
    assert "is every member's own word" in check_certificate(by_hand).words[0]
    assert "own word" not in check_certificate(drawn()).words[0]


def test_fresh_noise_composes_over_runs_and_kept_noise_does_not():
    fresh = drawn(MEMBER, key="certified-rss-nb")
    once = certificate_of_plan(fresh).mu
    again = drawn(MEMBER, key="certified-rss-nb", run={"id": 16 * "1"})
    found = check_certificate(again, earlier=[before(fresh)])
    assert found.composed == pytest.approx(np.sqrt(2) * once)
    assert found.composed_epsilon == pytest.approx(gdp.epsilon(np.sqrt(2) * once, 1e-6))
    assert "squares add up" in found.words[1]
    sharing = drawn()
    kept = check_certificate(drawn(run={"id": 16 * "1"}), earlier=[before(sharing)])
    assert kept.composed == kept.certificate.mu
    assert "kept the same noise" in kept.words[1]


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(1.0, 1e-6, 1, protect="transfer", sensitivity=0.1),
        Wanted(1.0, 1e-6, 1, protect="record", sensitivity=0.1),
    ],
    ids=["transfer", "record"],
)
def test_an_earlier_run_is_counted_for_what_is_hidden_now_and_not_for_less(wanted):
    """ε = 1 for a tenth is no ε = 1 for ten: of what is a hundred times as large it told a hundred times as much."""
    how = {"key": "certified-rss-nb", "objectives": "polynomial:1"}
    small, large = drawn(wanted, **how), dataclasses.replace(wanted, sensitivity=10.0)
    later = drawn(large, run={"id": 16 * "1"}, **how)
    once = certificate_of_plan(small).mu
    found = check_certificate(later, earlier=[before(small)])
    assert found.composed == pytest.approx(np.hypot(100 * once, found.certificate.mu))
    turned = check_certificate(small, earlier=[before(later)])
    assert turned.composed == pytest.approx(np.sqrt(2) * once, rel=1e-5)


def test_whoever_left_since_counts_as_a_colluder_in_earlier_runs():
    five = drawn(MEMBER, key="certified-rss-nb", cards=tuple(CARDS))
    four = drawn(MEMBER, key="certified-rss-nb", run={"id": 16 * "1"})
    found = check_certificate(four, earlier=[before(five)])
    both = certificate_of_plan(five, leavers=[4]).mu
    assert both > certificate_of_plan(five).mu
    assert found.composed == pytest.approx(np.hypot(both, found.certificate.mu))


def test_nothing_is_promised_of_runs_without_a_certificate():
    plain = dataclasses.replace(drawn(MEMBER, key="certified-rss-nb"), certificate=None)
    found = check_certificate(
        drawn(MEMBER, key="certified-rss-nb", run={"id": 16 * "1"}), earlier=[before(plain)]
    )
    assert found.composed == np.inf
    assert "has no certificate" in found.words[1]
    json.dumps(found.to_json(), allow_nan=False)
    other = drawn()  # for records, and with noise that is kept
    found = check_certificate(drawn(MEMBER, key="certified-rss-nb"), earlier=[before(other)])
    assert "was certified for one record" in found.words[1]


def test_a_floor_may_ask_for_an_epsilon():
    ask = Policy(epsilon=0.5)
    with pytest.raises(UnsafePlan, match="gives ε = 1 where you ask for epsilon"):
        check_policy(ask, plan := drawn(), audit_plan(plan))
    plain = dataclasses.replace(plan, certificate=None)
    with pytest.raises(UnsafePlan, match="promises no ε"):
        check_policy(ask, plain, audit_plan(plain))
    check_policy(Policy(epsilon=1.0), plan, audit_plan(plan))


def test_when_a_member_leaves_the_certificate_is_worked_out_anew():
    plan = drawn(cards=tuple(CARDS))
    verdict = judge_survivors(plan, {plan.names[4]: 3})
    (said,) = [one for one in verdict.words if one.startswith("Certificate")]
    assert "with what {4} knew who left" in said
    assert "That is more than ε = 1, which all have signed." in said
    assert not verdict.safe


TASK = LeastSquaresTask(np.array([[1.0, 0.5, -1.0]]), np.array([0.3]))


@pytest.mark.parametrize(
    ("rows", "target", "said"),
    [
        ([[1.0, 1.5, 0.0]], 0.3, r"record 1 of this task is 1\.5 from zero in column 2"),
        ([[1.0, 0.5, 0.0]], -3.0, "is 3 from zero in its target"),
    ],
)
def test_records_outside_the_declared_columns_are_refused(rows, target, said):
    check_records(TASK, drawn())
    with pytest.raises(BadInput, match=said):
        check_records(LeastSquaresTask(np.array(rows), np.array([target])), drawn())


class Bundled(LeastSquaresTask):
    """All records in one row of coefficients: nobody could tell how large one is."""

    def coefficients(self) -> np.ndarray:
        return super().coefficients().sum(axis=0, keepdims=True)


def test_records_that_are_none_are_refused():
    rows = np.array([[1.0, 0.5, -1.0], [0.2, 0.1, 0.9]])
    with pytest.raises(BadInput, match="one row of coefficients per record"):
        check_records(Bundled(rows, np.array([0.3, 0.1])), drawn())


def test_a_record_that_weighs_more_than_is_counted_is_refused():
    plan = drawn(Wanted(1.0, 1e-6, 1, sensitivity=1.0))
    check_records(LeastSquaresTask(np.array([[0.5, 0.5, 0.0]]), np.array([0.3])), plan)
    heavy = LeastSquaresTask(np.array([[0.5, 0.5, 0.0], [3.0, 0.0, 0.0]]), np.array([0.3, 0.0]))
    with pytest.raises(
        BadInput, match=r"record 2 of this task moves its objective by 6\.36396, .* counts 1 for"
    ):
        check_records(heavy, plan)


def test_two_records_that_are_farther_apart_than_is_counted_are_refused():
    """Each weighs less than 1, and anybody who has one in the other's place moves the objective by 1.4."""
    rows = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    task = LeastSquaresTask(rows, np.array([0.7, -0.7]))
    for sensitivity, protect, fits in (
        (1.0, "record", False),
        (1.5, "record", True),
        (1.0, "transfer", True),
    ):
        plan = drawn(Wanted(1.0, 1e-6, 1, sensitivity=sensitivity, protect=protect))
        if fits:
            check_records(task, plan)
            continue
        with pytest.raises(
            BadInput, match=r"records 1 and 2 of this task differ by 1\.4, .* counts 1 for one"
        ):
            check_records(task, plan)


def test_a_task_that_clips_at_more_than_is_counted_is_refused():
    plan = drawn(Wanted(1.0, 1e-6, 1, sensitivity=0.1), key="certified-rss-nb", objectives="any")
    data = np.ones((40, DIM)), np.ones(40)
    fits, exceeds = (
        ClippedTask(lambda x, one: (one[0] @ x - one[1]) ** 2, data, DIM, clip=1.0, batch=batch, size=40)
        for batch in (20, 19)
    )
    check_records(fits, plan)
    with pytest.raises(
        BadInput, match=r"moves a gradient by 0\.105263, .* counts 0\.1; .* --sensitivity 0\.105263"
    ):
        check_records(exceeds, plan)


@pytest.mark.parametrize("wrong", [{"moves": float("nan")}, {"moves": -0.1}, {"rate": float("nan")}], ids=str)
def test_a_task_that_says_no_number_of_how_it_clips_is_refused(wrong):
    """NaN is not larger than what is counted, and passed for as little."""
    plan = drawn(Wanted(1.0, 1e-6, 1, sensitivity=0.1, rate=0.25), key="certified-rss-nb", objectives="any")

    class Own(ClippedTask):
        rate = wrong.get("rate", 0.1)

        def sensitivity(self, *, replace: bool = False) -> float:
            return wrong.get("moves", 0.1)

    data = np.ones((40, DIM)), np.ones(40)
    with pytest.raises(BadInput, match="in this task a record"):
        check_records(Own(lambda x, one: 0.0 * x[0], data, DIM, clip=1.0, batch=20, size=40), plan)


def test_signing_with_a_task_finds_the_record_that_is_too_large(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    IDENTITIES[0].save(Path("home/identity"))
    Path("plan.toml").write_text(plan_text(drawn()))
    mine = "import numpy as np\nfrom hocket.federation import LeastSquaresTask\n"
    mine += "task = LeastSquaresTask(np.array([[1.0, 0.5, -1.0], [0.2, {0}, 0.1]]), np.array([0.3, 0.1]))\n"
    Path("fits.py").write_text(mine.format(0.9))
    Path("large.py").write_text(mine.format(1.7))
    sign = ["peer", "sign", "plan.toml", "--yes", "--home", "home", "--task"]
    assert main([*sign, "large.py:task"]) == 1
    assert "record 2 of this task is 1.7 from zero in column 2" in capsys.readouterr().err.replace("\n", " ")
    assert not read_plan(Path("plan.toml")).signatures
    assert main([*sign, "fits.py:task"]) == 0


def test_links_are_chosen_among_those_that_can_be_had():
    assert drawn(topology=AUTO).topology == "complete:4"
    assert len(drawn(topology=AUTO).certificate.columns) == DIM
    hidden = [Card.of(IDENTITIES[0], None), Card.of(IDENTITIES[2], None), CARDS[1], CARDS[3]]
    assert drawn(topology=AUTO, cards=tuple(hidden)).topology == "harary:k=2,n=4"  # a and c are not linked
    with pytest.raises(BadPlan, match="no topology that was looked at"):
        drawn(topology=AUTO, cards=(*hidden[:2], Card.of(IDENTITIES[1], None), CARDS[3]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Wanted(1.0, 1e-6, 1), "--columns and --target"),
        (lambda: Wanted(1.0, 1e-6, 1, clip=1.0), "--protect member"),
        (lambda: drawn(dataclasses.replace(RECORD, columns=(1.0, 1.0))), "--columns has 2 numbers"),
        (
            lambda: drawn(key="dgd"),
            "no noise that an ε could rest on; plan one of certified-rss-nb, function-sharing",
        ),
        (lambda: drawn(objectives="any"), "objectives are any, and FS hides quadratics"),
        (lambda: drawn(MEMBER), "nothing bounds how much a whole member's weighs"),
        (lambda: drawn(key="certified-rss-nb"), "certified-rss-nb hides gradients, which grow with x"),
        (lambda: drawn(dataclasses.replace(RECORD, colluders=3), topology=AUTO), "nobody to hide behind"),
    ],
)
def test_what_cannot_be_promised_is_refused(wrong, said):
    with pytest.raises((BadConfig, BadPlan, BadInput), match=said):
        wrong()


def hocket_peer(*words):
    return peer([str(word) for word in words], exit_on_error=False, result_action="return_value")


def test_four_clinics_plan_and_sign_an_epsilon(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"clinic-{letter}" for letter in "abcd"]
    for name in names:
        hocket_peer("init", "--name", name, "--address", f"{name}.example:7000", "--home", name)
    asked = ["--algorithm", "function-sharing", "--colluders", 1, "--task", "regression", "--dimension", DIM]
    asked += [
        "--objectives",
        "quadratic",
        "--rounds",
        20,
        "--step",
        0.01,
        "--epsilon",
        1,
        "--columns",
        "1,1,1",
    ]
    planned = hocket_peer(
        "plan", *(f"{name}.toml" for name in names), *asked, "--target", 1, "--out", "plan.toml"
    )
    assert planned.words[6].startswith("Certificate (Theorem A2")
    assert any("times what a trusted server would add" in line for line in planned.words)
    assert "[certificate]" in Path("plan.toml").read_text()
    signed = hocket_peer("sign", "plan.toml", "--yes", "--home", names[0])
    assert signed.data["certificate"]["composed"]["epsilon"] == pytest.approx(1.0, abs=1e-5)
    forged = Path("plan.toml").read_text().replace("epsilon = 1.0", "epsilon = 0.1")
    Path("forged.toml").write_text(forged.partition("[signatures]")[0])
    with pytest.raises(UnsafePlan, match="does not hold"):
        hocket_peer("sign", "forged.toml", "--yes", "--accept-unsafe", "--home", names[1])
    for wrong in (["--noise-bound", 1], ["--sensitivity", 1]):
        with pytest.raises(BadConfig):
            hocket_peer(
                "plan", *(f"{name}.toml" for name in names), *asked, "--target", 1, *wrong, "--out", "other"
            )


def test_the_page_of_a_plan_begins_with_its_certificate():
    assert audit_plan(drawn()).answer.startswith(
        "Certificate (Theorem A2, exact arithmetic): against any 1 colluder"
    )


def test_members_are_clipped_to_a_typical_gradient_unless_told_otherwise():
    task, asked = {"dimension": 4, "objectives": "any"}, {"rounds": 10, "weights": "paper"}
    for clip, size, cut in ((None, 1.5, 3.0), (0.25, 1.5, 0.25)):
        options = EpsilonOptions(epsilon=1.0, protect="member", clip=clip)
        audit = {"colluders": 1, "gradient_size": size}
        made = draft(options, CARDS, "complete", "certified-rss-nb", {}, task, audit, **asked)
        assert made is not None
        assert made.algorithm["clip"] == cut
        assert f"cut to {cut:g} times the step" in " ".join(price_in_words(made))


COINS = Wanted(1.0, 1e-6, 1, sensitivity=0.1, rate=0.25)


def clipped(batch: int, size: int) -> ClippedTask:
    data = np.ones((size, DIM)), np.ones(size)
    return ClippedTask(
        lambda x, one: (one[0] @ x - one[1]) ** 2, data, DIM, clip=batch / 20, batch=batch, size=size
    )


def test_secret_coins_are_planned_signed_run_and_composed():
    how = {"key": "certified-rss-nb", "objectives": "any"}
    plan, plain = drawn(COINS, **how), drawn(dataclasses.replace(COINS, rate=None), **how)
    assert plan.algorithm.own < 0.6 * plain.algorithm.own
    found = check_certificate(parse_plan(plan_text(plan)))
    assert 0.999 < found.epsilon <= 1.0
    assert "Theorem B1 with S" in found.words[0]
    assert "which it does with probability 0.25 in each, in secret" in found.words[0]
    known = gdp.epsilon(found.certificate.mu, 1e-6)
    for forged in (changed(plan, rate=0.5), changed(plan, rate=None)):
        with pytest.raises(UnsafePlan, match="its noise gives"):
            check_certificate(forged)
    # Two runs: less than squares of μ would give, no less than what one more coin in each round would.
    again = drawn(COINS, run={"id": 16 * "1"}, **how)
    both = check_certificate(again, earlier=[before(plan)])
    assert found.epsilon < both.composed_epsilon < gdp.epsilon(both.composed, 1e-6)
    assert both.composed_epsilon < 2 * found.epsilon
    assert "losses of all rounds add up" in both.words[1]
    beside = check_certificate(again, earlier=[before(plain)])
    assert both.composed_epsilon < beside.composed_epsilon < gdp.epsilon(beside.composed, 1e-6)
    # Anybody who leaves takes noise along, and coins still count.
    left = certificate_of_plan(plan, leavers=[3])
    assert found.epsilon < left.epsilon(1e-6) < known
    said = left.assumptions
    assert any(str(one).startswith("verified: members publish what one more exchange makes") for one in said)
    assert any(
        str(one).startswith("verified: as a member begins: its task says that it clips") for one in said
    )


def test_a_task_whose_coins_fall_more_often_or_that_does_not_say_how_it_clips_is_refused():
    plan = drawn(COINS, key="certified-rss-nb", objectives="any")
    check_records(clipped(5, 20), plan)
    with pytest.raises(BadInput, match=r"probability 0\.5, .* counts 0\.25"):
        check_records(clipped(10, 20), plan)
    with pytest.raises(BadInput, match="does not say so; run a ClippedTask"):
        check_records(TASK, plan)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_least_squares_records_are_told_from_others_of_any_size(size):
    """Cross terms that are no square's, and signs that no square has, at every scale."""
    rows = np.array([[1.0, 0.5, -1.0]]) * size
    coefficients = LeastSquaresTask(rows, np.array([0.3 * size])).coefficients()
    a, b = records_of(coefficients, DIM)
    np.testing.assert_allclose(a, np.abs(rows))
    np.testing.assert_allclose(b, 0.3 * size)
    for place, factor in ((0, 1.001), (DIM + 1, 1.001), (DIM + 1, -1.0)):
        wrong = coefficients.copy()
        wrong[0, place] *= factor
        with pytest.raises(BadInput, match="not those of"):
            records_of(wrong, DIM)
