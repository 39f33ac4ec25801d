"""A task's file as a user would write it."""

from tests.peers.quadratic import task

__all__ = ["task", "wrong"]

wrong = 7
