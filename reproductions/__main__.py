"""`python -m reproductions polynomials` is `hocket reproduce polynomials`."""

import sys

from hocket.cli import main

sys.exit(main(["reproduce", *sys.argv[1:]]))
