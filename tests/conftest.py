"""How hard hypothesis searches, and how long a test may take."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

SLOW_LIMIT = 600  # seconds for one slow law; every other test has the limit in pyproject.toml

# No deadline: the first example of a shape pays for its compilation.
# In CI the examples are fixed, so that a failure there is the change's own and not the day's luck.
settings.register_profile(
    "fast", max_examples=15, deadline=None, derandomize="CI" in os.environ, print_blob=True
)
settings.register_profile("slow", settings.get_profile("fast"), max_examples=100)


def pytest_configure(config: pytest.Config) -> None:
    """Search harder when the slow laws are asked for; `--hypothesis-profile` overrules."""
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("slow" if config.option.markexpr == "slow" else "fast")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow laws the longer limit, unless they state their own."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT))
