"""Engines carry words between agents; none of them knows an algorithm."""
