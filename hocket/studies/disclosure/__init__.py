"""What may be shown of a member's rows, and what was shown before."""
