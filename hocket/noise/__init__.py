"""Noise: how it is drawn, from counters, and dealt out to agents so that it cancels."""

from hocket.noise.draws import Balanced, Draw, Gaussian, Lonely, Own, Pair, Paired, When

__all__ = ["Balanced", "Draw", "Gaussian", "Lonely", "Own", "Pair", "Paired", "When"]
