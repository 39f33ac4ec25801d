"""Five members on one machine, in processes of their own, over real links: the whole thing in one command."""
