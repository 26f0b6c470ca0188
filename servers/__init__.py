"""Processes beside ours: PostgreSQL of Debian (`postgres`), and any that answers in JSON lines (`child`)."""
