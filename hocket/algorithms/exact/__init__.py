"""Methods whose fixed point is the optimum: gaps fall by a factor in every round. None of them hides anything."""
