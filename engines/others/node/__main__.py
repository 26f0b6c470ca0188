"""The command `python -m engines.others.node --fetch`, part of `make setup`: installs engines on Node.js."""

import argparse
import os
import sys

from engines.others.node.packages import NodeMissing, fetch


def main() -> int:
    """Fetches the packages; returns 0 when they are in the cache, 2 with one line on stderr when not."""
    parser = argparse.ArgumentParser(prog="python -m engines.others.node", description=__doc__)
    parser.add_argument("--fetch", action="store_true", required=True, help="fetch them unless cached")
    parser.add_argument("--optional", action="store_true", help="go on without it, saying so")
    optional = parser.parse_args().optional
    try:
        fetch(os.environ)
    except NodeMissing as error:
        sys.stderr.write(f"{'note' if optional else 'error'}: {error}\n")
        return 0 if optional else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
