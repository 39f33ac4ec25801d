"""A certificate is about hocket's own code: whatever stands in its place gets none, by its name and with a reason.

What is on the list, and what attacks code that is not, is in `tests/claims`: these are the ways in, one by one.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import subprocess
import sys
from contextlib import suppress
from typing import Any

import equinox as eqx
import numpy as np
import pytest

import hocket as hk
from hocket.agent import Agent
from hocket.algorithm import Broadcast, Setting
from hocket.algorithms import BY_CLASS, BY_KEY
from hocket.algorithms.parts.compressors import BY_KEY as COMPRESSORS
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.totals import Totals
from hocket.claims import KNOWN, MECHANISMS, foreign, is_known, mechanism, only_sums, promises
from hocket.errors import BadAlgorithm, BadInput, NoTheorem
from hocket.federation.workloads.needs import Needs, masked_start, needs
from hocket.noise.draws import Gaussian, Paired
from hocket.privacy import guarantees
from hocket.privacy.audit.theorem import privacy_claim
from hocket.privacy.profile import Profile, profile
from hocket.privacy.stand_ins import TYPICAL
from hocket.report.verdict_page import judged_algorithms
from tests.units.certificate_cases import Clipped

K5 = hk.Network.complete(5)
ASK: dict[str, Any] = {"colluders": 1, "rounds": 12, "sensitivity": 0.1, "dim": 1}
READ = ASK | {"step": hk.Constant(0.1), "by": "linearisation"}
NOT_OURS = "is not one of hocket's classes, and nothing is known of its code"
LIST = {
    "certified": hk.CertifiedRssNb(1.0, 0.5),
    "clipped": hk.CertifiedRssNb(1.0, 0.5, clip=1.0),
    "masked": MaskedStart(hk.CertifiedRssNb(1.0, 0.5)),
    "joint": hk.JointAverage(own=1.0),
    "sharing": hk.FunctionSharing(2, sd=1.0, own=1.0),
    "private": hk.PrivateDgd(4.0, clip=1.0, releases=20),
}
"""One of each that may carry a promise."""


def bare(agent: Any, state: Any, k: Any) -> Any:
    """A round without noise."""
    received = yield Broadcast(state)
    return agent.descend(agent.mix(state, received), k)


def refusal(algorithm: Any, **ask: Any) -> str:
    found = hk.certify(K5, algorithm, **(ASK | ask))
    assert found.mu == math.inf
    assert not found.holds
    return found.reason


@pytest.mark.parametrize("name", LIST)
def test_what_is_on_the_list_is_hocket_s(name):
    algorithm = LIST[name]
    assert foreign(algorithm) == ""
    assert promises(algorithm) == (name == "private")
    assert name == "private" or hk.certify(K5, algorithm, **ASK | {"sensitivity": 2.0}).holds


def test_the_list_is_closed():
    """Everything public and what wraps it; nothing that a user registers."""
    assert {*MECHANISMS} == {hk.CertifiedRssNb, MaskedStart, hk.JointAverage, hk.FunctionSharing}
    assert {*KNOWN} >= {*BY_CLASS.values(), *COMPRESSORS.values(), MaskedStart, Totals}
    for kind in {type(one) for one in TYPICAL.values()}:
        assert foreign(TYPICAL.get(kind.name) or kind()) == "", kind


class Plainer(hk.CertifiedRssNb):
    """Sends a tenth of its noise."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        before = 0.1 * agent.step(k - 1)
        w = agent.perturb(state, paired=before, own=before)
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project="mixed")


class Once(hk.CertifiedRssNb):
    """Sends its state without noise, in round 7 alone."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        before = (k != 7) * agent.step(k - 1)
        w = agent.perturb(state, paired=before, own=before)
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project="mixed")


class Scant(hk.CertifiedRssNb):
    """Draws less than it has."""

    def noise(self, setting: Any) -> Any:
        return {name: draw.with_sd(1e-3) for name, draw in super().noise(setting).items()}


class Named(hk.CertifiedRssNb):
    """Has hocket's own name, and nothing else that differs."""

    name, title = "certified-rss-nb", "certified RSS-NB"


class BareSharing(hk.FunctionSharing):
    """Follows its own objective, without noise."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        return (yield from bare(agent, state, k))


class BareAverage(hk.JointAverage):
    """Gives what it has."""

    def noise(self, setting: Any) -> Any:
        return {}


class Cheaper(hk.PrivateDgd):
    """Draws a hundredth of the noise."""

    def noise(self, setting: Any) -> Any:
        return {"own": Gaussian(np.asarray(self.sigma / 100), width=setting.dim, label=6)}


class Alike(type(hk.CertifiedRssNb)):
    """Says that its classes are hocket's."""

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is hk.CertifiedRssNb

    def __hash__(cls) -> int:
        return hash(hk.CertifiedRssNb)


