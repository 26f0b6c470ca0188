"""Transactions in the data plane: intents are rows, and which of them commit is a view.

After Frank McSherry's article "Transaction Processing in the Data Plane" (docs/protocols.md).
"""
