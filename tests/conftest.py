"""How hard hypothesis searches, and how long a test may take."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Most of a test's time is compilation, and most tests compile what another has compiled: keep it on disk, for all
# workers and for the next time.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Programs here run for milliseconds, and compiling one takes a second: the less XLA does for them, the better. Its
# older emitters of loops, where it still has them, take a third of the time of those that go through MLIR; where it has
# not, to ask for them ends the process.
OLDER_EMITTERS = tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11)
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_parallel_codegen_split_count=1" + " --xla_cpu_use_fusion_emitters=false" * OLDER_EMITTERS,
)

# Where in the sources each operation was written is of no use here, and takes a tenth of the time to note.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
# Every core has a worker already: more threads for linear algebra would wait for one another, at full speed.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Workers, and the processes that tests start, each compile this package anew where Python is told to keep no bytecode:
# let it be kept here, out of the way of the sources.
if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault(
        "PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
    )

SLOW_LIMIT = 900  # seconds for one slow law; every other test has the limit in pyproject.toml

# No deadline, no complaint about runs that are drawn: the first example of a shape pays for its compilation.
# In CI there are more of them, and they are fixed, so that a failure there is the change's own and not the day's luck.
settings.register_profile(
    "fast",
    max_examples=15 if "CI" in os.environ else 8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.register_profile("slow", settings.get_profile("fast"), max_examples=100)


def pytest_configure(config: pytest.Config) -> None:
    """Search harder when the slow laws are asked for; `--hypothesis-profile` overrules."""
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("slow" if config.option.markexpr == "slow" else "fast")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give slow laws the longer limit, unless they state their own."""
    for item in items:
        patient = item.get_closest_marker("slow") or item.get_closest_marker("endurance")
        if patient and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_LIMIT))


def pytest_collection_finish() -> None:
    """What was imported stays: look for rubbish among newer things only, and not as often, or it takes a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


MAPS = Path("/proc/self/maps")
MANY_MAPS = 6_000  # some 300 programs, in 1.5 GB; Linux allows a process 65,530


@pytest.fixture(scope="module", autouse=True)
def _compiled_programs_are_let_go() -> Iterator[None]:
    """Every program that JAX compiles takes megabytes and maps; a worker that kept them all would run out of either."""
    yield
    if "jax" in sys.modules and MAPS.exists() and MAPS.read_bytes().count(b"\n") > MANY_MAPS:
        sys.modules["jax"].clear_caches()


@pytest.fixture(autouse=True)
def _ports_are_let_go() -> Iterator[None]:
    """Ports that a test was promised are kept until it is over."""
    yield
    if federations := sys.modules.get("tests.peers.federation_case"):
        federations.PORTS.close()
