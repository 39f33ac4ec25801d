"""Configuration files: one TOML file says everything about a run.

    [problem]
    kind = "polynomials"                  # see PROBLEMS in problems.py; or python = "mine.py:problem"
    coefficients = [[0, 0, 1], [0, -2, 1], [0, 1, 1]]         # ascending, a row per agent
    box = [-30, 30]                       # or a section [problem.feasible]

    [network]
    topology = "cycle:3"                  # or edges = [[0, 1], …], or edges_file = "links.txt"
    weights = "paper"

    [algorithm]
    name = "rss-nb"                       # or one of your own, "mine.py:Mine"
    delta = 1.0

    [step]
    a = 1.0
    b = 20
    p = 0.75

    [run]
    rounds = 10_000

A key that is misspelt, missing or of the wrong kind is named, with its section and the nearest key there is.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hocket.config.reader import (
        Config,
        command,
        new_folder,
        open_folder,
        parse_config,
        read_config,
        reopen_folder,
    )

__all__ = ["Config", "command", "new_folder", "open_folder", "parse_config", "read_config", "reopen_folder"]


def __getattr__(name: str) -> Any:
    """Loaded when first used: cards and relays need no more than sections and TOML."""
    if name not in __all__:
        raise AttributeError(f"hocket.config has no {name!r}")
    from hocket.config import reader

    return getattr(reader, name)
