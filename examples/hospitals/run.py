"""Five hospitals train one PyTorch network over TLS, each in a process of its own, and are compared with the simulator.

    python examples/hospitals/run.py [FOLDER]

Every step is a command that a real member would type on its own machine; here all of them run on this one.
"""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import torch

import hocket as hk

sys.path.insert(0, str(Path(__file__).parent))
from task import CLASSES, EACH, HIDDEN, HOSPITALS, PIXELS, SHARDS, accuracy, model, task_of, tensors

NAMES = [f"hospital-{letter}" for letter in "abcde"]
TASK = f"{Path(__file__).parent / 'task.py'}:task"
ROUNDS = 300
DELTA, ANCHOR = 0.5, 0.5
GRADIENT = 0.007
"""How large a hospital's gradient typically is, per coordinate: the plan is judged by what noise leaves of that."""
STEP = (60.0, 100, 0.75)
"""a, b and p of α_k = a/(k+b)^p, which falls from 1.9 to 0.7."""
WITHIN = 0.005
"""Half a point of accuracy."""


def hocket(folder: Path, *words: object, **environment: str) -> subprocess.Popen[bytes]:
    """One command of one member."""
    command = [sys.executable, "-P", "-m", "hocket", "peer", *map(str, words)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        command, cwd=folder, env={**os.environ, **threads, **environment}, stdout=subprocess.DEVNULL
    )


def finish(*processes: subprocess.Popen[bytes]) -> None:
    """Wait for commands; if one fails, end the others."""
    try:
        for process in processes:
            if process.wait() != 0:
                raise SystemExit(f"{' '.join(map(str, process.args))} failed")  # type: ignore[arg-type]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def federate(folder: Path) -> list[float]:
    """From nothing to five published models; returns how well each reads the held-out digits."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in NAMES]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()

    finish(
        *(
            hocket(
                folder,
                "init",
                "--name",
                name,
                "--address",
                address,
                "--home",
                name,
                "--card",
                f"cards/{name}.toml",
            )
            for name, address in zip(NAMES, addresses, strict=True)
        )
    )
    cards = [f"cards/{name}.toml" for name in NAMES]
    network = ("--topology", "cycle", "--colluders", 1, "--gradient-size", GRADIENT)
    noise = ("--algorithm", "rss-nb", "--noise-bound", DELTA, "--persistent", ANCHOR)
    course = ("--rounds", ROUNDS, "--step", ",".join(map(str, STEP)), "--dtype", "float32")
    what = ("--task", TASK, "--dataset", "digits")
    finish(hocket(folder, "plan", *cards, *network, *noise, *course, *what, HOSPITAL="0"))
    for name in NAMES:
        finish(hocket(folder, "sign", "plan.toml", "--yes", "--home", name))
    finish(
        *(
            hocket(folder, "run", "plan.toml", "--task", TASK, "--home", name, HOSPITAL=str(place))
            for place, name in enumerate(NAMES)
        )
    )
    return [accuracy(published(folder / name)) for name in NAMES]


def published(home: Path) -> torch.nn.Module:
    """What a hospital gave away, as any PyTorch program would read it."""
    finished = model()
    [path] = home.glob("runs/*/published.pt")
    finished.load_state_dict(torch.load(path, weights_only=True))
    return finished


def simulate() -> list[float]:
    """The same network, data, noise and steps in one process, with JAX in place of PyTorch."""
    parts = [[part[:EACH].numpy() for part in tensors(shard)] for shard in SHARDS]
    data = tuple(np.stack([part[which] for part in parts]) for which in (0, 1))
    start = task_of(0).start(0)
    run = hk.solve(
        hk.Problem(loss, data, feasible=hk.Everywhere(), dim=len(start)),
        hk.Network.cycle(HOSPITALS),
        hk.RssNb(delta=DELTA, persistent=ANCHOR),
        step=hk.Power(*STEP),
        rounds=ROUNDS,
        start=start,
        progress=False,
    )
    return [accuracy(filled(x)) for x in run.x]


def loss(x, data):
    """The cross entropy of the same network, from parameters in PyTorch's order."""
    images, labels = data
    sizes = np.cumsum([HIDDEN * PIXELS, HIDDEN, CLASSES * HIDDEN])
    first, shift, second, bias = jnp.split(x, sizes)
    hidden = jnp.tanh(images @ first.reshape(HIDDEN, PIXELS).T + shift)
    scores = jax.nn.log_softmax(hidden @ second.reshape(CLASSES, HIDDEN).T + bias)
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def filled(x: np.ndarray) -> torch.nn.Module:
    """The network with these parameters."""
    finished = model()
    torch.nn.utils.vector_to_parameters(torch.tensor(x, dtype=torch.float32), finished.parameters())
    return finished


def main() -> None:
    """Both, side by side."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        federation, simulator = np.mean(federate(folder)), np.mean(simulate())
    print(f"Five processes over TLS:  {federation:.1%} of held-out digits read rightly")
    print(f"The simulator:            {simulator:.1%}")
    if abs(federation - simulator) > WITHIN:
        raise SystemExit(f"they differ by more than {WITHIN:.1%}")


if __name__ == "__main__":
    main()
