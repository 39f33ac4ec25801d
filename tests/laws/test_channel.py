"""Laws of lossy channels: nothing that push methods share out is lost, whatever befalls it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hocket as hk
from hocket.engines.compiled.player import Compiled
from hocket.engines.prepare import prepare
from hocket.engines.schedule import Looks
from hocket.engines.simulator import step_table
from hocket.runs.job import Job
from tests.laws.table import AGENTS, quadratics

WHEEL = hk.Network.random_directed(AGENTS, 0.35, seed=2)


@st.composite
def channels(draw: st.DrawFn) -> hk.Channel:
    """Any channel, of two kinds, so that few programs are compiled: losses alone, and all that there is."""
    loss, seed = draw(st.floats(0.05, 0.8)), draw(st.integers(0, 1 << 20))
    if draw(st.booleans()):
        return hk.Channel(loss=loss, seed=seed)
    burst = max(1.0, loss / (1 - loss)) * draw(st.floats(1, 5))
    return hk.Channel(loss=loss, inactive=draw(st.floats(0.05, 0.6)), burst=burst, delay=2, seed=seed)


def masses(channel: hk.Channel, algorithm: hk.Algorithm, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """What agents hold after so many rounds, and what is on its way, by array said, each summed over agents."""
    job = Job.asked(
        quadratics(AGENTS, 2, 3), WHEEL, algorithm, step=0.02, rounds=rounds, start=1.0, channel=channel
    )
    with jax.enable_x64(True):
        player, steps = Compiled(prepare(job, algorithm, averaging=False)), step_table(job, 0)
        carry = player.begin(jnp.asarray(job.first_states, job.dtype), steps)
        stops = np.full(64, rounds + 1)
        carry, _ = player.advance(carry, steps, stops, Looks.nowhere())
        on_the_way = [np.asarray(held).sum(axis=(0, 1, 2)) for held in carry.mail.held]
        return carry.state, on_the_way


@settings(max_examples=25)
@given(channel=channels(), rounds=st.integers(1, 60))
def test_shares_are_never_lost(channel, rounds):
    """Agents and links hold n shares together, after any number of rounds."""
    state, (_, share) = masses(channel, hk.PushSum(), rounds)
    total = np.asarray(state.share).sum() + share.sum()
    np.testing.assert_allclose(total, AGENTS, rtol=1e-12)  # float64, 60 rounds of sums of 20 numbers


@settings(max_examples=25)
@given(channel=channels(), rounds=st.integers(1, 60))
def test_what_is_tracked_is_the_sum_of_all_gradients(channel, rounds):
    """Whatever is lost, late or inactive: Σy, with what is on its way, is Σ∇f_j(x_j)."""
    state, (_, _, tracked) = masses(channel, hk.PushDiging(), rounds)
    gradients = np.asarray(state.gradient).sum(axis=0)
    size = 1 + np.abs(np.asarray(state.y)).sum() + np.abs(tracked).sum()
    np.testing.assert_allclose(np.asarray(state.y).sum(axis=0) + tracked, gradients, atol=1e-12 * size)
