"""Four clinics and one logistic regression by secure sums, and what a semi-honest clinic sees of the others."""

from hocket.demo.clinics.chapter import chapter
from hocket.demo.clinics.study import Clinics, clinics

__all__ = ["Clinics", "chapter", "clinics"]