class Equal(hk.CertifiedRssNb, metaclass=Alike):
    """A subclass that is equal to its parent."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        return (yield from bare(agent, state, k))


@pytest.mark.parametrize("kind", [Plainer, Once, Scant, Named, Equal])
def test_a_subclass_has_no_certificate_of_its_parent(kind):
    mine = kind(1.0, 0.5)
    assert f"{kind.__name__} {NOT_OURS}" in refusal(mine)
    assert f"{kind.__name__} {NOT_OURS}" in refusal(MaskedStart(mine))
    assert hk.audit(K5, colluders=1, algorithm=mine, rounds=10).certificate is None
    again = masked_start(mine)
    assert isinstance(again, str) or f"{kind.__name__} {NOT_OURS}" in refusal(again)


@pytest.mark.parametrize(
    "mine", [BareSharing(2, sd=1.0, own=1.0), BareAverage(own=1.0)], ids=lambda one: one.name
)
def test_nor_have_subclasses_of_the_others_and_no_theorem(mine):
    assert f"{type(mine).__name__} {NOT_OURS}" in refusal(mine)
    claim = privacy_claim(mine, None)
    assert claim.theorem is None
    assert NOT_OURS in str(claim)
    assert not only_sums(mine)
    with pytest.raises(NoTheorem, match=type(mine).__name__):
        guarantees(K5, 1, algorithm=mine)
    found = hk.audit(K5, colluders=1, algorithm=mine, rounds=10, objectives="polynomial:2")
    assert found.certificate is None
    assert not found.covered
    assert "Theorem T" not in str(found)
    assert "by Theorem 2" not in str(found)


def test_a_run_of_a_subclass_prints_no_promise():
    problem = hk.polynomials([[0.0, 0.1 * j, 1.0] for j in range(5)], box=(-1, 1))
    numbers = {"epsilon": 4.0, "clip": 1.0, "releases": 20}
    promised = " ".join(hk.solve(problem, K5, hk.PrivateDgd(**numbers), rounds=3).remarks)
    assert "(4, 1e-05)-differential privacy" in promised
    said = " ".join(hk.solve(problem, K5, Cheaper(**numbers), rounds=3).remarks)
    assert "nothing is promised: Cheaper is not PrivateDgd itself" in said
    assert "differential privacy" not in said


def test_a_class_that_says_nothing_of_itself_has_none():
    """Also where its noise is normal, and would do: what it states would be its own message."""
    said = refusal(Clipped(1.0, 0.5))
    assert f"Clipped {NOT_OURS}" in said
    assert 'by="linearisation" reads the code itself' in said
    stating = type(
        "Stating", (Clipped,), {"mechanism": lambda self, setting: mechanism(LIST["certified"], setting)}
    )
    assert f"Stating {NOT_OURS}" in refusal(stating(1.0, 0.5))


@pytest.mark.parametrize("name", LIST)
def test_what_was_put_into_an_instance_is_noticed(name):
    fresh = dataclasses.replace(LIST[name])
    object.__setattr__(fresh, "round", bare)
    said = f"round of this very {type(fresh).__name__} was put in the place of its class's own"
    assert foreign(fresh) == said
    assert not promises(fresh)
    if name != "private":
        assert said in refusal(fresh)
        assert said in refusal(fresh, **{one: READ[one] for one in ("by", "step")})


class Handing:
    """Gives code in place of a method, and cannot be called itself."""

    def __get__(self, agent: Any, kind: Any) -> Any:
        return bare


def wrapped(self: Any, agent: Any, state: Any, k: Any) -> Any:
    return (yield from bare(agent, state, k))


def instead(name: str) -> Any:
    return {
        "a function": wrapped,
        "one that says it is hocket's": functools.wraps(hk.CertifiedRssNb.round)(wrapped),
        "a property": property(lambda self: bare),
        "a static one": staticmethod(bare),
        "a descriptor": Handing(),
        "a part": functools.partialmethod(wrapped),
    }[name]


@pytest.mark.parametrize(
    "what",
    ["a function", "one that says it is hocket's", "a property", "a static one", "a descriptor", "a part"],
)
@pytest.mark.parametrize("name", LIST)
def test_what_was_put_into_a_class_is_noticed(monkeypatch, name, what):
    algorithm = LIST[name]
    kind = type(algorithm)
    monkeypatch.setattr(kind, "round", instead(what))
    said = f"round of {kind.__name__} was put in from elsewhere"
    assert foreign(algorithm) == said
    assert not promises(algorithm)
    if name != "private":
        assert said in refusal(algorithm)
        assert said in refusal(algorithm, **{one: READ[one] for one in ("by", "step")})
    if kind.name in ("certified-rss-nb", "function-sharing"):
        found = hk.certify(K5, kind.name, sigma=1.0, independent=1.0, sensitivity=0.1, rounds=3, colluders=1)
        assert "and not for hocket's own code" in found.reason


@pytest.mark.parametrize("place", ["__getattribute__", "__init__", "noise", "extra"])
def test_so_is_any_other_code_of_a_class_or_of_those_it_inherits_from(monkeypatch, place):
    for kind in (hk.CertifiedRssNb, hk.Algorithm):
        with monkeypatch.context() as patch:
            patch.setattr(
                kind, place, lambda self, *given: object.__getattribute__(self, *given), raising=False
            )
            assert f"{place} of {kind.__name__} was put in from elsewhere" in foreign(LIST["certified"])
    with monkeypatch.context() as patch:
        patch.delattr(hk.CertifiedRssNb, "validate")
        assert foreign(LIST["certified"]) == "validate of CertifiedRssNb was put in from elsewhere"
    assert foreign(LIST["certified"]) == ""


class Duck:
    """Does all that an algorithm does, and is none."""

    name = title = "duck"

    def init(self, agent: Any, x: Any) -> Any:
        return x

    def noise(self, setting: Any) -> Any:
        return {}

    def validate(self, setting: Any) -> None:
        pass

    def configure(self, problem: Any, network: Any, step: Any, *, added: float = 0.0) -> Any:
        return self, step

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        return (yield from bare(dataclasses.replace(agent, plus=None), state, k))


class Inside(hk.AugDgm):
    """Asks for the gradient of the objective without its noise function."""

    def init(self, agent: Any, x: Any) -> Any:
        return super().init(dataclasses.replace(agent, plus=None), x)


@dataclasses.dataclass(frozen=True)
class Telling(hk.Compressor):
    """A compressor of somebody's own."""

    key = "telling"

    def encoded(self, v: Any, k: Any) -> Any:
        return v

    def decoded(self, word: Any, k: Any, dim: int) -> Any:
        return word

    def kept(self, dim: int) -> float:
        return 1.0


