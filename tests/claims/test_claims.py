"""The matrix of claims: every option is in it, and every cell is refused, or played and within its promise.

The short form takes each value of each option once, two by two. The whole is `pytest -m endurance tests/claims`, with
seeds drawn anew; a failure names its seed, and `HOCKET_CLAIMS_SEED` plays it again. `python -m tests.claims` sums up.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable

import numpy as np
import pytest
from scipy.stats import beta, norm

import hocket as hk
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.claims import MECHANISMS, NOISE_ON
from hocket.cli.certify import certify as certify_command
from hocket.engines.transcripts import transcripts
from hocket.errors import HocketError
from hocket.federation.workloads.needs import needs
from hocket.privacy import plan_certificate
from tests.claims import bases, cells, options, studies, texts, training
from tests.claims.allowed import MAY_SPEAK
from tests.claims.bases import BASES, BY_NAME, EXPECTED_TODAY, READ, Base
from tests.claims.cells import Cell, Result, axes, chosen, evaluate
from tests.claims.worlds import WORKLOADS, Asked

PLAYED = [base for base in BASES if base.promises]
REFUSED = [base for base in BASES if base not in PLAYED]


def drawn() -> int:
    """A seed that was not used before, or the one to play again."""
    return int(os.environ.get("HOCKET_CLAIMS_SEED") or secrets.randbits(31))


def two_by_two(base: Base, seed: int) -> list[Cell]:
    """Cells in which every value of every option occurs, two by two."""
    rng = np.random.default_rng(seed)
    each = [(axis, value) for axis, values in axes(base).items() for value in values]
    order = [each[place] for place in rng.permutation(len(each))]
    found = [Cell(base.name)]
    while order:
        first = order.pop()
        second = next((one for one in order if one[0] != first[0]), None)
        if second is not None:
            order.remove(second)
        found.append(Cell(base.name, (first,) if second is None else (first, second)))
    return found


def judged(some: Iterable[Cell], seed: int) -> list[Result]:
    """Every cell evaluated; those that break their promise fail by name, and so do those expected to that hold."""
    broken, found = [], []
    for cell in some:
        result = evaluate(cell, seed=seed)
        found.append(result)
        if result.holds == (str(cell) in EXPECTED_TODAY):
            broken.append(
                f"{cell}: promised μ = {result.promised:.6g}, achieved {result.achieved:.6g}"
                if not result.holds
                else f"{cell} holds: take it out of EXPECTED_TODAY"
            )
    assert not broken, "\n".join([*broken, f"HOCKET_CLAIMS_SEED={seed} plays it again"])
    return found


def test_every_option_of_the_code_is_on_an_axis():
    assert [*bases.missing(), *options.missing(), *training.missing(), *studies.missing()] == []


def test_an_option_without_values_is_named_with_what_to_add(monkeypatch):
    monkeypatch.delitem(options.FIELDS["CertifiedRssNb"], "grid")
    monkeypatch.delitem(options.PARAMETERS["certify"], "release")
    monkeypatch.delitem(training.AXES, "train.momentum")
    assert [*options.missing(), *training.missing()] == [
        "CertifiedRssNb.grid has no values: add FIELDS['CertifiedRssNb']['grid'] to tests/claims/options.py",
        "certify(release=) is on no axis: add PARAMETERS['certify']['release'] to tests/claims/options.py",
        "hk.train has the axis 'train.momentum' without values: add AXES['train.momentum'] to "
        "tests/claims/training.py",
    ]


def test_a_mechanism_without_cells_is_named(monkeypatch):
    """Whatever `hocket.claims` puts on its list is played, or this fails."""
    monkeypatch.setattr(bases, "PROMISING", (*bases.PROMISING, Scaled))
    monkeypatch.setattr(bases, "BASES", [one for one in BASES if one.kind is not hk.JointAverage])
    monkeypatch.setitem(bases.NOISE_ON, "scaled", "gradients")
    found = [*bases.missing()]
    assert sorted(line.split(" may")[0] for line in found if "stands in no cell" in line) == [
        "JointAverage",
        "Scaled",
    ]
    assert "'scaled' has certificates by its name and no mechanism: see NOISE_ON" in found[-2]
    assert found[-1].startswith("Scaled may carry a promise and is not public")
    assert bases.PROMISING[: len(MECHANISMS) - 1] == tuple(
        kind for kind in MECHANISMS if kind is not MaskedStart
    )


class Scaled(hk.RssNb):
    """Stands for a mechanism that is new."""


@pytest.mark.parametrize("base", PLAYED, ids=lambda base: base.name)
def test_no_claim_falls_two_by_two(base):
    found = judged(two_by_two(base, seed=1), seed=0)
    assert {one.verdict for one in found} >= {"played", "refused"}


@pytest.mark.parametrize("base", REFUSED, ids=lambda base: base.name)
def test_nothing_is_claimed_of_what_is_not_on_the_list(base):
    """The general accountant may read normal noise in code of which nothing else is said; what it finds holds."""
    some = two_by_two(base, seed=1)
    played = [cell for cell, one in zip(some, judged(some, seed=0), strict=True) if one.verdict == "played"]
    assert [cell for cell in played if READ_BY not in cell.changed] == []
    assert played == [] or "gaussian" in str(played)


@pytest.mark.parametrize(
    "base",
    [one for one in PLAYED if one.kind.name in NOISE_ON and one.options.get("relation") != "member"],
    ids=lambda base: base.name,
)
def test_a_name_promises_no_more_than_its_class_keeps(base):
    """Of σ and τ as they are given, whatever the class itself says that it draws: with every other option changed."""
    asked = (("entry", "key"), ("workload", "slopes"))
    each = [(axis, value) for axis, values in axes(base).items() for value in values]
    some = [Cell(base.name, (*asked, one)) for one in each if one[0] not in ("entry", "workload")]
    played = [one for one in judged(some, seed=0) if one.verdict == "played"]
    assert len(played) > 10


READ_BY = ("by", "linearisation")
FOREIGN = options.FOREIGN
READABLE = ("quiet subclass", "wrapper")
"""Code of one's own with noise, which the general accountant reads as it is."""


