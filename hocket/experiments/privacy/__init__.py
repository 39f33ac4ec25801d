"""What insiders learn: attacks on real runs beside what was foretold, anchors, a witness, and what graphs promise."""
