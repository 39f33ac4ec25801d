"""A view of a run while it goes on, before and after it: a snapshot, and a page that shows it."""
