"""Where nothing is promised, a certificate says so, and why."""

from __future__ import annotations

import math

import equinox as eqx
import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Setting
from hocket.errors import BadInput
from hocket.privacy.dp.conduct import masks_last, unfit
from tests.units.certificate_cases import Clipped, Momentum

RING = hk.Network.cycle(5)
FLAGS, ODD = ("kept", "batches", "on_grid"), ("no", 1)
"""Of `certify`: a word in the place of a flag, such as "no", would count as true."""
STEP = hk.Power(1, 20, 0.75)
FS, NB = ("function-sharing", {"sigma": 1.0}), ("certified-rss-nb", {"sigma": 1.0, "rounds": 5})


@pytest.mark.parametrize(
    ("algorithm", "noise", "ask", "why"),
    [
        (*FS, {"coalition": {0, 2}, "transfer": 1.0}, "the sum over {1} changes"),
        (*FS, {"coalition": {0}, "shift": {1: 1.0}}, "the sum over {1, 2, 3, 4} changes"),
        (*FS, {"colluders": 2, "transfer": 1.0}, "learns that sum exactly"),
        (*FS, {"colluders": 1, "sensitivity": 1.0}, "give independent="),
        (*FS, {"colluders": 1, "transfer": 1.0, "batches": True}, "a step along some of them"),
        (*NB, {"colluders": 1, "sensitivity": 1.0}, "give independent="),
        (*NB, {"colluders": 1, "transfer": 1.0, "objectives": "any"}, "the sum attack"),
        (*NB, {"colluders": 1, "transfer": 1.0, "release": "raw"}, "raw last x"),
        (
            "rss-nb",
            {"rounds": 5},
            {"colluders": 1, "transfer": 1.0},
            "take certified-rss-nb, hk.CertifiedRssNb",
        ),
        ("rss-lb", {}, {"colluders": 1, "transfer": 1.0}, "from an eavesdropper on all links"),
        ("dgd", {}, {"colluders": 1, "transfer": 1.0}, "has no normal noise"),
    ],
)
def test_infinity_comes_with_its_reason(algorithm, noise, ask, why):
    found = hk.certify(RING, algorithm, **noise, **ask)
    assert found.mu == math.inf
    assert not found.holds
    assert why in found.reason
    assert found.statement.startswith("No certificate for ")
    assert found.epsilon(1e-5) == math.inf
    assert found.to_json()["mu"] is None


def test_what_shows_to_all_needs_no_search():
    net = hk.Network.random_regular(4, 200, seed=0)
    found = hk.certify(net, "function-sharing", colluders=3, sigma=1.0, shift={0: 1.0, 5: 1.0})
    assert "changes, and an eavesdropper on all links learns that sum exactly" in found.reason
    assert found.searched.startswith("no search was needed")


def test_uniform_draws_get_none():
    assert hk.certify(RING, hk.RssNb(1.0), colluders=1, transfer=1.0, rounds=5, step=STEP).mu == math.inf
    assert hk.certify(RING, hk.FunctionSharing(2, 1.0), colluders=1, transfer=1.0).mu == math.inf


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [(Momentum(1.0, 0.5), "momentum"), (Clipped(1.0, 0.5, clean=True), "clean state")],
)
def test_rounds_that_tell_more_are_noticed_in_the_code_itself(algorithm, why):
    """Of hocket's own nobody doubts it; what is on the list is read all the same."""
    (found,) = unfit(algorithm, Setting(RING, 1, STEP, 5))
    assert why in str(found)
    assert unfit(Clipped(1.0, 0.5), Setting(RING, 1, STEP, 5)) == ()
    for mine in (hk.CertifiedRssNb(1.0, 0.5), hk.JointAverage(own=1.0)):
        assert unfit(mine, Setting(RING, 1, STEP, 5)) == ()
    ask = {"colluders": 1, "rounds": 5, "sensitivity": 0.1, "step": 0.1}
    assert "is not one of hocket's classes" in hk.certify(RING, algorithm, **ask).reason


class Projecting(Clipped):
    """RSS-NB in one's own words; `before` says where it projects."""

    before: bool = eqx.field(static=True, default=False)

    def round(self, agent, state, k):
        w = state + agent.step(k - 1) * (agent.noise("paired") + agent.noise("own"))
        received = yield hk.Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project="mixed" if self.before else "stepped")