def with_round(inner: Any) -> Any:
    object.__setattr__(inner, "round", bare)
    return inner


PARTS = {
    "Duck": Duck(),
    "Inside": Inside(),
    "Telling": hk.Choco(Telling(), gamma=1.0),
    "round of this very Dgd": with_round(hk.Dgd()),
    "round of this very Nids": hk.Safeguard(with_round(hk.Nids())),
}


@pytest.mark.parametrize("said", PARTS)
def test_what_is_put_inside_function_sharing_is_looked_at(said):
    ask: dict[str, Any] = {"colluders": 1, "transfer": 0.1, "dim": 1, "step": hk.Constant(0.1)}
    for family in ("polynomial", "quadratic"):
        sharing = hk.FunctionSharing(2, sd=1.0, own=1.0, inner=PARTS[said], family=family)
        assert said in hk.certify(K5, sharing, **ask).reason
        assert said in str(privacy_claim(sharing, None))
        with pytest.raises(NoTheorem, match=said):
            guarantees(K5, 1, algorithm=sharing)


def test_hocket_s_own_parts_may_be_inside():
    ask: dict[str, Any] = {"colluders": 1, "transfer": 0.1, "dim": 1, "step": hk.Constant(0.1)}
    for inner in (hk.AugDgm(), hk.Safeguard(hk.Nids()), hk.Choco("quantised:4"), hk.JointAverage()):
        assert hk.certify(K5, hk.FunctionSharing(2, sd=1.0, inner=inner), **ask).holds
    for inner in (hk.Centralised(), Totals("")):
        with pytest.raises(BadAlgorithm, match="noise functions hide nothing there"):
            hk.FunctionSharing(2, sd=1.0, inner=inner)


def test_a_compressor_that_a_user_registers_is_not_hocket_s(monkeypatch):
    monkeypatch.setitem(COMPRESSORS, "telling", Telling)
    assert foreign(hk.Choco("telling")) == f"Telling {NOT_OURS}"


