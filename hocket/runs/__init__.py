"""Runs: as they are asked for, what they leave behind, what a coalition saw, and the theorem that covers them."""
