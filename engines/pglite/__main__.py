"""The command `python -m engines.pglite --fetch`: installs PostgreSQL with pg_ivm, as `make setup` does."""

import argparse
import os
import sys

from engines.pglite.packages import PgliteMissing, fetch


def main() -> int:
    """Fetches the packages; returns 0 when they are in the cache, 2 with one line on stderr when not."""
    parser = argparse.ArgumentParser(prog="python -m engines.pglite", description=__doc__)
    parser.add_argument("--fetch", action="store_true", required=True, help="fetch PGlite unless cached")
    parser.add_argument("--optional", action="store_true", help="go on without it, saying so")
    optional = parser.parse_args().optional
    try:
        fetch(os.environ)
    except PgliteMissing as error:
        sys.stderr.write(f"{'note' if optional else 'error'}: {error}\n")
        return 0 if optional else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
