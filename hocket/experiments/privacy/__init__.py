"""What insiders learn: attacks on real runs beside what was foretold, anchors, a witness, and what graphs promise."""

from hocket.experiments.privacy.runs import FULL, QUICK, Privacy, Size, play
from hocket.experiments.privacy.showing import data, write
from hocket.experiments.privacy.tables import conclusion, notes, tables

__all__ = ["FULL", "QUICK", "Privacy", "Size", "conclusion", "data", "notes", "play", "tables", "write"]
