"""The command line: `hocket demo`, `hocket solve FILE.toml`.

A command is one file with one function that returns an `Answer`, and one line in `app.py`. Heavy modules are
imported inside that function, so that `hocket --help` is quick.
"""

from hocket.cli.app import main

__all__ = ["main"]