@pytest.mark.parametrize("base", PLAYED, ids=lambda base: base.name)
def test_nothing_is_claimed_of_code_that_is_not_hocket_s(base):
    """A class, an instance, hocket's own class or an inner part in which somebody has put other rounds, with less noise
    or none: alone, and with every other option changed."""
    each = [(axis, value) for axis, values in axes(base).items() for value in values if axis != "code"]
    some = [Cell(base.name, (("code", one),)) for one in FOREIGN]
    some += [
        Cell(base.name, (("code", FOREIGN[place % len(FOREIGN)]), pair)) for place, pair in enumerate(each)
    ]
    found = dict(zip(some, judged(some, seed=0), strict=True))
    played = [cell for cell, one in found.items() if one.verdict == "played"]
    for cell in played:
        assert chosen(cell)["by"] == "linearisation", cell
        assert chosen(cell)["code"] in READABLE, cell
    none = [cell.changed[0][1] for cell in some[: len(FOREIGN)] if found[cell].verdict == "no such cell"]
    assert none == ([] if base.kind is hk.FunctionSharing else ["inner"])


@pytest.mark.parametrize("base", PLAYED, ids=lambda base: base.name)
@pytest.mark.parametrize("code", FOREIGN)
def test_code_that_is_not_hocket_s_is_refused_by_name(base, code):
    """And not because its noise is not enough."""
    result = evaluate(Cell(base.name, (("code", code), ("by", "theorem"))))
    if result.verdict == "no such cell":
        return
    assert result.verdict == "refused"
    kind = base.kind.__name__
    said = {
        "instance": f"init, round of this very {kind} was put in the place of its class's own",
        "class": f"round of {kind} was put in from elsewhere",
        "inner": "Peeking is not one of hocket's classes, and nothing is known of its code",
    }
    own = f"My{kind} is not one of hocket's classes, and nothing is known of its code"
    promise = base.kind is hk.PrivateDgd and code != "wrapper"
    assert ("nothing is said of privacy" if promise else said.get(code, own)) in result.why


