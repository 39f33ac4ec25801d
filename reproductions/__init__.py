"""The paper reproduced: its experiments, the verdict on each of its claims, and tables of attacks.

Each experiment is one value of `reproductions.experiment.Experiment`: how much to run, and what to show.
"""
