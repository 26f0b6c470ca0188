"""Random defining queries: expressions, relations, groups, windows, and the style of their texts."""
