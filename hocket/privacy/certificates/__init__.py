"""Certificates: differential privacy with a number, against any coalition of a size, by theorem."""

from hocket.privacy.certificates.certificate import Certificate
from hocket.privacy.certificates.certify import certify

__all__ = ["Certificate", "certify"]
