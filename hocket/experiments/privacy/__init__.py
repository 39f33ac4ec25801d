"""What insiders learn: attacks on real runs beside what was foretold, anchors, a witness, and what graphs promise."""

from hocket.experiments.privacy.findings import conclusion, notes, tables
from hocket.experiments.privacy.runs import FULL, QUICK, Privacy, Size, play
from hocket.experiments.privacy.showing import data, write

__all__ = ["FULL", "QUICK", "Privacy", "Size", "conclusion", "data", "notes", "play", "tables", "write"]
