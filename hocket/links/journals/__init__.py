"""What a member writes down before it sends, so that a restart sends nothing twice; secrets are overwritten."""
