"""A Chromium for the browser tests: one on the PATH, or Playwright's own. As a script: install one if there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import sync_playwright

ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MISSING = (
    "the browser tests need Chromium, and none is on the PATH or could be installed; install one with "
    "`apt-get install chromium` as root, with `python -m playwright install --with-deps chromium`, or by hand"
)
PATIENCE = 900
"""Seconds for one way of installing."""


def found() -> str | None:
    """The path of a Chromium that starts, or None."""
    return next((path for path in _candidates() if path and _starts(path)), None)


def _candidates() -> Iterator[str | None]:
    yield from map(shutil.which, ON_PATH)
    # Asking Playwright starts its driver, which on a bare system may itself lack a library that apt-get brings along.
    with suppress(Exception), sync_playwright() as playwright:
        yield playwright.chromium.executable_path


def _starts(path: str) -> bool:
    """Playwright's may not have been downloaded, or may lack libraries of the system."""
    if not Path(path).exists():
        return False
    return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0


def ways_to_install() -> list[list[list[str]]]:
    """Commands that may bring a Chromium, the least intrusive first."""
    ways = [[[sys.executable, "-m", "playwright", "install", "chromium"]]]
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        packages = ["chromium", "libatomic1"]  # the latter is for Playwright's driver
        ways.append(
            [["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", *packages]]
        )
    return ways


def install() -> str | None:
    """Try each way in turn until a Chromium starts."""
    path = found()
    for way in ways_to_install():
        if path is not None:
            break
        for command in way:
            sys.stdout.write(f"Browser tests need Chromium; trying: {' '.join(command)}\n")
            sys.stdout.flush()
            try:
                subprocess.run(
                    command,
                    env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                    timeout=PATIENCE,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                sys.stdout.write(f"{error}\n")
        path = found()
    return path


if __name__ == "__main__":
    if install() is None:
        sys.stderr.write(
            f"{MISSING}\n"
        )  # the tests that need it fail with the same words; the others can still run
