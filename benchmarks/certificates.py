"""How long a certificate takes on a large network, and how far bounds are from the worst coalition.

    python benchmarks/certificates.py        a minute or two, prints one table

A network of 271 agents (or as many as are named), 320 rounds, any two colluders: by bounds without a search, by a
search over all coalitions, and by the general accountant, which is told nothing about the algorithm and follows every
round, against the coalition that the search found. Floor for the accountant: each round whitens the messages of all
honest agents, one n × n factorisation. Beside every time stands the memory that the process has ever held.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import hocket as hk
from hocket.algorithm import Algorithm, Broadcast, Round, Setting
from hocket.noise.draws import Draw, Gaussian, Paired

ROUNDS, COLLUDERS = 320, 2
SIGMA, OWN, SENSITIVITY = 10.0, 1.0, 0.02
Certificate = hk.privacy.Certificate


class NoisyDescent(Algorithm):
    """Normal noise of each link and each agent, scaled like the gradient that it hides."""

    def round(self, agent: Any, state: Any, k: Any) -> Round:
        before = agent.step(k - 1)
        w = agent.perturb(state, paired=before, own=before)
        received = yield Broadcast(w)
        return agent.descend(agent.mix(w, received), k)

    def noise(self, setting: Setting) -> Mapping[str, Draw]:
        links = np.full((1, len(setting.network.links)), SIGMA)
        return {
            "paired": Paired(links, width=setting.dim, label=1, first=2, normal=True),
            "own": Gaussian(np.asarray(OWN), width=setting.dim, label=4),
        }


def main() -> None:
    """Print what each way says, in how many seconds."""
    network = hk.Network.random_regular(6, int(sys.argv[1]) if len(sys.argv) > 1 else 271, seed=0)
    noise = {"sigma": SIGMA, "independent": OWN, "sensitivity": SENSITIVITY, "rounds": ROUNDS}
    print(f"{network.name}, {ROUNDS} rounds, any {COLLUDERS} colluders, σ = {SIGMA:g}, τ = {OWN:g}")
    print(f"  {'':22}{'μ':>10}{'seconds':>10}{'peak GB':>10}  how")
    _show("bounds", lambda: hk.certify(network, "certified-rss-nb", colluders=COLLUDERS, by="bound", **noise))
    worst = _show(
        "search", lambda: hk.certify(network, "certified-rss-nb", colluders=COLLUDERS, by="search", **noise)
    )
    _show(
        "general accountant",
        lambda: hk.certify(
            network,
            NoisyDescent(),
            coalition=worst.coalition,
            sensitivity=SENSITIVITY,
            rounds=ROUNDS,
            step=0.1,  # noise is scaled by it like the gradient, so that any would do
            by="linearisation",
        ),
    )


def _show(name: str, work: Callable[[], Certificate]) -> Certificate:
    began = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  {name:22}{found.mu:10.6f}{seconds:10.1f}{peak:10.2f}  {found.searched}", flush=True)
    return found


if __name__ == "__main__":
    main()
