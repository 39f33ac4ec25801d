"""Secure summation: group arithmetic, fixed point and noise on a sum. Engines, studies and federations share it."""
