"""Who takes part in a run: the roster, who is present, votes, and the rule that drops silent members."""
