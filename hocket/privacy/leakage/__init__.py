"""What a patient listener can estimate: leakage of a plan, read off the algorithm's own code."""
