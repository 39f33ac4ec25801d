"""`python -m hocket`, the same as `hocket`."""

import sys

from hocket.cli import main

sys.exit(main())
