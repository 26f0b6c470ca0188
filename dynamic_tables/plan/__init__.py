"""Plans of defining queries and of their changes: nodes, types, functions."""
