"""Networks: who talks to whom, and with which weights."""
