"""A member's table: read, restricted to the study's rows, and turned into a design matrix."""
