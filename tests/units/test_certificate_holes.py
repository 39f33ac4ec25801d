"""What a hostile reader found: numbers that were printed where a theorem says infinity, each refused now."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import hocket as hk
from hocket.algorithm import Setting
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.claims import foreign
from hocket.errors import BadInput, NoTheorem
from hocket.noise.draws import Gaussian
from hocket.privacy import gdp
from hocket.privacy.attacks import likelihood_ratios
from hocket.privacy.dp.empirical import Told
from hocket.problems import Quadratic
from hocket.problems.standard import polynomials

K5 = hk.Network.complete(5)
CLIPPED = hk.CertifiedRssNb(1.0, clip=1.0)


def test_what_a_leaver_had_is_known():
    with pytest.raises(BadInput, match="agent 1 has left, and what a leaver had counts as known"):
        hk.certify(
            K5,
            "function-sharing",
            colluders=1,
            leavers={1},
            sigma=1.0,
            independent=1.0,
            sensitivity=1.0,
            records={1: 1},
        )
    with pytest.raises(BadInput, match="agent 3 has left"):
        hk.certify(K5, "function-sharing", colluders=1, leavers={3}, sigma=1.0, move=(1, 3, 0.1))


@pytest.mark.parametrize("by", ["theorem", "linearisation"])
@pytest.mark.parametrize(
    "hidden", [{"move": (1, 3, 0.5)}, {"shift": {1: 0.5, 3: -0.5}}], ids=["move", "shift"]
)
def test_clipping_is_not_linear(by, hidden):
    found = hk.certify(K5, CLIPPED, coalition={0}, rounds=10, by=by, **hidden)
    assert found.mu == math.inf
    assert "gradients are clipped, which is not linear" in found.reason


def test_small_batches_show_a_move():
    found = hk.certify(
        K5, "certified-rss-nb", coalition={0}, sigma=1.0, move=(1, 3, 0.1), rounds=5, batches=True
    )
    assert found.mu == math.inf
    assert "a step looks at some records only" in found.reason


def test_a_verdict_certifies_one_whole_step_and_says_that_what_moves_is_linear():
    algorithm = hk.CertifiedRssNb(1.0)
    several = hk.audit(K5, colluders=1, algorithm=algorithm, rounds=5, local_steps=5)
    assert several.certificate is None
    one = hk.audit(K5, colluders=1, algorithm=algorithm, rounds=5)
    assert one.certificate is not None
    assert "for a linear function: coefficients of norm 1 moved" in one.certificate.statement
    assert any("one step along their whole gradient" in str(line) for line in one.certificate.assumptions)


def test_a_sensitivity_that_counts_no_rounding_is_not_called_exact():
    algorithm = hk.CertifiedRssNb(4.0, 4.0, clip=8.0, grid=0.25)
    plan = {"colluders": 1, "rounds": 10, "dim": 3}
    assert hk.certify(K5, algorithm, sensitivity=3e-4, **plan).arithmetic == "real-arithmetic model"
    assert hk.certify(K5, algorithm, sensitivity=3e-4, on_grid=True, **plan).arithmetic == "exact"
    assert hk.certify(K5, algorithm, **plan).arithmetic == "exact"  # its own, of what it clips


@pytest.mark.parametrize(
    "hidden", [{"transfer": 0.3}, {"move": (1, 3, 0.3)}, {"shift": {1: 0.3, 3: -0.3}}], ids=str
)
def test_neither_is_a_move_beside_the_grid(hidden):
    """Coefficients of 0.3 become whole numbers of 2⁻⁶, which may be farther apart by one of them."""
    algorithm = hk.FunctionSharing(2, sd=1.0, grid=2**-6, family="quadratic")
    plan = {"colluders": 1, "dim": 1} | hidden
    if "transfer" not in hidden:
        plan = {"coalition": {0}, "dim": 1} | hidden
    assert hk.certify(K5, algorithm, **plan).arithmetic == "real-arithmetic model"
    assert hk.certify(K5, algorithm, on_grid=True, **plan).arithmetic == "exact"


def test_a_grid_that_the_algorithm_refuses_gets_no_certificate():
    coarse = hk.FunctionSharing(2, sd=1.0, own=1.0, grid=2**-3, family="quadratic")
    with pytest.raises(BadInput, match="grid"):
        hk.certify(hk.Network.complete(30), coarse, colluders=1, sensitivity=1e-3, dim=3)


def test_the_dimension_of_what_moves_is_that_of_the_noise():
    algorithm = hk.CertifiedRssNb(1.0)
    plan = {"coalition": {0}, "rounds": 10, "step": hk.Constant(0.1)}
    wide = hk.certify(K5, algorithm, move=(1, 3, [0.01] * 100), **plan)
    assert wide.mu == hk.certify(K5, algorithm, move=(1, 3, [0.01] * 100), dim=100, **plan).mu
    for by, one in itertools.product(("theorem", "linearisation"), (algorithm, hk.JointAverage(own=1.0))):
        with pytest.raises(BadInput, match="dim = 2, and what moves has 100 coefficients"):
            hk.certify(K5, one, move=(1, 3, [0.01] * 100), dim=2, by=by, **plan)


def test_so_it_is_where_code_alone_is_read():
    """By a bound Δ noise is dealt over all coordinates: of one that moves as of a hundred."""
    algorithm = hk.RssNb(1.0, distribution="gaussian")
    plan = {"coalition": {0}, "rounds": 10, "step": hk.Constant(0.1), "by": "linearisation"}

    def ask(dim: int, width: int) -> float:
        problem = polynomials([[0.0, 1.0, 0.5]] * 5, feasible=hk.Everywhere(), dim=dim)
        return hk.certify(K5, algorithm, move=(1, 3, [0.1] + [0.0] * (width - 1)), problem=problem, **plan).mu

    many, one = (
        algorithm.noise(Setting(K5, dim, hk.Constant(0.1), 10))["paired"].sd.max() for dim in (100, 1)
    )
    assert one > 1.9 * many
    assert ask(100, 100) == pytest.approx(one / many * ask(1, 1))
    with pytest.raises(BadInput, match="dim = 100, and what moves has 1 coefficient;"):
        ask(100, 1)


def test_so_is_that_of_noise_functions_by_a_bound():
    """All coefficients keep within a bound together, so that with more of them each has less noise."""
    algorithm = hk.FunctionSharing(2, 1.0, distribution="gaussian")
    ask = {"coalition": {0}, "move": (1, 3, [0.01] * 20)}
    with pytest.raises(BadInput, match="say how many there are: dim="):
        hk.certify(K5, algorithm, **ask)
    many, few = (hk.certify(K5, algorithm, dim=dim, **ask).mu for dim in (100, 7))
    assert many > 1.05 * few
    # In one dimension there are three coefficients, and twenty lie outside of what noise spans.
    assert "and noise functions of FS in dimension 1 have 3" in hk.certify(K5, algorithm, dim=1, **ask).reason


@pytest.mark.parametrize(
    "hidden", [{"shift": {"a": 1.0, 2: -1.0}}, {"move": ("a", 2, 1.0)}, {"move": (1, 2, "x")}], ids=str
)
def test_what_is_no_agent_and_no_number_is_refused_in_words(hidden):
    with pytest.raises(BadInput, match=r"no whole number|no row of coefficients"):
        hk.certify(K5, "function-sharing", coalition={0}, sigma=1.0, **hidden)


def test_a_sum_that_changes_by_one_in_a_trillion_changes():
    found = hk.certify(
        hk.Network.cycle(5), "function-sharing", coalition={0}, sigma=1e13, shift={1: 1e12, 2: -1e12 + 1}
    )
    assert found.mu == math.inf
    decimals = hk.certify(K5, "function-sharing", coalition={0}, sigma=1.0, shift={1: 0.1, 2: 0.2, 3: -0.3})
    assert decimals.mu < math.inf


def test_the_general_accountant_finds_the_worst_of_small_changes_too():
    asked = {"colluders": 1, "sigma": 1.0, "move": (1, 3, 1e-6), "rounds": 10}
    ring = hk.Network.cycle(8)
    exact, general = (
        hk.certify(ring, "certified-rss-nb", by=by, **asked).mu for by in ("theorem", "linearisation")
    )
    assert general == pytest.approx(exact, rel=1e-5)


def test_numbers_beyond_all_measure_promise_nothing():
    assert gdp.epsilon(1e160, 1e-5) == math.inf
    with pytest.raises(BadInput, match=r"agent 1\.5 is no whole number"):
        hk.certify(K5, "function-sharing", coalition={0}, sigma=1.0, shift={1: 1.0, 1.5: -1.0})


def test_a_verdict_says_what_of_it_is_differential_privacy():
    said = {
        name: hk.audit(K5, colluders=1, algorithm=one, rounds=5).statement[-1]
        for name, one in {
            "none": hk.RssNb(1.0),
            "moves": hk.CertifiedRssNb(1.0, 0.5),
            "records": hk.CertifiedRssNb(1.0, 0.5, clip=1.0),
        }.items()
    }
    assert said["none"].startswith("This is not differential privacy")
    assert not any("This is not" in said[one] for one in ("moves", "records"))
    assert "whether one record took part" in said["moves"]
    assert "Differential privacy is what the certificate says, of one record replaced" in said["records"]
    assert "whether one record took part" not in said["records"]


@pytest.mark.parametrize(("key", "theorem"), [("certified-rss-nb", "B0"), ("function-sharing", "A1")])
def test_an_algorithm_by_its_key_has_a_certificate_too(key, theorem):
    asked = {"colluders": 1, "rounds": 5, "step": hk.Constant(0.1)}
    found = hk.audit(K5, algorithm=key, sigma=2.0, **asked).certificate
    assert found is not None
    assert found.theorem == theorem
    assert "with normal draws of σ = 2 on complete:5 gives, by" in found.statement
    itself = (
        hk.CertifiedRssNb(2.0)
        if key == "certified-rss-nb"
        else hk.FunctionSharing(1, sd=2.0, family="linear")
    )
    assert found.mu == pytest.approx(hk.certify(K5, itself, transfer=1.0, **asked).mu)
    for other in ("rss-lb", "rss-nb"):
        assert hk.audit(K5, algorithm=other, sigma=2.0, **asked).certificate is None


@pytest.mark.parametrize("by", ["theorem", "linearisation"])
@pytest.mark.parametrize("clip", [None, 1.0])
def test_a_start_that_is_not_public_is_not_called_so(by, clip):
    algorithm = hk.CertifiedRssNb(1.0, 0.5, clip=clip)
    plan = {"colluders": 1, "rounds": 4, "sensitivity": 0.1, "by": by}
    public, masked = (hk.certify(K5, one, **plan) for one in (algorithm, MaskedStart(algorithm)))
    assert any("the start is public" in str(line) for line in public.assumptions)
    assert not any("the start is public" in str(line) for line in masked.assumptions)
    assert any("those runs count beside this one" in str(line) for line in masked.assumptions)
    assert masked.mu == pytest.approx(public.mu)


def test_squares_are_told_by_less_noise_than_slopes():
    """The quadratic family draws x_p² with half the variance: a move of its coefficient shows √2 times as well."""
    algorithm = hk.FunctionSharing(2, sd=1.0, family="quadratic")
    ask = {"coalition": {0}, "dim": 1}
    slope, square = (hk.certify(K5, algorithm, move=(1, 3, c), **ask).mu for c in ([0.5, 0.0], [0.0, 0.5]))
    assert square == pytest.approx(math.sqrt(2) * slope)
    # Without their places the worst is taken.
    assert hk.certify(K5, algorithm, move=(1, 3, 0.5), coalition={0}, dim=2).mu == pytest.approx(square)


def test_what_is_left_of_a_sum_is_told_by_own_noise_or_said():
    """A sum of 1 among numbers of 1e16 is lost in a float's digits, and shows beside own noise of a thousandth."""
    shift = {1: 1e16, 2: 1.0, 3: -1e16}
    told = hk.certify(K5, "function-sharing", coalition={0}, sigma=1e16, independent=1e-3, shift=shift)
    assert told.mu > 400
    alone = hk.certify(K5, "function-sharing", coalition={0}, sigma=1e16, shift=shift)
    assert any(
        "the sum of what shifts, 1 beside 1e+16, is rounding" in str(line) for line in alone.assumptions
    )


