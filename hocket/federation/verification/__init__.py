"""Checking a finished run: replay, signatures on results, and what members disclose for it."""
