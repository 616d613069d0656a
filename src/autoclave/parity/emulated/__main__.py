"""Check an artifact for an emulated GPU against its check file: `python -m autoclave.parity.emulated request.json`, inside the sandbox.

The request, the report and the exit codes are those of `python -m autoclave.parity`. The request may have, besides:

    translations, cpu, features
                     host code of all kernels, and what it is for: see autoclave.parity.emulated.hardware
    require_hardware_evidence
                     true: refuse what rests on rules of arithmetic that no device has confirmed

Exit code 3: nothing failed, but that evidence is not there.
"""

import sys

from autoclave.parity.checks import run_check
from autoclave.parity.emulated.hardware import WAYS


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return run_check(arguments, "autoclave.parity.emulated", WAYS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
