"""Executable models of the transaction protocols, each able to emit histories."""
