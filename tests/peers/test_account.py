"""One account of noise: studies and runs that follow gradients, in any order, at once, and after a crash."""

from __future__ import annotations

import dataclasses
import html
import math
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from hocket.cli.peer.run import _answer  # pyright: ignore[reportPrivateUsage]
from hocket.errors import UnsafePlan
from hocket.federation.audit.certificate_check import check_certificate
from hocket.federation.audit.study_audit import judge_plan
from hocket.federation.monitoring.member_report import write_member_report
from hocket.federation.plan.draft import draw_up
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.plan.policy import Policy, check_policy
from hocket.federation.runtime.participation import _counted
from hocket.federation.state.account import ComposedAccount
from hocket.federation.state.accounts import NO_ROWS, RecordedRun
from hocket.federation.state.consent import keep_consent
from hocket.federation.state.earlier_runs import earlier_runs
from hocket.federation.state.home import Home
from hocket.federation.state.run_folder import RunFolder, Status
from hocket.federation.state.served_plan import record_of
from hocket.federation.workloads.study import MOST_SUMS, NUMBERS
from hocket.privacy import gdp
from tests.peers.plans import CARDS
from tests.peers.test_certified_plans import FOUR, MEMBER, RECORD, SIX, TRANSFER, drawn

from .test_noisy_studies import NOISY

PLAIN = NOISY[: NOISY.index("[privacy]")]
AGAIN = {"id": 16 * "1"}
MU = gdp.mu(8.0, 1e-6)
"""Of the study."""


def study(text: str = NOISY, *, cards=FOUR, colluders: int = 1, dataset: str = "clinic") -> FederationPlan:
    return draw_up(
        list(cards),
        "complete",
        algorithm={"name": "masked-totals", "study": text, "on_drop": "stop"},
        step={"constant": 1.0},
        task={"name": "breast cancer", "dataset": dataset, "dimension": NUMBERS},
        run={"rounds": MOST_SUMS},
        audit={"colluders": colluders},
    )


def begun(home: Home, plan: FederationPlan) -> None:
    name = plan.algorithm_section.name
    served = RecordedRun(plan.run_hash.hex()[:8], plan.run_hash.hex(), name, "", record_of(plan))
    home.accounts.begin(plan.task.dataset, served)


def account(home: Home, plan: FederationPlan) -> ComposedAccount:
    found = judge_plan(plan, earlier=earlier_runs(home, plan)).account
    assert found is not None
    return found


def own(plan: FederationPlan) -> float:
    """μ of a plan by itself."""
    found = check_certificate(plan)
    return MU if found is None else found.certificate.mu


@pytest.mark.parametrize("order", ["study first", "gradient first"])
def test_a_study_and_a_gradient_run_are_one_account(tmp_path, order):
    """Each promised its own ε as if the other had never been."""
    pair = [study(), drawn(RECORD)]
    first, second = pair if order == "study first" else pair[::-1]
    home = Home(tmp_path)
    assert account(home, second).mu == pytest.approx(own(second))
    begun(home, first)
    found = account(home, second)
    assert found.mu == pytest.approx(math.hypot(own(first), own(second)))
    delta = 1e-6
    assert found.epsilon == pytest.approx(gdp.epsilon(found.mu, delta))
    (line,) = found.words
    assert line.startswith(
        f"With 1 earlier run on {first.task.dataset} (counted as the same rows: whether they are"
    )
    assert line in judge_plan(second, earlier=earlier_runs(home, second)).words


def test_three_of_two_kinds_add_up(tmp_path):
    home, plans = Home(tmp_path), [study(), drawn(RECORD), study(dataset="other")]
    for plan in plans:
        begun(home, plan)
    last = study(dataset="third")
    assert account(home, last).mu == pytest.approx(gdp.composed(MU, *map(own, plans)))
    assert len(judge_plan(last, earlier=earlier_runs(home, last)).to_json()["earlier"]) == 3


def test_what_a_gradient_run_tells_of_gradients_is_judged_without_the_study(tmp_path):
    """The study showed sums and no gradients: only what is promised of records adds up."""
    home, plan = Home(tmp_path), drawn(RECORD)
    begun(home, study())
    alone, after = judge_plan(plan), judge_plan(plan, earlier=earlier_runs(home, plan))
    assert after.least == alone.least
    assert after.runs == alone.runs == 1


def test_one_without_noise_leaves_nothing_to_promise(tmp_path):
    home, plan = Home(tmp_path), drawn(RECORD)
    begun(home, study(PLAIN))
    found = account(home, plan)
    assert math.isinf(found.mu)
    assert found.words[-1].endswith("an earlier study (masked-totals, 400 rounds among 4) added no noise.")
    other = Home(tmp_path / "other")
    begun(other, dataclasses.replace(plan, certificate=None))
    assert "has no certificate" in account(other, study()).words[-1]