@pytest.mark.parametrize(
    ("feasible", "before", "holds"),
    [
        (hk.Box(-1.0, 1.0), False, False),
        (hk.Box(-1.0, 1.0), True, True),
        (hk.Everywhere(), False, True),
    ],
)
def test_projection_after_the_step_exposes_what_moves_and_no_record(feasible, before, holds):
    problem = hk.Problem(lambda x, a: a * x @ x, [1.0] * 5, feasible=feasible, dim=2)
    ask = {"colluders": 1, "rounds": 5, "problem": problem, "step": 0.1, "by": "linearisation"}
    algorithm = Projecting(1.0, 0.5, before=before)
    moved = {"move": (1, 3, [1.0, 0.0])} | ask
    found = hk.certify(RING, algorithm, **moved)
    assert found.holds == holds
    assert holds or "projected after the step" in found.reason
    assert hk.certify(RING, algorithm, sensitivity=1.0, **ask).holds
    certified = hk.CertifiedRssNb(1.0, 0.5)
    assert hk.certify(RING, certified, **moved | {"by": "theorem"}).holds
    joint = hk.certify(RING, hk.JointAverage(own=1.0), **moved | {"by": "theorem"})
    assert joint.holds == isinstance(feasible, hk.problems.sets.Everywhere)


def test_means_over_records_change_when_one_moves():
    data = [[[1.0, 0.0], [0.0, 2.0]]] * 5, [[1.0, 0.5]] * 5
    held = {
        reduction: hk.certify(
            RING,
            hk.FunctionSharing(2, sd=1.0, family="quadratic"),
            colluders=1,
            transfer=1.0,
            problem=hk.least_squares(*data, feasible=hk.Everywhere(), reduction=reduction),
        )
        for reduction in ("sum", "mean")
    }
    assert held["sum"].holds
    assert not held["mean"].holds
    assert "means over records" in held["mean"].reason


@pytest.mark.parametrize(("family", "holds"), [("quadratic", True), ("polynomial", False)])
def test_cross_terms_must_be_in_the_span_of_the_noise(family, holds):
    data = [[[1.0, 0.0], [0.0, 2.0]]] * 5, [[1.0, 0.5]] * 5
    shared = hk.FunctionSharing(2, sd=1.0, own=0.5, family=family)
    ask = {"colluders": 1, "problem": hk.least_squares(*data, feasible=hk.Everywhere())}
    assert hk.certify(RING, shared, sensitivity=1.0, **ask).holds == holds
    for change in ({"move": (1, 2, 1.0)}, {"shift": {1: 1.0, 2: -1.0}}, {"transfer": 1.0}):
        assert hk.certify(RING, shared, **change, **ask).holds == holds


