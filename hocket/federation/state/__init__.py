"""What a member keeps on its own disk: keys, run folders, and the account of what its data have served."""