CHANGED = {
    "a grid without a clip": (LIST["certified"], {"grid": 2.0**-10}),
    "a share of persistent noise beside a clip": (LIST["clipped"], {"persistent": 0.5}),
    "a length below zero": (LIST["clipped"], {"clip": -1.0}),
    "noise below zero": (LIST["sharing"], {"own": -1.0}),
    "an average clipped to nothing": (LIST["joint"], {"clip": 0.0}),
    "an infinite budget": (LIST["private"], {"epsilon": math.inf}),
    "a failure that is certain": (LIST["private"], {"failure": 2.0}),
}


@pytest.mark.parametrize("what", CHANGED)
def test_numbers_that_are_set_later_are_checked_as_at_first(what):
    """A frozen class keeps nobody from setting a field; a grid without a clip was called exact."""
    algorithm, fields = CHANGED[what]
    changed = dataclasses.replace(algorithm)
    for name, value in fields.items():
        object.__setattr__(changed, name, value)
    assert f"this {type(algorithm).__name__} was changed after it was made: " in foreign(changed)
    assert not promises(changed)
    if what not in ("an infinite budget", "a failure that is certain"):
        assert "was changed after it was made" in str(mechanism(changed, Setting(K5, 1, hk.Constant(0.1), 3)))
        with suppress(BadInput):  # of noise that nobody can draw
            assert not hk.certify(K5, changed, **ASK).holds


class Number(float):
    """A number that counts for less where it is multiplied."""

    def __mul__(self, other: Any) -> Any:
        return 0.0 * other

    __rmul__ = __mul__


def test_a_number_is_a_number():
    assert f"Number {NOT_OURS}" in refusal(hk.CertifiedRssNb(1.0, Number(1.0)))
    assert foreign(hk.CertifiedRssNb([1.0] * 10, np.float64(1.0))) == ""
    assert foreign(hk.CertifiedRssNb({(0, 1): 2.0}, 1)) == ""


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        (hk.RssNb(1.0), "RSS-NB as printed deals uniform noise"),
        (hk.RssNb(1.0, distribution="gaussian"), "RSS-NB as printed deals gaussian noise"),
        (hk.JointAverage(own=1.0), "has no fresh noise in its first message"),
        (hk.FunctionSharing(1, sd=1.0, own=1.0), "has no fresh noise in its first message"),
        (hk.CertifiedRssNb(1.0, 0.5, persistent=1.0), "has no fresh noise in its first message"),
        (hk.CertifiedRssNb(0.0, 0.5), "has no fresh noise in its first message"),
        (MaskedStart(hk.CertifiedRssNb(1.0, 0.5)), "has no fresh noise in its first message"),
    ],
    ids=str,
)
def test_a_masked_start_is_that_of_certified_rss_nb_with_fresh_noise(inner, said):
    """By hand it can be put around anything; `masked_start` refuses these too."""
    assert said in refusal(MaskedStart(inner))
    assert isinstance(masked_start(inner), str) or isinstance(inner, hk.RssNb)


def test_a_name_stands_for_hocket_s_own_class(monkeypatch):
    """Anybody who puts a class of their own in its place gets no certificate by that name."""
    how: dict[str, Any] = {"sigma": 1.0, "independent": 1.0, "sensitivity": 0.1, "rounds": 3, "colluders": 1}
    moved: dict[str, Any] = {"transfer": 0.1, "rounds": 3, "colluders": 1}
    for name, mine in (("certified-rss-nb", Named), ("function-sharing", BareSharing)):
        assert hk.certify(K5, name, **how).holds
        monkeypatch.setitem(BY_KEY, name, mine)
        found = hk.certify(K5, name, **how)
        assert found.reason == f"{name} stands for {mine.__name__} here, and not for hocket's own code"
        assert hk.audit(K5, algorithm=name, sigma=1.0, colluders=1, rounds=3).certificate is None
        for by in ("theorem", "linearisation"):
            assert "and not for hocket's own code" in hk.certify(K5, name, by=by, sigma=1.0, **moved).reason
    assert privacy_claim("function-sharing", None).theorem is None
    monkeypatch.setitem(BY_KEY, "mine", Named)
    monkeypatch.setitem(TYPICAL, "mine", Named(1.0, 1.0))
    assert not hk.certify(K5, "mine", **how).holds
    assert privacy_claim("mine", None).theorem is None


