"""`python -m hocket.engines.cluster SCRIPT …`: join the cluster, then run a script in every process."""

from __future__ import annotations

import os
import runpy
import sys

from hocket.engines.cluster.processes import join


def main() -> None:
    """Run the script that the command line names, with its arguments."""
    join()
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))  # as `python SCRIPT` does
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