@pytest.mark.parametrize(
    ("ask", "culprit"),
    [
        ({"colluders": 1}, "none was named"),
        ({"colluders": 1, "coalition": {0}, "transfer": 1.0}, "both were named"),
        ({"transfer": 1.0}, "neither was named"),
        ({"colluders": 5, "transfer": 1.0}, "leave nobody honest"),
        ({"colluders": 4, "transfer": 1.0}, "two honest agents"),
        ({"colluders": -1, "transfer": 1.0}, "colluders = -1"),
        ({"colluders": 1, "transfer": 1.0, "move": (0, 1, 1.0)}, "move and transfer"),
        ({"coalition": {1}, "move": (1, 4, 1.0)}, "agent 1 is in the coalition"),
        ({"coalition": {0}, "move": (1, 1, 1.0)}, "to itself"),
        ({"coalition": {0}, "move": (1, 9, 1.0)}, "agent 9"),
        ({"coalition": {0}, "shift": {1: [1.0, 2.0], 2: 1.0}}, "shapes"),
        ({"colluders": 1, "transfer": -1.0}, "transfer = -1.0"),
        ({"colluders": 1, "transfer": 1.0, "runs": 0}, "runs = 0"),
        ({"colluders": 1, "transfer": 1.0, "sigma": [1.0, 2.0]}, "2 numbers for 5 links"),
        ({"colluders": 1, "transfer": 1.0, "sigma": -1.0}, "sigma = -1.0"),
        ({"colluders": 1, "transfer": 1.0, "persistent": 1.0}, "persistent"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(ask, culprit):
    with pytest.raises(BadInput, match=culprit.replace("(", r"\(")):
        hk.certify(RING, "function-sharing", **({"sigma": 1.0} | ask))


@pytest.mark.parametrize(
    ("ask", "culprit"),
    [
        ({"coalition": 0}, "coalition = 0; give agents, such as {0, 2}"),
        ({"coalition": [[1, 2]]}, "agent [1, 2] is no whole number"),
        ({"leavers": None}, "leavers = None; give agents"),
        ({"leavers": [{}]}, "agent {} is no whole number"),
        ({"sigma": "a"}, "sigma = 'a'; give a standard deviation"),
        ({"sigma": {}}, "sigma = {}; give a standard deviation"),
        ({"sigma": ["a"]}, "sigma = ['a']; give a standard deviation"),
        ({"independent": 10**400}, "independent = 1000"),
        ({"persistent": None}, "persistent = None; give a standard deviation"),
        ({"move": 1}, "move = 1; give (from, to, coefficients)"),
        ({"move": {1: 2}}, "move = {1: 2}; give (from, to, coefficients)"),
        ({"move": ([1], 2, 1.0)}, "of move is no whole number"),
        ({"shift": [1]}, "shift = [1]; give a mapping from agents"),
        ({"problem": 0}, "problem = 0; give an hk.Problem"),
        ({"objectives": 0}, "objectives = 0; give a class of objectives"),
        ({"rate": None}, "rate = None; give a probability"),
        ({"dim": np.ones(2)}, "dim = array([1., 1.]); give a whole number"),
        ({"release": np.ones(2)}, "release = array([1., 1.]); give one of its words"),
        ({"by": "yes"}, "by = 'yes'; choose one of theorem, search, bound, linearisation"),
        ({"step": 10**400}, "give a finite number"),
        *(({flag: given}, f"{flag} = {given!r}; give True or False") for flag in FLAGS for given in ODD),
    ],
)
def test_a_question_of_another_kind_is_refused_by_its_name(ask, culprit):
    kind = {} if {"move", "shift"} & {*ask} else {"transfer": 1.0}
    with pytest.raises(BadInput) as error:
        hk.certify(RING, "function-sharing", **({"coalition": {0}, "sigma": 1.0} | kind | ask))
    assert culprit in str(error.value)


def test_a_key_of_another_kind_is_refused():
    with pytest.raises(BadInput, match=r"algorithm = \['rss-nb'\]; give a key"):
        hk.certify(RING, ["rss-nb"], coalition={0}, sigma=1.0, transfer=1.0)  # type: ignore[arg-type]


def test_steps_beyond_doubles_are_refused_by_the_general_accountant():
    ask = {"coalition": {0}, "sigma": 1.0, "transfer": 1.0, "rounds": 3, "by": "linearisation"}
    with pytest.raises(BadInput, match="the step is 1e-300"):
        hk.certify(RING, "function-sharing", step=1e-300, **ask)


@pytest.mark.parametrize("more", [{}, {"by": "linearisation", "rounds": 3}])
def test_that_runs_draw_afresh_is_an_assumption(more):
    """One seed twice is one draw twice."""
    ask = {"coalition": {0}, "sigma": 1.0, "transfer": 1.0, **more}
    found = hk.certify(RING, "function-sharing", runs=2, **ask)
    (said,) = [one for one in found.assumptions if "draws noise of its own" in str(one)]
    assert str(said).startswith("assumed: each run")
    assert "a seed that no other run uses" in str(said)
    alone = hk.certify(RING, "function-sharing", **ask)
    assert not [one for one in alone.assumptions if "draws noise of its own" in str(one)]


def test_other_questions_that_are_refused():
    with pytest.raises(BadInput, match="unknown algorithm 'paxos'"):
        hk.certify(RING, "paxos", colluders=1, transfer=1.0)
    with pytest.raises(BadInput, match="needs sigma="):
        hk.certify(RING, "certified-rss-nb", colluders=1, transfer=1.0, rounds=3)
    with pytest.raises(BadInput, match="say how many: rounds="):
        hk.certify(RING, "certified-rss-nb", colluders=1, sigma=1.0, transfer=1.0)
    with pytest.raises(BadInput, match="knows its own noise"):
        hk.certify(RING, Clipped(1.0, 1.0), colluders=1, sigma=1.0, rounds=3)


def test_a_certificate_can_be_signed():
    found = hk.certify(
        RING, "function-sharing", colluders=1, sigma=1.0, independent=0.5, sensitivity=0.3, runs=2
    )
    for part in (
        "any 1 colluder",
        "one record replaced",
        "2 runs",
        "Theorem A2",
        "real-arithmetic",
        "cycle:5",
    ):
        assert part in found.statement
    assert found.statement.count(". ") == 0
    assert str(found).startswith(found.statement)
    assert all(one.status.value in {"verified", "not needed", "assumed"} for one in found.assumptions)
    assert "all 5 coalitions" in found.searched


def marks(found: hk.Certificate, *parts: str) -> list[str]:
    """How conditions are marked."""
    return [one.status.value for part in parts for one in found.assumptions if part in str(one)]


def test_conditions_are_checked_where_there_is_anything_to_look_at():
    """By a bare name all is supposed; with the algorithm and its problem what can be read off them is checked."""
    last, divisor = "the message after the last step", "divided by"
    bare = hk.certify(
        RING, "certified-rss-nb", sigma=1.0, independent=0.5, sensitivity=0.1, rounds=5, colluders=1
    )
    assert marks(bare, last, divisor, "no raw x") == ["assumed"] * 3
    problem = hk.least_squares([np.ones((2, 1))] * 5, [np.zeros(2)] * 5, feasible=hk.Everywhere())
    ask = {"colluders": 1, "rounds": 5, "step": STEP}
    named = hk.CertifiedRssNb(1.0, 0.5)
    unbounded = hk.certify(RING, named, sensitivity=0.1, problem=problem, **ask)
    assert "nothing clips a record's gradient, which grows with x" in unbounded.reason
    inside = hk.least_squares([np.ones((2, 1))] * 5, [np.zeros(2)] * 5, feasible=hk.Box(-1.0, 1.0))
    small = hk.certify(RING, named, sensitivity=0.1, problem=inside, **ask)
    assert "moves a gradient by up to 2 at any point of X; give sensitivity=2" in small.reason
    seen = hk.certify(RING, named, sensitivity=2.0, problem=inside, **ask)
    assert seen.holds
    assert marks(seen, last, "all records take part") == ["verified"] * 2
    cut = hk.certify(RING, hk.CertifiedRssNb(1.0, 0.5, clip=1.0), dim=1, **ask)
    assert marks(cut, "whatever sums in it are divided by") == ["verified"]
    parts = ("no value of an objective", "over all records", "sums over records")
    moved = {"transfer": 0.1, "colluders": 1}
    assert marks(hk.certify(RING, "function-sharing", sigma=1.0, **moved), *parts) == ["assumed"] * 3
    shared = hk.FunctionSharing(2, sd=1.0, family="quadratic")
    assert marks(hk.certify(RING, shared, problem=problem, **moved), *parts) == ["verified"] * 3
    mean = hk.least_squares(
        [np.ones((2, 1))] * 5, [np.zeros(2)] * 5, feasible=hk.Everywhere(), reduction="mean"
    )
    assert hk.certify(RING, shared, problem=mean, **moved).mu == math.inf


class Unmasked(hk.CertifiedRssNb):
    """Certified RSS-NB whose messages have no noise from the third on, and that says so of no message."""

    def round(self, agent, state, k):
        before = (k < 3) * agent.step(k - 1)
        w = agent.perturb(state, paired=before, own=before)
        received = yield hk.Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project="mixed")


def test_a_last_message_without_noise_is_noticed():
    algorithm = Unmasked(1.0, 0.5)
    assert not masks_last(algorithm, Setting(RING, 1, STEP, 5))
    assert masks_last(hk.CertifiedRssNb(1.0, 0.5), Setting(RING, 1, STEP, 5))
    ask = {"colluders": 1, "sensitivity": 0.1, "rounds": 5, "step": STEP, "dim": 1}
    for by in ("theorem", "linearisation"):
        assert hk.certify(RING, algorithm, by=by, **ask).mu == math.inf
