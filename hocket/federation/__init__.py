"""What members agree on, and what each of them does: cards, plans, audits of plans, tasks and running."""
