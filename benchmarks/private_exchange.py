"""What else gives privacy for the same exchange: time, bytes, and how well agents learn with it.

    python benchmarks/private_exchange.py

Five agents on a ring hold the MLP 1024-128-64-10. First, the exchange alone: from all agents' states to the mixed ones,
through bytes. Then training on small digits with each way to exchange, in the same local steps, judged by how many
held-out digits an agent gets right; and beside it DP-SGD, which hides samples by noise that does not cancel.

They do not promise the same. Secure aggregation and CKKS need a server, and hide from it and from the others all but
what is returned: the mean, or a neighbourhood's. RSS-NB needs none, and leaves neighbours a guess that its noise
widens. DP-SGD alone protects samples from anybody who sees the final model.

Opacus is handed hocket's noise, so that both do the same work. Its own account is of another promise: a sample added
or removed in place of one replaced, and Poisson batches in place of subsets of one size. At the ε here that asks for
σ = 1.29 on a sum, where hocket's asks for 4.38.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from outcome import Claim, Section, rows
from racing import Contestant, Effort, Waiting, race
from rivals.exchanges import Exchange, Plain
from rivals.installed import has
from rivals.over_links import OverLinks
from rivals.secure_aggregation import SecureAggregation
from rivals.torch_models import Training

import hocket as hk
from hocket import learning
from hocket.learning.batches import stacked_shards
from hocket.learning.minibatches import Minibatches
from hocket.noise import threefry

AGENTS = 5
TRAINING = Training(exchanges=5, local_steps=40, batch=32, step=0.1)
DELTA = 10.0
"""Per local step, as hocket counts it; Δ over √D is the noise on one number."""
FS_BOUND = 1e-2
"""Of one coefficient: of the size of a gradient's coordinates here."""
EPSILON, FAILURE, CLIP = 8.0, 1e-5, 1.0


def sections(effort: Effort) -> list[Section]:
    few, fewer = (replace(effort, turns=min(effort.turns, most)) for most in (5, 2))
    digits = learning.digits()
    shards = learning.equal_shards(digits.train, AGENTS, seed=0)
    return [exchanging(shards, digits.test, few), training(shards, digits.test, fewer)]


def ways(dim: int) -> dict[str, Exchange]:
    """All ways to exchange; hocket's first."""
    step = TRAINING.step * TRAINING.local_steps
    found: dict[str, Exchange] = {
        "hocket, RSS-NB as over links": OverLinks(AGENTS, dim, delta=DELTA, step=step),
        "in the clear": Plain(),
        "pairwise masks and a server": SecureAggregation(AGENTS),
    }
    if has("tenseal"):
        from rivals.ckks import Ckks

        found["CKKS, mixing by weights"] = Ckks(weighted=True)
        found["CKKS, equal weights only"] = Ckks(weighted=False)
    return found


def exchanging(shards: learning.Shards, test: learning.Dataset, effort: Effort) -> Section:
    """The exchange alone, for all agents."""
    model = learning.mlp()
    states = np.asarray(model.start)[None].repeat(AGENTS, axis=0).astype(np.float32)
    states += np.random.default_rng(0).normal(0, 0.01, states.shape).astype(np.float32)
    contestants = ways(model.dim)
    paces = race(
        [Contestant(name, lambda way=way: way(states, 1), 1) for name, way in contestants.items()],
        turns=effort.turns,
        about="private exchange",
    )
    trainer, more = local_training(model, shards), {}
    waiting = Waiting("training", len(contestants))
    for name, way in contestants.items():
        waiting.tell(name)
        more[name] = {"accuracy": trained(trainer, way, model, test), "traffic": way.traffic}
        waiting.done += 1
    waiting.clear()
    own = paces["hocket, RSS-NB as over links"].rate
    claims = [
        Claim(f"exchange: RSS-NB over {name}", own / pace.rate, 100)
        for name, pace in paces.items()
        if name == "CKKS, mixing by weights"
    ]
    return Section(
        f"an exchange of {model.dim:,} numbers, ring of {AGENTS}",
        "exchanges/s",
        rows(paces, yardstick="hocket, RSS-NB as over links", more=more),
        claims,
    )


