"""Experiments that come with hocket, one file or folder each: what is run, and what is shown of it.

Each is one value of `experiment.Experiment`, which says how much to run and what to show; `experiment.write` leaves the
same kinds of files for all of them. Claims are a ledger of their own.
"""
