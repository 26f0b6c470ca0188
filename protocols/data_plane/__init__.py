"""Transactions in the data plane: intents are rows, and which of them commit is a view.

A transaction writes what it has read and what it would write: "read alice = 100, write alice = 70". It
commits if its reads find these values after all earlier transactions that commit. `resolve` computes which
do. After Frank McSherry's article "Transaction Processing in the Data Plane" (docs/protocols.md).
"""