def test_a_class_with_hocket_s_name_is_not_judged_as_its_own():
    """A page shows what follows for function sharing; of code by that name nothing follows."""

    class Posing(hk.Dgd):
        name, title = "function-sharing", "FS"

    found = hk.audit(K5, algorithm=Posing(), colluders=1, rounds=3)
    assert found.certificate is None
    assert not found.covered
    assert [*judged_algorithms(found)] == ["other"]


def test_nobody_states_facts_about_hocket_s_classes():
    """Nor that an algorithm of their own sends nothing but secure sums: only hocket's own have Theorem T."""
    with pytest.raises(BadAlgorithm, match="facts about Dgd are stated already"):
        profile.add(Profile(noise_in="messages"), hk.Dgd)
    with pytest.raises(BadAlgorithm, match="facts about JointAverage are stated already"):
        needs.add(Needs(), hk.JointAverage)

    class Mine(hk.JointAverage):
        """Shows what agents give."""

        def round(self, agent: Any, state: Any, k: Any) -> Any:
            return (yield from bare(agent, state.x, k))

    profile.add(profile(hk.JointAverage()), Mine)
    needs.add(needs(hk.JointAverage()), Mine)
    assert privacy_claim(Mine(), None).theorem is None
    assert "Theorem T" not in str(hk.audit(K5, algorithm=Mine(), colluders=1, rounds=3))


def test_is_known_is_about_the_class_itself():
    assert is_known(hk.CertifiedRssNb)
    assert Equal == hk.CertifiedRssNb
    assert not is_known(Equal)


# What the general accountant reads is what is played.


def test_what_is_read_is_what_is_sent():
    """A tenth of the noise costs ten times as much."""
    tenth = hk.certify(K5, Plainer(1.0, 0.5), **READ)
    whole = hk.certify(K5, hk.CertifiedRssNb(1.0, 0.5), **READ)
    assert tenth.mu == pytest.approx(10 * whole.mu)
    assert hk.certify(K5, Once(1.0, 0.5), **READ).mu == math.inf
    assert hk.certify(K5, Scant(1.0, 0.5), **READ).mu > 100 * whole.mu


def test_code_that_is_put_into_a_class_of_ones_own_is_read_anew():
    """It was remembered by its numbers alone: the second certificate was that of the first round."""

    class Mine(Clipped):
        """Of which a round is changed between two questions."""

    before = hk.certify(K5, Mine(1.0, 0.5), **READ).mu
    assert before < math.inf
    Mine.round = lambda self, agent, state, k: bare(agent, state, k)
    assert hk.certify(K5, Mine(1.0, 0.5), **READ).mu == math.inf


def test_what_a_user_gave_in_place_of_draws_is_not_random():
    """Function sharing with noise by hand had a certificate by linearisation, as if it were drawn."""
    ask = {one: READ[one] for one in ("colluders", "rounds", "step", "by", "dim")} | {"transfer": 0.1}
    hand = hk.FunctionSharing(2, sd=1.0, given=lambda i, j, k: np.ones(3))
    for by in ("theorem", "linearisation"):
        assert "and nothing is known of it" in refusal(hand, **ask | {"by": by, "sensitivity": None})

    class Mine(Clipped):
        """Adds noise only as long as nothing is given."""

        given: Any = None

        def round(self, agent: Any, state: Any, k: Any) -> Any:
            return (
                yield from super().round(agent, state, k) if self.given is None else bare(agent, state, k)
            )

    assert hk.certify(K5, Mine(1.0, 0.5), **READ).holds
    assert "given= of Mine takes the place of random draws" in refusal(Mine(1.0, 0.5, given=1.0), **READ)


class Configured(Clipped):
    """Is another algorithm in a run than where it is read."""

    def configure(self, problem: Any, network: Any, step: Any, *, added: float = 0.0) -> Any:
        return dataclasses.replace(self, sigma=0.0, tau=0.0), step or hk.Constant(0.1)


class Kept(Clipped):
    """Works out its step and nothing else."""

    def configure(self, problem: Any, network: Any, step: Any, *, added: float = 0.0) -> Any:
        return self, step or hk.Constant(0.1)


class Arranged(Clipped):
    """Runs on another network."""

    def arrange(self, problem: Any, network: Any) -> Any:
        return problem, network


