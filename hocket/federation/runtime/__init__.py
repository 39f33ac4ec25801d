"""One member's part in a run: its agent's generator, driven by messages from links."""
