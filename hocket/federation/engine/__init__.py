"""The peers engine: one agent's generator on a member's own machine."""
