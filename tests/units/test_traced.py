"""Objectives whose code runs beside the traced program: no promise of one member or record is made of them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.custom_batching import custom_vmap

import hocket as hk
from hocket.errors import BadProblem
from hocket.problems.traced import check_traced

RING = hk.Network.cycle(5)


@custom_vmap
def largest(c: Any) -> Any:
    return c


@largest.def_vmap
def _(size: int, batched: list[bool], c: Any) -> Any:
    return jnp.full(size, jnp.max(c)), True


def on_the_host(c: Any) -> Any:
    return jax.pure_callback(
        lambda one: one, jax.ShapeDtypeStruct(c.shape, c.dtype), c, vmap_method="sequential"
    )


def towards(most: Any) -> Any:
    """An objective of which every agent's gradient shows the largest number that any agent has."""

    @jax.custom_vjp
    def loss(x: Any, c: Any) -> Any:
        return x.sum()

    loss.defvjp(
        lambda x, c: (x.sum(), (x, most(c))),
        lambda kept, slope: (slope * jnp.sign(kept[1] - 0.5) * jnp.ones_like(kept[0]), 0 * kept[1]),
    )
    return loss


def asked(loss: Any, last: float = 0.0) -> hk.Problem:
    return hk.Problem(loss, np.array([0.0, 0.0, 0.0, 0.0, last]), feasible=hk.Box(-9, 9), dim=1)


@pytest.mark.parametrize("most", [largest, on_the_host], ids=["batching rule", "host"])
@pytest.mark.parametrize(
    "algorithm",
    [hk.PrivateDgd(1.0, 1.0, 3), hk.CertifiedRssNb(1.0, 1.0, clip=1.0)],
    ids=lambda one: one.title,
)
def test_a_gradient_that_may_follow_from_others_data_is_refused_under_a_promise(algorithm, most):
    """Each of 30 agents showed the datum of one: 71 of 100 guesses were right where 55 were promised at most."""
    with pytest.raises(BadProblem, match=r"calls (a batching rule|code on the host).*in jax.numpy alone"):
        hk.solve(asked(towards(most)), RING, algorithm, rounds=3, step=0.1)


def test_without_a_promise_nothing_is_refused_and_one_agents_datum_moves_all():
    moved = [
        hk.solve(asked(towards(largest), last), RING, hk.Dgd(), rounds=1, step=0.1, start=0.0).x[0, 0]
        for last in (0.0, 1.0)
    ]
    np.testing.assert_allclose(moved, [0.1, -0.1])


def test_it_is_found_in_whatever_it_is_nested():
    def deep(x: Any, c: Any) -> Any:
        step = jax.jit(lambda total, _: (jax.lax.cond(total > 0, largest, lambda one: one, total), None))
        return jax.checkpoint(lambda one: jax.lax.scan(step, one, None, length=2)[0])(c) * x.sum()

    with pytest.raises(BadProblem, match="a batching rule of its own"):
        check_traced(asked(deep))
    check_traced(asked(lambda x, c: jnp.sum(jnp.tanh(x - c) ** 2)))
