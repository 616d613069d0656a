"""Check an artifact against its check file: `python -m autoclave.parity request.json`, inside the sandbox.

The request, all paths relative to the working directory:

    artifact         the artifact
    check            its check file
    reference        optional: .npz file that autoclave.parity.reference made, for an artifact of one part
    reference_model  optional, instead of it: the fp32 ONNX that the artifact was built from
    tolerance, change_fraction, tolerance_reason
                     optional: see autoclave.parity.tolerance
    pinned_outputs   optional: {output name: sha256 of its bytes}
    unused_inputs    optional: {input name: why the model ignores it}
    device_recording optional: outputs captured on a device, see autoclave.parity.device
    command          what a person types to repeat this check; printed if it fails
    report           where to write the report as JSON

The report goes to stdout as well. Exit code 0: passed, or could not be checked, which the report warns of; 1: failed;
2: the request or a file in it is unusable.
"""

import sys

from autoclave.parity.checks import run_check
from autoclave.parity.native import WAYS


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return run_check(arguments, "autoclave.parity", WAYS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