def test_what_a_run_plays_in_place_of_what_is_read_is_refused():
    problem = hk.least_squares([np.ones((2, 1))] * 5, [np.zeros(2)] * 5, feasible=hk.Box(-1.0, 1.0))
    ask = {one: value for one, value in READ.items() if one != "dim"} | {
        "sensitivity": 20.0,
        "problem": problem,
    }
    for kind in (Configured, Kept):
        assert f"{kind.__name__} has configure of its own" in refusal(kind(1.0, 0.5), **READ)
    assert (
        "configure of Configured makes another algorithm"
        in hk.certify(K5, Configured(1.0, 0.5), **ask).reason
    )
    for kind in (Kept, Arranged):
        reason = hk.certify(K5, kind(1.0, 0.5), **ask).reason
        assert ("Arranged has arrange of its own" in reason) == (kind is Arranged)
        assert "configure" not in reason


class Peeking(hk.Dgd):
    """Looks for noise that function sharing keeps to itself, and adds it to its message where it finds any."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        seen = agent.noise("function")
        w = state if seen is None else state + 1e3 * (k > 1) * seen[1]
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)


def test_whoever_is_inside_function_sharing_sees_as_little_where_it_is_read_as_in_a_run():
    sharing = hk.FunctionSharing(1, sd=1.0, family="linear", inner=Peeking())
    problem = hk.polynomials([[0.0, 0.1 * j, 1.0] for j in range(5)], box=(-9, 9))
    seen, plain = (
        hk.solve(problem, K5, one, rounds=4, step=0.1, keep="transcript").transcript.words[0]
        for one in (sharing, hk.FunctionSharing(1, sd=1.0, family="linear"))
    )
    np.testing.assert_array_equal(seen, plain)
    ask: dict[str, Any] = {"coalition": {0}, "rounds": 4, "step": hk.Constant(0.1)}
    one, other = (
        hk.leakage(K5, algorithm, **ask).sd
        for algorithm in (sharing, hk.FunctionSharing(1, sd=1.0, family="linear"))
    )
    np.testing.assert_array_equal(one, other)


class OneByOne(Clipped):
    """Adds no noise as agent 1, where it asks for its number by way of another agent."""

    how: str = eqx.field(static=True, default="itself")

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        asked = (
            agent
            if self.how == "itself"
            else agent.disguised(None)
            if self.how == "disguised"
            else agent.with_part(1.0)
        )
        scale = agent.step(k - 1) * (asked.index != 1)
        w = state + scale * (agent.noise("paired") + agent.noise("own"))
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)


@pytest.mark.parametrize("how", ["itself", "disguised", "a part"])
def test_an_agent_that_looks_at_its_number_is_read_for_every_number(how):
    assert hk.certify(K5, OneByOne(1.0, 0.5, how=how), **READ).mu == math.inf


def test_a_run_is_audited_as_it_was_played():
    """A number of its algorithm that was set afterwards would be certified of noise that nobody drew."""
    problem = hk.polynomials([[0.0, 0.1 * j] for j in range(5)], feasible=hk.Everywhere(), dim=1)
    run = hk.solve(problem, K5, hk.CertifiedRssNb(1.0, 0.5), rounds=3, step=0.1, keep="transcript")
    certificate = hk.audit(K5, run=run, coalition={0}).certificate
    assert certificate is not None
    object.__setattr__(run.algorithm, "own", 50.0)
    with pytest.raises(BadInput, match="has other numbers than those that were played"):
        hk.audit(K5, run=run, coalition={0})


@pytest.mark.parametrize(
    ("kind", "name"), [(Agent, "perturb"), (Agent, "noise"), (Gaussian, "raw"), (Paired, "deal")]
)
@pytest.mark.parametrize("algorithm", LIST)
def test_what_rounds_are_made_with_is_looked_at_too(monkeypatch, kind, name, algorithm):
    monkeypatch.setattr(kind, name, lambda self, *given, **named: 0.0)
    assert foreign(LIST[algorithm]) == f"{name} of {kind.__name__} was put in from elsewhere"
    assert not promises(LIST[algorithm])


EARLY = """
import functools
import hocket as hk

def bare(self, agent, state, k):
    received = yield hk.Broadcast(state)
    return agent.descend(agent.mix(state, received), k)

hk.JointAverage.round = functools.wraps(hk.JointAverage.round)(bare)
found = hk.certify(hk.Network.complete(5), hk.JointAverage(own=1.0), colluders=1, rounds=3, sensitivity=0.1, dim=1)
print(found.holds, found.reason)
"""


def test_what_was_put_into_a_class_before_anything_was_asked_is_noticed():
    """The list is made when the first algorithm is loaded, and not with the first certificate."""
    said = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=True).stdout
    assert said.startswith("False round of JointAverage was put in from elsewhere")
