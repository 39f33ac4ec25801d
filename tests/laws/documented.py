"""The algorithms that docs/add-an-algorithm.md adds, as rows like all others."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from tests.docs.reader import blocks
from tests.laws.table import Row

PAGE = Path(__file__).parents[2] / "docs" / "add-an-algorithm.md"


def _modules() -> dict[str, ModuleType]:
    """The page's files of the package, as the modules that they would be; nobody else sees them."""
    found = {}
    for block in blocks(PAGE):
        if block.file is not None and block.file.parts[0] == "hocket":
            module = ModuleType(f"documented_{block.file.stem}")
            sys.modules[module.__name__] = module  # dataclasses look their types up there
            exec(compile(block.text, str(PAGE), "exec"), vars(module))
            found[block.file.stem] = module
    return found


MODULES = _modules()
DOCUMENTED = [
    Row("returned-noise", lambda level: MODULES["returned_noise"].ReturnedNoise(level), cancels=False),
    Row("gradient-tracking", lambda level: MODULES["gradient_tracking"].GradientTracking(), noisy=False),
]
