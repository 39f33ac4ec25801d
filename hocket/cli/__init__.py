"""The command line: a command is a function that returns an `Answer`, with a line in `app.py` or in its group.

Its arguments are its options, explained in its docstring; those that commands share are in `options.py`. Heavy modules
are imported inside the function, so that `hocket --help` is quick.
"""

from hocket.cli.app import main

__all__ = ["main"]
