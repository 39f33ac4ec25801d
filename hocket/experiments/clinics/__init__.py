"""Four clinics and one logistic regression by totals, and what a curious clinic sees of the others."""

from hocket.experiments.clinics.chapter import chapter
from hocket.experiments.clinics.study import Clinics, clinics

__all__ = ["Clinics", "chapter", "clinics"]