def test_the_general_accountant_bounds_all_coalitions_or_refuses():
    """Of those that were tried the worst would be no theorem about the others."""
    ring, ask = hk.Network.cycle(6), {"sigma": 1.0, "move": (1, 3, 0.1), "rounds": 3, "by": "linearisation"}
    every = hk.certify(ring, "certified-rss-nb", colluders=1, **ask)
    each = [hk.certify(ring, "certified-rss-nb", coalition={one}, **ask).mu for one in (0, 2, 4, 5)]
    assert every.searched == "the worst of all 4 coalitions"
    assert every.mu == pytest.approx(max(each))
    with pytest.raises(BadInput, match="220 coalitions of 3 are too many to account for one by one"):
        hk.certify(hk.Network.cycle(14), "certified-rss-nb", colluders=3, **ask)


@pytest.mark.slow
def test_a_move_of_a_square_is_told_as_well_as_certified_and_no_better():
    """By its raw norm 0.612 was printed, and the likelihood ratio of real words found 0.92 ± 0.12."""
    ring, algorithm = hk.Network.cycle(5), hk.FunctionSharing(2, sd=1.0, family="quadratic")

    def world(moved: float) -> hk.Problem:
        squares = [0.5, 0.6 - moved, 0.7, 0.8, 0.9 + moved]
        return polynomials([[0.0, 0.1 * j, one] for j, one in enumerate(squares)], box=(-1e6, 1e6))

    plan = {"coalition": {0}, "step": hk.Constant(0.05), "rounds": 6}
    scores = likelihood_ratios((world(0.0), world(0.5)), ring, algorithm, runs=600, start=1.0, **plan)
    low, high = Told(*scores, confidence=0.999).interval
    assert low < hk.certify(ring, algorithm, move=(1, 4, [0.0, 0.5]), dim=1, **plan).mu < high
    assert low > 0.5 * math.sqrt(3 / 2)


