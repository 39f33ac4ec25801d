"""What an operator sees of a run: status, metrics, the watch page and the report."""
