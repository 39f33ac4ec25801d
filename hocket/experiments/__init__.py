"""Experiments that come with hocket, one file each: what is run, and what is shown of it."""
