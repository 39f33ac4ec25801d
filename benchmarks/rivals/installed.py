"""Which rivals can take part: those that pip could install, each tried on its own, and why others cannot.

`python benchmarks/rivals/installed.py` installs what can be, into the environment that runs it.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

PACKAGES = {
    "tenseal": ("tenseal",),
    "opacus": ("opacus",),
    "tvopt": ("tvopt",),
    "decent_bench": ("decent-bench",),
    "disropt": ("disropt", "mpich"),
}
"""What is tried, by the module that it brings. disropt talks MPI, which comes as a package too; decent-bench needs
Python 3.13 or later."""
ABSENT = {
    "nda": "cannot be installed by name: on the package index it is another project's",
    "decentralizepy, murmura": "pip finds no package of that name (November 2026)",
    "gossipy": "its package, 0.0.1, lacks the simulator in which all average with all neighbours",
    "BlueFog": "its package, 0.3.0, has to be compiled, and its sources do not build with this PyTorch",
    "p2pfl": "its package needs NumPy below 2, hocket needs it above",
    "disropt on logistic regression": "it plays a process per agent, and 100 do not fit on a small machine",
}
"""Known, and not measured here."""


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def left_out() -> dict[str, str]:
    """Everybody who does not take part in this run, with the reason."""
    missing = {name: _reason(name) for name in PACKAGES if not has(name)}
    return missing | ABSENT


def _reason(name: str) -> str:
    note = _note(name)
    return note.read_text() if note.exists() else "not installed; `make bench` would try"


def _note(name: str) -> Path:
    return Path(sys.prefix) / f"{name}-refused.txt"


def main() -> None:
    for name, packages in PACKAGES.items():
        if has(name):
            continue
        print(f"installing {name}", flush=True)
        # What hocket stands on must not be replaced by what a rival would like better.
        command = [sys.executable, "-m", "pip", "--quiet", "--no-input", "install", *packages, "numpy>=2.1"]
        done = subprocess.run(command, capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        if done.returncode:
            _note(name).write_text(f"pip could not install it: {said[-1] if said else 'no reason given'}")
            print(f"  {_reason(name)}")


if __name__ == "__main__":
    main()
