"""Real databases under random transactions of concurrent clients, recorded as histories."""
