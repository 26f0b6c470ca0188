"""Lanes: built from the names of the command line, run one by one or lifted, spread over workers."""
