"""Four clinics and one logistic regression by secure sums, and what a curious clinic sees of the others."""

from hocket.demo.clinics.chapter import chapter
from hocket.demo.clinics.study import Clinics, clinics

__all__ = ["Clinics", "chapter", "clinics"]
