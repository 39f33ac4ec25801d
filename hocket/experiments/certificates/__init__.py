"""Certificates held against real words, and what they cost beside a trusted server and everybody for itself."""