def test_what_two_agents_have_left_over_is_not_shared_by_all_of_the_graph():
    """A tail of 33 hangs on one agent: without it, six are left to share what a pair gives more."""
    clique = [(i, j) for i in range(6) for j in range(i)]
    net = hk.Network([*clique, (0, 6), *((6, j) for j in range(7, 40))])
    ask = {"colluders": 1, "sigma": 100.0, "independent": 1.0, "shift": {1: [1.0], 2: [1.0]}}
    bound, worst = (hk.certify(net, "function-sharing", by=one, **ask).mu for one in ("bound", "search"))
    assert bound >= worst


def test_a_penalty_that_follows_the_step_is_not_hidden_by_what_cancels():
    """The sum of all messages gave the world away in 40 of 40 runs, where 50.7 % were allowed. A penalty before the
    step, as certified RSS-NB has it, follows from messages."""
    ask = {"coalition": {0}, "move": (1, 3, [0.5]), "rounds": 50, "step": hk.Constant(0.1)}
    slopes = {"feasible": hk.Everywhere(), "dim": 1}
    for prox, holds in ((None, True), (hk.L1(4.0), False)):
        problem = hk.Problem(Quadratic(), [[1.0, 0.5]] * 5, prox=prox, **slopes)
        assert hk.certify(K5, hk.JointAverage(own=50.0), problem=problem, **ask).holds == holds
        assert hk.certify(K5, hk.CertifiedRssNb(50.0), problem=problem, **ask).holds


