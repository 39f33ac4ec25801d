"""A member's keys: its identity, and the noise that both ends of a link draw alike."""
