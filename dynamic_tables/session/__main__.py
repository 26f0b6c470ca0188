"""`python -m dynamic_tables.session --fetch`: downloads Delta's jars into the cache, as `make setup` does."""

import argparse
import os
import sys

from dynamic_tables.errors import SessionError
from dynamic_tables.session.jars import DELTA
from dynamic_tables.session.launch import fetch_jars


def main() -> int:
    """Fetches the jars; returns 0 if the cache holds them, 2 with one line on stderr if not."""
    parser = argparse.ArgumentParser(prog="python -m dynamic_tables.session", description=__doc__)
    parser.add_argument("--fetch", action="store_true", required=True, help=f"fetch {DELTA} unless cached")
    parser.parse_args()
    try:
        fetch_jars(os.environ)
    except SessionError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
