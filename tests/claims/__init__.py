"""Every claim of privacy that hocket can print, refused or played against the best attack."""
