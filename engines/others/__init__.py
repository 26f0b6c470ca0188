"""Engines that others wrote, one file each (docs/engines.md); `node` holds those that run on Node.js."""
