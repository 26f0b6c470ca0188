"""What names stand for: the catalog, texts of statements, relations that a query reads."""
