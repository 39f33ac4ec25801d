"""Problems from other libraries' cost functions, where those are installed: nothing here imports them."""

from hocket.problems.adapters.decent_bench import from_decent_bench
from hocket.problems.adapters.disropt import from_disropt

__all__ = ["from_decent_bench", "from_disropt"]
