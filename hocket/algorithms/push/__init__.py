"""Methods for directed links, where weights balance over what is sent. None of them hides anything."""
