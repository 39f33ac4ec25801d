"""A process that forks members who have imported everything already: one that was killed is back within moments.

Its argument is the federation's folder. For each line "NAME PAUSE" on its standard input it starts that member, and
answers with the number of its process. When that input ends it kills all processes of its group, itself among them: it
is started as the first of a group.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

from . import quadratic
from .member_process import take_part_as


def born(folder: Path, name: str, pause: float) -> int:
    """One member in a process of its own, whose complaints go to a file."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        errors = os.open(folder / f"{name}.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDWR)
        for given, standard in ((nothing, 0), (nothing, 1), (errors, 2)):
            os.dup2(given, standard)
        quadratic.PAUSE = pause
        take_part_as(folder, name)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        name, pause = line.split()
        print(born(Path(sys.argv[1]), name, float(pause)), flush=True)  # noqa: T201
    os.killpg(0, signal.SIGKILL)
