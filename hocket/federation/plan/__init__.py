"""What members agree on before round 1: cards, invitations, one plan, and each member's own policy."""