@pytest.mark.parametrize(
    "base", [base for base in PLAYED if base.name != "CertifiedRssNb own free"], ids=lambda base: base.name
)
@pytest.mark.parametrize("code", ["instance", "class"])
def test_an_open_list_would_be_seen(base, code, monkeypatch):
    """The cells above have power: nothing but the list refuses them, and the attack shows what they are worth."""
    for module in ("hocket.claims", "hocket.privacy.audit.theorem", "hocket.privacy.dp.conditions"):
        for name in {"foreign", "rewritten"} & {*vars(sys.modules[module])}:
            monkeypatch.setattr(sys.modules[module], name, lambda algorithm: "")
    result = evaluate(Cell(base.name, (("code", code),)))
    assert result.verdict == "played"
    if base.kind not in READ:
        assert not result.holds


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        ("FunctionSharing", (("FunctionSharing.inner", "Centralised"),)),
        ("FunctionSharing", (("relation", "transfer"), ("FunctionSharing.degree", "1"))),
        ("FunctionSharing Nids", (("FunctionSharing.family", "polynomial"),)),
        ("FunctionSharing Nids", (("step", "auto"),)),
        ("FunctionSharing Nids", (("workload", "logistic"),)),
        ("CertifiedRssNb own free", (("prox", "L1"), ("start", "far"))),
        ("CertifiedRssNb", (("step", "falling"), ("channel", "inactive"))),
        ("CertifiedRssNb", (("by", "linearisation"), ("channel", "inactive"))),
        ("FunctionSharing box", (("FunctionSharing.inner", "JointAverage"), ("by", "linearisation"))),
    ],
    ids=str,
)
def test_what_fell_is_refused(base, changed):
    """Each of these printed a number, and messages told the worlds apart for certain, or nearly so."""
    assert evaluate(Cell(base, changed)).verdict == "refused"


@pytest.mark.parametrize(
    ("base", "changed"),
    [
        ("FunctionSharing box", ("grad_at", "projected")),
        ("FunctionSharing", ("FunctionSharing.inner", "AcceleratedTracking")),
    ],
    ids=str,
)
def test_what_fell_keeps_its_promise(base, changed):
    """Objective and noise were asked at two points, which a malicious member used; and how much acceleration there is
    was worked out from the objectives."""
    result = evaluate(Cell(base, (changed,)))
    assert (result.verdict, result.holds) == ("played", True), result


def test_linearisation_claims_nothing_of_states_that_are_projected():
    """Whatever is inside function sharing: a state on the edge of a box shows that noise has pushed it there."""
    places = [("feasible", one) for one in ("box", "ball")] + [("prox", one) for one in ("L1", "own")]
    found = {
        cell: evaluate(cell)
        for inner in options.INNER
        for place in places
        if (
            cell := Cell(
                "FunctionSharing", (("FunctionSharing.inner", inner), ("by", "linearisation"), place)
            )
        )
    }
    assert {one.verdict for one in found.values()} == {"refused"}
    assert 'ask by="theorem", which holds with any projection' in found[
        Cell("FunctionSharing", (("FunctionSharing.inner", "JointAverage"), ("by", "linearisation"), places[0]))
    ].why  # fmt: skip


@pytest.mark.parametrize(
    "name", ["CertifiedRssNb own", "CertifiedRssNb clip", "FunctionSharing own", "JointAverage"]
)
def test_messages_that_are_attacked_are_those_of_the_engine(name):
    assert evaluate(Cell(name), real=True).verdict == "played"


def test_the_exact_attack_reaches_what_is_promised():
    """Where certificates are tight an attack that found less would be a weak one."""
    for name in (
        "CertifiedRssNb",
        "CertifiedRssNb clip",
        "FunctionSharing",
        "FunctionSharing Nids",
        "PrivateDgd",
    ):
        least = {"CertifiedRssNb clip": 0.4, "PrivateDgd": 0.3}.get(name, 0.999)
        assert evaluate(Cell(name)).ratio > least


