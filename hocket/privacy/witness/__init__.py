"""The proof of Theorem 2 carried out, and how much bounded noise leaves open."""
