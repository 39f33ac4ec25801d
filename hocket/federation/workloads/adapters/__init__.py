"""Tasks from models of other frameworks. Each file imports its framework only when it is used."""
