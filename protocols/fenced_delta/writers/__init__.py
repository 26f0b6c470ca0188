"""Real writers of the protocol."""
