"""Fetch servers' programs before they are needed, or find out that this machine cannot have them.

    python -m autoclave.servers.fetch buildbox postgresql

Exit code: 0; 2 for an error that must be looked into; 3 if the programs cannot be had on this machine.
"""

import argparse
import sys
from collections.abc import Sequence

from autoclave.errors import AutoclaveError
from autoclave.servers.debian import BUILDBOX, DEFAULT_SUITE, programs
from autoclave.servers.errors import ProgramsUnavailable
from autoclave.servers.postgresql import POSTGRESQL

SETS = {each.name: each for each in (BUILDBOX, POSTGRESQL)}


def main(words: Sequence[str] | None = None) -> int:
    """Fetch what is named, and print its folders."""
    parser = argparse.ArgumentParser(description="Fetch servers' programs into the user's cache.")
    parser.add_argument("names", nargs="+", choices=sorted(SETS), metavar="NAME", help=f"of {', '.join(sorted(SETS))}")
    parser.add_argument("--suite", default=DEFAULT_SUITE, help="Debian suite (default: %(default)s)")
    options = parser.parse_args(words)
    try:
        for name in options.names:
            print(programs(SETS[name], options.suite, say=lambda text: print(text, file=sys.stderr)))
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if isinstance(error, ProgramsUnavailable) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
