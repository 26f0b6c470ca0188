"""Runs judged as histories with derivations: versions alone, whatever the contents say."""
