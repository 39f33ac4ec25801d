"""Experiments that come with hocket, one file or folder each: what is run, and what is shown of it."""
