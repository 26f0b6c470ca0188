"""Proofs of the engine's rules for any number of rows: bags with symbolic multiplicities, and a solver.

`tables` gives stored tables, `interpret` evaluates plans over them, `statement` says what must hold of the
results, `prove` decides that with `solve`, `running` does so for every operator (docs/proofs.md).
"""
