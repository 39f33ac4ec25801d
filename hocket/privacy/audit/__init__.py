"""One verdict: what is proved, estimated, measured, and how to mend it."""
