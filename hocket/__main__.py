"""`python -m hocket`, the same as `hocket`."""

import sys

if (
    not sys.flags.safe_path
):  # `python -m` puts the folder where it was typed first, and others may write there
    del sys.path[0]

from hocket.cli import main

sys.exit(main())
