"""Whose values attackers reconstruct from plain gossip (Mrini et al., ICML 2024), and what hocket leaves of that."""
