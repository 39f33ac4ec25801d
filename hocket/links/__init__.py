"""Links between members: identities, keys, frames, channels and the journal. Knows nothing of algorithms."""
