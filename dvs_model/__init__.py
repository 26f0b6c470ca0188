"""The theory: histories with derivations, their graphs, phenomena, levels and verdicts. Pure."""
