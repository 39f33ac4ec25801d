"""The bench: many algorithms on many problems and networks, compared; and their steps and noise, tuned."""

from __future__ import annotations

from hocket.bench.compare import compare
from hocket.bench.comparison import Comparison
from hocket.bench.ranking import Ranking
from hocket.bench.tuning import Tuning, tune

__all__ = ["Comparison", "Ranking", "Tuning", "compare", "tune"]
