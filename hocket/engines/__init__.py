"""Engines carry messages between agents: compiled, over many processes, or on exact fractions. None knows an
algorithm."""