def bare(agent, state, k):
    received = yield hk.Broadcast(state)
    return agent.descend(agent.mix(state, received), k)


class Bare(hk.CertifiedRssNb):
    """Sends its state without noise, by a field in a method's place."""

    round: Any = eqx.field(static=True, default=bare)


class Unset(hk.CertifiedRssNb):
    """The same by a field without a value, which is not among the `vars` of its class."""

    round: Any


class Aside(eqx.Module):
    """Has a field of that name, and nothing to do with algorithms."""

    round: Any = eqx.field(static=True)


class Beside(hk.CertifiedRssNb, Aside):
    """Has that field from a base that comes after hocket's."""


class UnsetSharing(hk.FunctionSharing):
    """Function sharing whose rounds are those of a field."""

    round: Any


def with_fields(algorithm: hk.Algorithm, kind: type, **fields: Any) -> Any:
    """An algorithm's numbers in a subclass, with fields of its own beside them."""
    return kind(**{one.name: getattr(algorithm, one.name) for one in dataclasses.fields(algorithm)}, **fields)


class Unscaled(hk.CertifiedRssNb):
    """Adds noise of one size, whatever the step is."""

    def round(self, agent, state, k):
        w = agent.perturb(state, paired=1.0, own=1.0)
        received = yield hk.Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project="mixed")


