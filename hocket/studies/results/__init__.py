"""Results of a study: files, tables, figures and the page."""
