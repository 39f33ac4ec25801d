"""Frameworks that take part in a race from a process of their own, or from one per agent."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from cases import Case
from racing import Contestant
from rivals.installed import has

FRAMEWORKS = Path(__file__).with_name("frameworks")


@contextmanager
def framework(
    name: str, module: str, script: str, case: Case, *options: str, rounds: int, processes: int = 1
) -> Iterator[list[Contestant]]:
    """A contestant that waits for its turns; none where its package is not installed."""
    if not has(module):
        yield []
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "case.npz"
        np.savez(path, B=case.network.B, start=case.start, alpha=case.alpha[:rounds], **case.data)
        command = [sys.executable, str(FRAMEWORKS / script), str(path), *options]
        if processes > 1:
            command = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(processes), *command]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            says, hears = process.stdout, process.stdin

            def answer() -> str:
                line = says.readline()
                if not line:
                    raise SystemExit(f"{name} stopped without an answer; its own message is above")
                return line

            def turn() -> str:
                hears.write(f"{rounds}\n")
                hears.flush()
                return answer()

            answer()
            yield [Contestant(name, lambda: len(turn()), rounds)]
            hears.close()