def test_the_general_accountant_takes_no_step_for_granted():
    """It took 1 for all steps; with 50 the gradient beside the same noise is 50 times as large."""
    ask = {"coalition": {0}, "rounds": 4, "sensitivity": 0.1, "by": "linearisation", "dim": 1}
    unscaled = Unscaled(1.0, 1.0)
    with pytest.raises(BadInput, match="how large steps are beside its noise; say which: step="):
        hk.certify(K5, unscaled, **ask)
    one, fifty = (hk.certify(K5, unscaled, step=hk.Constant(step), **ask).mu for step in (1.0, 50.0))
    assert fifty == pytest.approx(50 * one)
    assert hk.certify(K5, hk.CertifiedRssNb(1.0, 1.0), **ask).mu == pytest.approx(one)


def test_code_in_a_field_is_not_vouched_for():
    certified = hk.CertifiedRssNb(sd=10.0, own=1.0)
    ask: dict[str, Any] = {"colluders": 1, "sensitivity": 0.1, "rounds": 5, "dim": 1}
    for mine in (
        with_fields(certified, Bare),
        with_fields(certified, Unset, round=bare),
        with_fields(certified, Beside, round=bare),
    ):
        found = hk.certify(K5, mine, **ask)
        assert f"{type(mine).__name__} is not one of hocket's classes" in found.reason
        assert not hk.certify(K5, mine, by="linearisation", step=0.1, **ask).holds
    plain = hk.FunctionSharing(2, 0.1)
    assert foreign(plain) == ""
    assert "UnsetSharing is not one of hocket's classes" in foreign(
        with_fields(plain, UnsetSharing, round=bare)
    )


class OneSided(hk.Algorithm):
    """Noise of each agent's own, and something that only shows on one side of zero, or near it."""

    how: str = eqx.field(static=True, default="floor")

    def noise(self, setting):
        return {"own": Gaussian(np.asarray(1.0), label=7, width=setting.dim)}

    def round(self, agent, state, k):
        noise = agent.noise("own")
        word = state + agent.step(k - 1) * (jnp.abs(noise) if self.how == "size" else noise)
        received = yield hk.Broadcast(word)
        v = agent.mix(word, received)
        gradient = agent.gradient(v)
        if self.how == "wait":
            gradient = jnp.where(jnp.abs(gradient) > 1e-3, gradient, 0.0)
        stepped = v - agent.step(k) * gradient
        return jnp.maximum(stepped, -1.0) if self.how == "floor" else stepped


