"""Ratios measured side by side; not packaged."""
