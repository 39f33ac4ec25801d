"""`python -m hocket.engines.cluster SCRIPT …`: join the cluster, then run a script in every process."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from hocket.engines.cluster.processes import join


def main() -> None:
    """Run the script that the command line names, with its arguments."""
    join()
    del sys.argv[0]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))  # a script finds its neighbours, as under `python`
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
