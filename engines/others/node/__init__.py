"""Engines on Node.js: their npm packages in a cache of ours, and their servers as processes."""
