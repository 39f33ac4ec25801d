"""Certificates held against real messages, and what they cost beside a trusted server and everybody for itself."""
