"""What insiders learn: attacks on real runs beside what was predicted, persistent noise, a witness, and what graphs
promise."""
