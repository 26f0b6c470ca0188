"""The protocol models under random search: what a protocol does beside what it should do."""
