"""The study file: what is asked, of which columns, checked and put in words."""