@pytest.mark.parametrize(("wanted", "key"), [(MEMBER, "certified-rss-nb"), (TRANSFER, "function-sharing")])
def test_what_hides_something_else_than_a_row_is_not_composed_as_one(tmp_path, wanted, key):
    plan = drawn(wanted, key=key)
    begun(Home(tmp_path), study())
    assert math.isinf(account(Home(tmp_path), plan).mu)
    other = Home(tmp_path / "other")
    begun(other, plan)
    # All that a member does hides each of its rows; what moves between members does not.
    whole = math.hypot(MU, own(plan)) if wanted is MEMBER else math.inf
    assert account(other, study()).mu == pytest.approx(whole)


def test_a_plan_that_promises_nothing_has_no_account(tmp_path):
    home = Home(tmp_path)
    begun(home, drawn(RECORD))
    assert judge_plan(study(PLAIN), earlier=earlier_runs(home, study(PLAIN))).account is None
    assert earlier_runs(home, study(PLAIN)) == ()


@pytest.mark.parametrize(("colluders", "honest"), [(1, 3), (2, 2)])
def test_against_more_colluders_an_earlier_study_promised_less(tmp_path, colluders, honest):
    """Its noise was shared out so that those of three others suffice; two of them take theirs off again."""
    home = Home(tmp_path)
    begun(home, study())
    now = study(colluders=colluders, dataset="other")
    assert account(home, now).mu == pytest.approx(math.hypot(MU, MU * np.sqrt(3 / honest)))


def test_members_of_an_earlier_study_who_take_no_part_now_count_as_colluders(tmp_path):
    home = Home(tmp_path)
    begun(home, study())
    three = study(cards=[*CARDS[:3], CARDS[4]], dataset="other")
    assert account(home, three).mu == pytest.approx(math.hypot(MU, MU * np.sqrt(3 / 2)))
    begun(home, drawn(RECORD))
    none = study(cards=[CARDS[0], CARDS[4], SIX[5]], dataset="third")
    assert math.isinf(account(home, none).mu)
    assert "take all noise off again" in account(home, none).words[-1]


def test_a_policy_s_epsilon_is_over_both_kinds(tmp_path):
    home, plan, ask = Home(tmp_path), drawn(RECORD), Policy(epsilon=7.9)
    check_policy(ask, plan, judge_plan(plan))
    with pytest.raises(UnsafePlan, match=r"the plan gives ε = 8 where you ask for epsilon = 7\.9"):
        check_policy(ask, study(), judge_plan(study()))
    begun(home, study())
    with pytest.raises(UnsafePlan, match=r"gives ε = 8\.\d+ where you ask for epsilon = 7\.9"):
        check_policy(ask, plan, judge_plan(plan, earlier=earlier_runs(home, plan)))
    exact = Home(tmp_path / "exact")
    begun(exact, study(PLAIN))
    with pytest.raises(UnsafePlan, match=r"ε = inf where .* \(Nothing is promised .* added no noise\.\)"):
        check_policy(ask, plan, judge_plan(plan, earlier=earlier_runs(exact, plan)))


def starting(home: Home, plan: FederationPlan) -> Any:
    """What counting a run asks of a member and its journal."""
    folder = RunFolder(home.run(plan.run_hash))
    member = SimpleNamespace(
        plan=plan, home=home, folder=folder, data="", rows=NO_ROWS, task=None, accounts=home.accounts
    )
    member.workload = SimpleNamespace(begin=lambda: None)
    return member, SimpleNamespace(run=plan.run_hash[:16])


@pytest.mark.parametrize("round", range(3))
def test_of_two_that_begin_at_once_the_second_must_be_signed_again(tmp_path, round):
    """Both were signed as if the other were not there: without one account both began."""
    home, plans = Home(tmp_path), [study(), drawn(RECORD)]
    for plan in plans:
        keep_consent(plan, RunFolder(home.run(plan.run_hash)), judge_plan(plan))

    def begin(plan: FederationPlan) -> str:
        try:
            _counted(*starting(home, plan))
        except UnsafePlan as error:
            return str(error)
        return "begun"

    with ThreadPoolExecutor(2) as pool:
        said = [*pool.map(begin, plans if round % 2 else plans[::-1])]
    assert said.count("begun") == 1
    (refused,) = (one for one in said if one != "begun")
    assert "which this member did not know when it signed" in refused
    late = next(plan for plan in plans if not any(plan.run_hash.hex() == one.plan for one in counted(home)))
    earlier = earlier_runs(home, late)
    keep_consent(late, RunFolder(home.run(late.run_hash)), judge_plan(late, earlier=earlier))
    assert begin(late) == "begun"


def counted(home: Home) -> list[RecordedRun]:
    return [one for name in home.accounts.datasets for one in home.accounts.runs(name)]


def test_one_that_crashed_before_its_first_message_is_counted_once(tmp_path):
    home, first, second = Home(tmp_path), study(), drawn(RECORD)
    keep_consent(first, RunFolder(home.run(first.run_hash)), judge_plan(first))
    for _ in range(2):  # killed after the line was written, and taken up again
        _counted(*starting(home, first))
    assert account(home, second).mu == pytest.approx(math.hypot(MU, own(second)))


