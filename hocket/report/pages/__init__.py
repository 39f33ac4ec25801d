"""Templates, style and scripts of all pages."""
