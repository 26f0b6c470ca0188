"""Files that hold histories: one module per format, one visible registry."""