def local_training(model: learning.Model, shards: learning.Shards) -> Callable[[Any, int], Any]:
    """The local steps of all agents between two exchanges: what all ways to exchange have in common."""
    objective = Minibatches(model, threefry.seed_key(0), TRAINING.local_steps, TRAINING.batch)
    data = jax.tree.map(jnp.asarray, stacked_shards(shards.parts))
    size = TRAINING.step * TRAINING.local_steps

    @jax.jit
    def descended(mixed: Any, k: Any) -> Any:
        def one(v: Any, shard: Any) -> Any:
            return objective.local(shard)(v, k, step=size, feasible=hk.Everywhere(), plus=None)

        return jax.vmap(one)(mixed, data)

    return lambda mixed, k: np.asarray(descended(jnp.asarray(mixed), k))


def trained(
    descended: Callable[[Any, int], Any], exchange: Exchange, model: learning.Model, test: learning.Dataset
) -> float:
    """All agents' mean accuracy after training with one way to exchange."""
    states = np.asarray(model.start, np.float32)[None].repeat(AGENTS, axis=0)
    for k in range(1, TRAINING.exchanges + 1):
        states = descended(exchange(states, k), k)
    return float(np.mean(learning.evaluate(model, states, test)))


def training(shards: learning.Shards, test: learning.Dataset, effort: Effort) -> Section:
    """Whole trainings, from the same start: under RSS-NB, under FS, and with differential privacy."""
    private = learning.DpSgd(EPSILON, clip=CLIP, failure=FAILURE)
    model, right = learning.mlp(), {}
    epochs = TRAINING.exchanges * TRAINING.local_steps * TRAINING.batch * AGENTS / sum(shards.counts)

    def whole(name: str, algorithm: hk.Algorithm, **options: Any) -> Contestant:
        def turn() -> None:
            run = hk.train(
                model,
                shards,
                hk.Network.cycle(AGENTS),
                algorithm,
                test=test,
                epochs=epochs,
                step=TRAINING.step,
                local_steps=TRAINING.local_steps,
                batch=TRAINING.batch,
                every=1000,
                progress=False,
                **options,
            )
            right[name] = float(run.history["accuracy"][-1].mean())

        return Contestant(name, turn, work)

    work = AGENTS * TRAINING.exchanges * TRAINING.local_steps
    contestants = [
        whole("hocket, DGD", hk.Dgd()),
        whole("hocket, RSS-NB", hk.RssNb(DELTA)),
        whole("hocket, FS", hk.FunctionSharing(1, FS_BOUND, family="linear")),
        whole(f"hocket, DP-SGD with ε = {EPSILON:g}", hk.Dgd(), private=private),
    ]
    if has("opacus"):
        contestants.append(_opacus(private, shards, test, right, work))
    paces = race(contestants, turns=effort.turns, about="private training")
    traffic = 2 * 2 * 4 * model.dim
    more = {name: {"accuracy": value, "traffic": traffic} for name, value in right.items()}
    return Section(
        f"training on digits, {work:,} steps, evaluation included",
        "agent-steps/s",
        rows(paces, yardstick="hocket, RSS-NB", more=more),
    )


def _opacus(
    private: learning.DpSgd,
    shards: learning.Shards,
    test: learning.Dataset,
    right: dict[str, float],
    work: int,
) -> Contestant:
    from rivals.opacus_sgd import trained as opacus_trained

    steps = TRAINING.exchanges * TRAINING.local_steps
    sigma = private.sigma(samples=min(shards.counts), batch=TRAINING.batch, steps=steps)
    run = opacus_trained(shards, test, TRAINING, clip=CLIP, multiplier=sigma / CLIP, threads=1)
    name = f"Opacus, DP-SGD with ε = {EPSILON:g}"

    def turn() -> None:
        right[name] = run()

    return Contestant(name, turn, work)


if __name__ == "__main__":
    from reporting import show

    jax.config.update("jax_platforms", "cpu")
    show(sections(Effort.usual()))
