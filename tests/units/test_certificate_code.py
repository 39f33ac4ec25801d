"""A certificate is about the code that runs: a subclass, a wrapper or a patch does not inherit its parent's promise."""

from __future__ import annotations

import math
from typing import Any

import pytest

import hocket as hk
from hocket.algorithm import Algorithm, Broadcast
from tests.units.certificate_cases import Clipped

K5 = hk.Network.complete(5)
ASK: dict[str, Any] = {"colluders": 1, "rounds": 12}
READ = ASK | {"step": hk.Constant(0.1), "by": "linearisation"}


class Plainer(hk.RssNb):
    """Says a tenth of its noise."""

    def noise_in_message(self, agent: Any, k: Any) -> Any:
        return 0.1 * super().noise_in_message(agent, k)


class Once(hk.RssNb):
    """Says its state without noise, in round 7 alone."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        w = state + (k != 7) * self.noise_in_message(agent, k)
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k, project=self.project)


class Scant(hk.RssNb):
    """Draws less than it states."""

    def draws(self, setting: Any) -> Any:
        return {name: draw.with_sd(1e-3) for name, draw in super().draws(setting).items()}


class Bare(hk.FunctionSharing):
    """Follows its own objective, without noise."""

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        received = yield Broadcast(state)
        return agent.descend(agent.mix(state, received), k)


class Wrapped(Algorithm):
    """Says what another does, and the gradient with it."""

    inner: hk.RssNb

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        received = yield Broadcast(state + 0.1 * self.inner.noise_in_message(agent, k))
        return agent.descend(agent.mix(state, received), k)

    def draws(self, setting: Any) -> Any:
        return self.inner.draws(setting)

    def mechanism(self, setting: Any) -> Any:
        return self.inner.mechanism(setting)


@pytest.mark.parametrize("kind", [Plainer, Once, Scant])
def test_a_subclass_that_speaks_otherwise_has_no_certificate_of_its_parent(kind):
    assert hk.certify(K5, hk.RssNb.certified(1.0, 0.5), sensitivity=0.1, **ASK).holds
    found = hk.certify(K5, kind.certified(1.0, 0.5), sensitivity=0.1, **ASK)
    assert found.mu == math.inf
    assert f"{kind.__name__} has " in found.reason
    assert "states the noise of RssNb" in found.reason


def test_a_subclass_of_function_sharing_neither():
    found = hk.certify(K5, Bare(2, sd=1.0, own=1.0), colluders=1, sensitivity=0.1)
    assert "Bare has round of its own" in found.reason
    assert hk.audit(K5, colluders=1, algorithm=Bare(2, sd=1.0, own=1.0), rounds=10).certificate is None


def test_a_subclass_with_another_label_keeps_it():
    class Named(hk.RssNb):
        label = "ours"

        def remarks(self, problem: Any, network: Any) -> list[str]:
            return []

    assert hk.certify(K5, Named.certified(1.0, 0.5), sensitivity=0.1, **ASK).holds


def test_what_was_put_into_an_instance_or_a_class_is_noticed(monkeypatch):
    patched = hk.RssNb.certified(1.0, 0.5)
    object.__setattr__(patched, "noise_in_message", lambda agent, k: 0.0)
    for ask in (ASK, READ):
        found = hk.certify(K5, patched, sensitivity=0.1, **ask)
        assert "noise_in_message of this very RssNb was put in the place" in found.reason
    monkeypatch.setattr(hk.RssNb, "noise_in_message", lambda self, agent, k: 0.0)
    found = hk.certify(K5, hk.RssNb.certified(1.0, 0.5), sensitivity=0.1, **ASK)
    assert "noise_in_message of RssNb was put in from elsewhere" in found.reason


def test_what_a_wrapper_states_is_held_against_its_own_words():
    found = hk.certify(K5, Wrapped(hk.RssNb.certified(1.0, 0.5)), sensitivity=0.1, **ASK)
    assert found.mu == math.inf
    masked = hk.RssNb.certified(1.0, 0.5).masked()
    assert hk.certify(K5, masked, sensitivity=0.1, **ASK).holds
    assert not hk.certify(K5, Plainer.certified(1.0, 0.5).masked(), sensitivity=0.1, **ASK).holds


class Disguised(Plainer):
    """Has another play its part where it is read."""

    def by_coordinate(self, setting: Any) -> Any:
        return hk.RssNb.certified(self.sd, self.own)


class Posing(Clipped):
    """The same, with a mechanism of its own."""

    def mechanism(self, setting: Any) -> Any:
        return super().mechanism(setting)

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        received = yield Broadcast(state)
        return agent.descend(agent.mix(state, received), k)

    def by_coordinate(self, setting: Any) -> Any:
        return Clipped(self.sigma, self.tau)


def test_nobody_else_is_read_in_its_place():
    found = hk.certify(K5, Disguised.certified(1.0, 0.5), sensitivity=0.1, **READ)
    assert "Disguised has by_coordinate of its own" in found.reason
    assert not hk.certify(K5, Posing(1.0, 0.5), **READ).holds
    assert "another algorithm stands in for Posing" in hk.certify(K5, Posing(1.0, 0.5), **ASK).reason
    # What is read is what is said: a tenth of the noise costs ten times as much.
    tenth = hk.certify(K5, Plainer.certified(1.0, 0.5), sensitivity=0.1, **READ)
    whole = hk.certify(K5, hk.RssNb.certified(1.0, 0.5), sensitivity=0.1, **READ)
    assert tenth.mu == pytest.approx(10 * whole.mu)


class Loud(Clipped):
    """States more than it says, in one round of many."""

    def mechanism(self, setting: Any) -> Any:
        return super().mechanism(setting)

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        w = state + agent.step(k - 1) * (agent.paired_noise(k) + (k != 9) * agent.own_noise(k))
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)


class Twice(Clipped):
    """Takes two gradients' worth of a step."""

    def mechanism(self, setting: Any) -> Any:
        return super().mechanism(setting)

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        w = state + agent.step(k - 1) * (agent.paired_noise(k) + agent.own_noise(k))
        received = yield Broadcast(w)
        v = agent.mix(w, received)
        return v - 2 * agent.step(k) * agent.gradient(v)


class Remembering(Clipped):
    """Keeps its noise, so that the next word shows it again."""

    def mechanism(self, setting: Any) -> Any:
        return super().mechanism(setting)

    def round(self, agent: Any, state: Any, k: Any) -> Any:
        noise = agent.step(k - 1) * (agent.paired_noise(k) + agent.own_noise(k))
        w = state + noise
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k) - noise


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Loud, "in round 9 Loud says noise of its own of 0 over a gradient times"),
        (Twice, "over a gradient times 2, and states"),
        (Remembering, "puts noise into its state"),
    ],
)
def test_whoever_states_its_own_noise_is_played_round_by_round(kind, why):
    assert hk.certify(K5, Clipped(1.0, 0.5), **ASK).holds
    found = hk.certify(K5, kind(1.0, 0.5), **ASK)
    assert found.mu == math.inf
    assert why in found.reason
