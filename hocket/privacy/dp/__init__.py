"""Certificates: differential privacy with a number, against any coalition of a size, by theorem."""
