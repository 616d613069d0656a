"""Whether the remote cache works: `python -m autoclave.reapi`, which `./pants cache-doctor` runs with Pants' own options.

Without Pants, the options are those of its environment variables (PANTS_REMOTE_STORE_ADDRESS and so on).
Exit codes: 0 good, 1 something failed, 2 wrong usage.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from autoclave.errors import AutoclaveError
from autoclave.reapi.doctor import examine
from autoclave.reapi.findings import Finding, as_json, exit_code, rows, summary
from autoclave.reapi.settings import settings_in


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m autoclave.reapi", description="Check the remote cache.")
    made.add_argument("--required", action="store_true", help="fail if no remote cache is configured, or none is used")
    made.add_argument("--json", action="store_true", help="print JSON instead of a table")
    made.add_argument(
        "--deadline", type=float, default=10, metavar="SECONDS", help="what one step may take (default: 10)"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    args = parser().parse_args(arguments)
    findings: list[Finding] = []
    try:
        for finding in examine(settings_in(os.environ), args.deadline, required=args.required):
            findings.append(finding)
            if not args.json:
                print("\n".join(rows([finding])), flush=True)
    except AutoclaveError as error:
        print(f"cache-doctor: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(as_json(findings) if args.json else f"\n{summary(findings)}")
    return exit_code(findings)


if __name__ == "__main__":
    sys.exit(main())
