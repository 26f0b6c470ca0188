"""`python -m dynamic_tables.session --fetch`: fills the cache: Delta's jars, and loaded classes."""

import argparse
import os
import sys

from dynamic_tables.errors import SessionError
from dynamic_tables.session.jars import DELTA
from dynamic_tables.session.launch import prepare


def main() -> int:
    """Fills the cache; returns 0 if it holds the jars, 2 with one line on stderr if not."""
    parser = argparse.ArgumentParser(prog="python -m dynamic_tables.session", description=__doc__)
    parser.add_argument("--fetch", action="store_true", required=True, help=f"fetch {DELTA} unless cached")
    parser.parse_args()
    try:
        prepare(os.environ)
    except SessionError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
