"""What people look at after a run: figures, tables, and one page that holds them all."""
