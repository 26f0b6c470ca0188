"""Runs: a plan of scenarios, the workers that judge them, the journal that survives a crash, past runs."""