def test_kept_noise_that_two_earlier_runs_may_show_together_promises_nothing(tmp_path):
    home, one = Home(tmp_path), drawn(RECORD)
    begun(home, one)
    begun(home, drawn(RECORD, run={"id": 16 * "1"}))
    assert account(home, study()).mu == pytest.approx(
        gdp.composed(MU, own(one), own(one))
    )  # the same sum twice
    begun(home, drawn(dataclasses.replace(RECORD, epsilon=0.5), run={"id": 16 * "2"}))
    assert "kept noise on other terms" in account(home, study()).words[-1]


def test_the_store_is_one_file(tmp_path: Path):
    """Nothing else is asked: a home whose accounts are there knows what was told."""
    home = Home(tmp_path / "home")
    begun(home, study())
    moved = Home(tmp_path / "moved")
    moved.folder.mkdir()
    moved.accounts.path.write_bytes(home.accounts.path.read_bytes())
    assert account(moved, drawn(RECORD)).mu == account(home, drawn(RECORD)).mu > own(drawn(RECORD))


def test_who_left_an_earlier_run_is_counted_when_its_folder_is_gone(tmp_path):
    """A finished run's folder may be removed, and with it went who left: ε = 1.45 in all was promised for 1.79."""
    home, first, second = (
        Home(tmp_path),
        drawn(MEMBER, key="certified-rss-nb"),
        drawn(MEMBER, key="certified-rss-nb", run=AGAIN),
    )
    begun(home, first)
    nobody = account(home, second)
    home.accounts.leave(first.run_hash.hex(), {first.names[0]: 5})
    assert not RunFolder(home.run(first.run_hash)).path.exists()
    found = account(home, second)
    assert found.epsilon > 1.2 * nobody.epsilon
    assert len(counted(home)) == 1
    assert home.accounts.forget(first.run_hash.hex())
    assert counted(home) == []


def test_a_study_under_the_same_name_is_in_the_account_too(tmp_path):
    """The audit of the plan ended in a traceback."""
    home, plan = Home(tmp_path), drawn(RECORD)
    begun(home, study(dataset=plan.task.dataset))
    assert account(home, plan).mu == pytest.approx(math.hypot(MU, own(plan)))
    found = judge_plan(plan, earlier=earlier_runs(home, plan))
    assert not found.covered
    assert any(
        "Studies among them showed sums over all members and no gradients" in line for line in found.words
    )


@pytest.mark.parametrize(
    ("before", "page", "printed"),
    [
        ([], None, None),
        (
            [study()],
            r"With all earlier runs on these data, ε = 8\.112\.",
            r"^With 1 earlier run .* ε = 8\.112 at",
        ),
        (
            [study(PLAIN)],
            "With all earlier runs on these data, nothing is promised",
            r"^Nothing .* added no noise",
        ),
    ],
    ids=["alone", "after noise", "after none"],
)
def test_a_finished_run_says_what_its_data_have_told_in_all(tmp_path, before, page, printed):
    """Its page said ε = 1 and no more after a study without noise, and its command nothing of earlier runs."""
    home, plan = Home(tmp_path), drawn(RECORD)
    for one in before:
        begun(home, one)
    folder = RunFolder(home.run(plan.run_hash))
    keep_consent(plan, folder, judge_plan(plan, earlier=earlier_runs(home, plan)))
    write_plan(plan, folder.plan)
    done = {"round": 8, "finished": True, "task": "visits", "reach": []}
    folder.write_status(Status.not_begun(plan.names[0], plan.run.rounds) | done)
    shown = html.unescape(write_member_report(folder).read_text(encoding="utf-8"))
    said = "\n".join(str(one) for one in _answer(plan, folder, ()).words)
    for text, expected, never in ((shown, page, "With all earlier"), (said, printed, "in all")):
        assert re.search(expected, text, re.MULTILINE) if expected else never not in text


@pytest.mark.parametrize("seed", range(3))
def test_whoever_has_both_views_guesses_better_than_either_promised_and_no_better_than_the_account(
    tmp_path, seed
):
    """The likelihood ratio of a study's sum and of a gradient run, for one row replaced by another."""
    home, plan, draws = Home(tmp_path), drawn(RECORD), 200_000
    begun(home, study())
    found, mus = account(home, plan).mu, np.array([MU, own(plan)])
    rng = np.random.default_rng(seed)
    world = rng.integers(0, 2, size=(draws, 1))
    views = rng.normal(size=(draws, 2)) + world * mus
    guess = (views - mus / 2) @ mus > 0
    right = float((guess == (world[:, 0] == 1)).mean())
    slack = 3 / math.sqrt(draws)  # three deviations of a share of so many draws, and more
    assert right <= ndtr(found / 2) + slack
    assert right > ndtr(own(plan) / 2) + 0.1  # what the plan's own ε was read as