@pytest.mark.parametrize("name", ["CertifiedRssNb", "FunctionSharing"])
def test_sampled_messages_are_told_apart_as_often_as_promised_and_no_oftener(name):
    """By a linear rule that is fitted to half of them; no law of the messages is used."""
    base, runs, rounds = BY_NAME[name], 500, 3
    algorithm, network = base.build(), hk.Network.complete(4)
    family = algorithm.basis if isinstance(algorithm, hk.FunctionSharing) else None
    scale = 5.0
    found = WORKLOADS["slopes"](Asked("move", 4, hk.Everywhere(), family=family))
    assert found is not None
    giver, taker, row = found.change["move"]
    more = hk.polynomials(
        [
            [0.0, slope + scale * found.change["move"][2][int(family is not None)] * sign, 0.4]
            for slope, sign in zip([1.0, 2.0, -1.0, 0.5], [0, -1, 1, 0], strict=True)
        ],
        feasible=hk.Everywhere(),
        dim=1,
    )
    moved = (giver, taker, [scale * one for one in row])
    certificate = hk.certify(
        network, algorithm, colluders=0, move=moved, rounds=rounds, problem=found.problems[0]
    )
    said = [
        transcripts(problem, network, algorithm, rounds=rounds, seeds=range(a, a + runs), step=0.1, start=0.0)
        .words.reshape(runs, -1)
        for a, problem in ((0, found.problems[0]), (runs, more))
    ]  # fmt: skip
    half = runs // 2
    means = [one[:half].mean(axis=0) for one in said]
    spread = np.cov(np.concatenate([one[:half] - mean for one, mean in zip(said, means, strict=True)]).T)
    rule = np.linalg.pinv(spread, rcond=1e-9) @ (means[1] - means[0])
    middle = rule @ (means[0] + means[1]) / 2
    right = int((said[0][half:] @ rule < middle).sum() + (said[1][half:] @ rule >= middle).sum())
    low = beta.ppf(0.001, right, 2 * half - right + 1)
    assert low <= norm.cdf(certificate.mu / 2)
    assert right / (2 * half) > norm.cdf(certificate.mu / 2) - 0.1


def test_the_other_doors_print_what_certify_certifies():
    """The command, a plan of noise and an audit: numbers that `hk.certify` prints too, whose cells are played."""
    network = hk.Network.cycle(5)
    for key in NOISE_ON:
        asked = {"sigma": 2.0, "independent": 0.5, "sensitivity": 1.0, "rounds": 4, "colluders": 1}
        command = certify_command(
            topology="cycle:5",
            algorithm=key,
            colluders=1,
            sigma="2",
            independent=0.5,
            sensitivity=1.0,
            rounds=4,
        )
        assert command.data["mu"] == pytest.approx(hk.certify(network, key, **asked).mu)  # type: ignore[index]
        plan = plan_certificate(network, key, epsilon=1.0, colluders=1, sensitivity=1.0, rounds=4)
        again = hk.certify(
            network,
            key,
            sigma=plan.sigma,
            independent=plan.independent,
            colluders=1,
            sensitivity=1.0,
            rounds=4,
        )
        assert again.epsilon(1e-6) <= 1.0 + 1e-9
        assert plan.certificate.mu == pytest.approx(again.mu)
    for base in PLAYED:
        algorithm = base.build()
        if isinstance(algorithm, hk.PrivateDgd):
            continue  # no leakage model covers it, and an audit says so
        seen = hk.audit(network, coalition=[0], algorithm=algorithm, rounds=4, step=0.1, dim=1)
        if seen.certificate is not None and seen.certificate.holds:
            change = {} if getattr(algorithm, "clip", None) else {"transfer": 1.0}
            asked = {"coalition": [0], "rounds": 4, "step": 0.1, "dim": 1}
            assert seen.certificate.mu == pytest.approx(hk.certify(network, algorithm, **asked, **change).mu)


@pytest.mark.parametrize("base", PLAYED, ids=lambda base: base.name)
def test_what_an_audit_of_a_run_begins_with_is_kept(base):
    """Where an audit promises by itself; `python -m tests.claims --all` plays it with every other option."""
    judged(
        [
            Cell(base.name, (("entry", "audit"),)),
            Cell(base.name, (("entry", "audit"), ("runs", "2"))),
            Cell(base.name, (("entry", "audit"), ("step", "auto"))),
        ],
        seed=0,
    )


