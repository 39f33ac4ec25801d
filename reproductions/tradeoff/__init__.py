"""What the paper says in words only: how noise slows convergence, and what differential privacy costs instead."""