@pytest.mark.parametrize("how", ["floor", "size", "wait"])
def test_what_shows_on_one_side_of_zero_or_near_it_is_not_affine(how):
    asked: dict[str, Any] = {"coalition": {0}, "sensitivity": 0.5, "step": 0.1, "rounds": 3}
    found = hk.certify(K5, OneSided(how), by="linearisation", **asked)
    assert found.mu == math.inf
    assert "is not affine" in found.reason


class Thousandth(Gaussian):
    """Normal by its name."""

    def raw(self, key, when, tables, dtype):
        return super().raw(key, when, tables, dtype) * 1e-3


class OtherDraws(hk.Algorithm):
    """Draws that are not what their deviation says."""

    which: str = eqx.field(static=True, default="relative")

    def noise(self, setting):
        how = {"label": 7, "width": setting.dim}
        own = Gaussian(np.asarray(1.0), **how)
        match self.which:
            case "relative":
                return {"own": Gaussian(np.asarray(1.0), relative=np.full(setting.dim, 1e-3), **how)}
            case "subclass":
                return {"own": Thousandth(np.asarray(1.0), **how)}
            case _:
                return {"own": own, "other": own}

    def round(self, agent, state, k):
        noise = agent.noise("own") - (agent.shares["other"] if self.which == "label" else 0.0)
        word = state + agent.step(k - 1) * noise
        received = yield hk.Broadcast(word)
        return agent.descend(agent.mix(word, received), k, project="mixed")


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("relative", "relative= changes its size coordinate by coordinate"),
        ("subclass", "Thousandth is not hocket's, and what it draws is not read"),
        ("label", "label = 7 is that of 'own' too, so that both are the same random numbers"),
    ],
)
def test_draws_that_are_not_what_their_deviation_says(which, says):
    how: dict[str, Any] = {"coalition": {0}, "sensitivity": 0.5, "step": 0.1, "rounds": 3}
    with pytest.raises(NoTheorem, match=says):
        hk.certify(K5, OtherDraws(which), by="linearisation", **how)
    assert "OtherDraws is not one of hocket's classes" in hk.certify(K5, OtherDraws(which), **how).reason


def test_noise_of_rounds_is_never_kept_from_run_to_run():
    """Kept under two starts, it would show the difference of two gradients bare."""
    algorithm = hk.CertifiedRssNb(1.0, 1.0)
    found = hk.certify(K5, algorithm, coalition={0}, sensitivity=0.5, rounds=3, runs=2, kept=True)
    assert "which keep their noise" not in str(found)
    assert "noise of rounds is drawn anew in each" in str(found)


def test_questions_that_mean_nothing_are_refused_in_words():
    ask: dict[str, Any] = {"sigma": 1.0, "coalition": {0}, "rounds": 3}
    with pytest.raises(BadInput, match="records is empty"):
        hk.certify(K5, "certified-rss-nb", sensitivity=1.0, records={}, **ask)
    with pytest.raises(BadInput, match="agent '1' is no whole number"):
        hk.certify(K5, "certified-rss-nb", sensitivity=1.0, records={"1": 1}, **ask)
    broken: dict[str, Any] = ask | {"coalition": {1.5}}
    with pytest.raises(BadInput, match=r"agent 1\.5 is no whole number"):
        hk.certify(K5, "certified-rss-nb", sensitivity=1.0, **broken)
    with pytest.raises(BadInput, match="every = 0; give a whole number"):
        hk.certify(K5, "certified-rss-nb", sensitivity=1.0, by="linearisation", every=0, **ask)
    with pytest.raises(BadInput, match="transfer = 'a' is a norm"):
        hk.certify(K5, "certified-rss-nb", transfer="a", **ask)  # type: ignore[arg-type]
    assert hk.certify(K5, "function-sharing", sensitivity=0.0, **ask).mu == 0.0
