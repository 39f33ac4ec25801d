"""Which modules may say what: every module whose strings speak of a theorem, a certificate or an ε is listed here.

Strings that people may read are looked at, f-strings too; docstrings are not. What a module says is a claim, a
refusal, an assumption or a name; a new module that says any of it makes a test fail until somebody has looked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import hocket

ROOT = Path(hocket.__file__).parent
SPEAKS = re.compile(
    r"differential privacy|differentially private|certificate|theorem|\bε\b|equal to the pooled", re.I
)


def strings(module: Path) -> Iterator[str]:
    """Every string of a module that is not a docstring."""
    tree = ast.parse(module.read_text("utf-8"))
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def speaking() -> dict[str, list[str]]:
    """By module, the strings in which it speaks of a claim."""
    found = {}
    for module in sorted(ROOT.rglob("*.py")):
        name = module.relative_to(ROOT).as_posix()
        said = [one for one in strings(module) if SPEAKS.search(one)]
        if said:
            found[name] = said
    return found