def test_audits_of_the_others_begin_with_no_certificate():
    """Nor where agents take several steps between two exchanges."""
    network = hk.Network.cycle(5)
    for base, steps in [*((base, 1) for base in REFUSED), *((base, 2) for base in PLAYED)]:
        algorithm = base.build()
        if isinstance(algorithm, hk.PrivateDgd):
            continue  # no leakage model covers it, and an audit says so
        try:
            found = hk.audit(
                network, coalition=[0], algorithm=algorithm, rounds=4, step=0.1, local_steps=steps
            )
        except HocketError:
            continue
        assert found.certificate is None, base.name


GRADIENTS = [
    *(name for name, one in training.ALGORITHMS.items() if needs(one).own_gradients),
    "Dgd of one's own",
    "Dgd with a round put in",
]
"""Algorithms that take exact gradients by themselves, and never see clips, batches or noise of learning."""


@pytest.mark.parametrize("base", ["private", "clip per record", "clip per member"])
def test_training_claims_nothing_where_gradients_pass_it_by(base):
    assert len(GRADIENTS) > 10
    for name in GRADIENTS:
        cell = training.Training(base, (("train.algorithm", name),))
        assert training.evaluate(cell).verdict == "refused", str(cell)


@pytest.mark.parametrize(
    "changed", [("train.model", "batch norm"), ("train.local_steps", "3"), ("train.momentum", "0.9")], ids=str
)
def test_training_claims_nothing_of_records_that_see_each_other(changed):
    assert training.evaluate(training.Training("clip per record", (changed,))).verdict == "refused"


@pytest.mark.parametrize("base", [*training.BASES])
@pytest.mark.parametrize("name", ["batching rule", "host memory"])
def test_training_claims_nothing_where_code_beside_the_program_sees_all_records(base, name):
    """One outlier moved a member's gradient by 0.45 under a stated S of 0.05, and other members' too."""
    cell = training.Training(base, (("train.model", name), ("train.relation", "outlier")))
    assert training.evaluate(cell).verdict == "refused"


@pytest.mark.parametrize("base", ["private", "clip per record"])
def test_one_record_moves_a_message_no_farther_than_is_printed(base):
    result = training.evaluate(training.Training(base, (("train.relation", "outlier"),)))
    assert result.verdict == "played"
    assert result.holds, result


def test_whoever_speaks_of_theorems_is_listed():
    found = texts.speaking()
    new = {name: said[0][:70] for name, said in found.items() if name not in MAY_SPEAK}
    assert new == {}, "these modules speak of a claim: look at what they say, and list them in MAY_SPEAK"
    assert {*MAY_SPEAK} - {*found} == set(), (
        "these say nothing of the kind any more: take them out of MAY_SPEAK"
    )


@pytest.mark.endurance
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("base", PLAYED, ids=lambda base: base.name)
def test_no_claim_falls_in_any_pair(base):
    judged(cells.cells(base), seed=drawn())


@pytest.mark.endurance
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("base", REFUSED, ids=lambda base: base.name)
def test_nothing_is_claimed_in_any_pair_of_the_others(base):
    some = [*cells.cells(base)]
    found = zip(some, judged(some, seed=drawn()), strict=True)
    assert [str(cell) for cell, one in found if one.verdict == "played" and READ_BY not in cell.changed] == []


@pytest.mark.endurance
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("base", training.BASES)
def test_no_claim_of_training_falls(base):
    """With one option changed each, and a sample of pairs: each that is played is compiled three times."""
    seed = drawn()
    some = list(training.cells(base))
    single = [one for one in some if len(one.changed) < 2]
    pairs = [one for one in some if len(one.changed) == 2]
    chosen = np.random.default_rng(seed).choice(len(pairs), size=20, replace=False)
    broken = [
        f"{cell}: {result}"
        for cell in [*single, *(pairs[place] for place in chosen)]
        if not (result := training.evaluate(cell, seed=seed)).holds
    ]
    assert not broken, "\n".join([*broken, f"HOCKET_CLAIMS_SEED={seed} plays it again"])
