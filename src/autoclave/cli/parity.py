"""`autoclave parity`: record and replay check files, and compare with a reference, in the sandbox."""

import argparse
from pathlib import Path
from typing import Any

from autoclave.cli.confined import action_directory, add_sandbox_option, bring, deliver, produced, run_confined
from autoclave.cli.text import printable
from autoclave.errors import AutoclaveError

NAME = "parity"
HELP = "record a check file, replay it bit for bit, compare with ONNX Runtime"
EXAMPLES = """\
examples:
  autoclave parity record ARTIFACT ARTIFACT.check.zst
                        run the artifact on its check inputs and keep what comes out
  autoclave parity replay ARTIFACT ARTIFACT.check.zst
                        the same bits again? all finite? does every input matter?
  autoclave parity check ARTIFACT ARTIFACT.check.zst --reference model.onnx
                        that, and near what ONNX Runtime gives for the model in fp32 (needs onnxruntime and onnx)

Exit code 0: passed, or could not be checked, which the report warns of; 1: failed; 2: unusable input. Hardware other
than cpu has no emulator yet: its check files hold inputs only. `./pants test` does the same for declared models.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave parity`."""
    parser.epilog = EXAMPLES
    parser.add_argument("action", choices=("record", "replay", "check"), help="what to do, see the examples")
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file")
    parser.add_argument("check", type=Path, metavar="CHECK", help="its check file; record writes it")
    parser.add_argument(
        "--reference", type=Path, metavar="ONNX", help="check: the ONNX that the artifact was built from"
    )
    parser.add_argument("--seed", type=int, default=42, metavar="N", help="record: seed of the inputs (default 42)")
    parser.add_argument("--tolerance", type=float, metavar="E", help="check: largest error (default 1e-4 for cpu)")
    parser.add_argument(
        "--tolerance-reason", metavar="TEXT", help="check: why the tolerance is looser than the default"
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="replay, check: write the report as JSON as well")
    add_sandbox_option(parser)


def run(args: argparse.Namespace) -> int:
    """Carry out the action; returns its exit code."""
    if (args.action == "check") != (args.reference is not None):
        raise AutoclaveError("parity check needs --reference, the model's ONNX; parity record and replay take none")
    return _record(args) if args.action == "record" else _replay(args)


def _record(args: argparse.Namespace) -> int:
    with action_directory() as directory:
        artifact = bring(directory, "artifact", args.artifact)
        request = {"artifact": artifact, "output": "out/check.zst", "seed": args.seed}
        run_confined(directory, "autoclave.parity.record", request, {artifact: args.artifact}, args.sandbox)
        deliver(directory, "out/check.zst", args.check)
    print(printable(f"{args.check}: check inputs of seed {args.seed} and what {args.artifact} gives for them"))
    return 0


def _replay(args: argparse.Namespace) -> int:
    with action_directory() as directory:
        artifact = bring(directory, "artifact", args.artifact)
        check = bring(directory, "check", args.check)
        names = {artifact: args.artifact, check: args.check}
        request: dict[str, Any] = {
            "artifact": artifact,
            "check": check,
            "tolerance": args.tolerance,
            "tolerance_reason": args.tolerance_reason,
            "command": _command(args),
            "report": "out/report.json",
        }
        if args.reference:
            request["reference_model"] = _reference_model(args, directory)
        done = run_confined(directory, "autoclave.parity", request, names, args.sandbox)
        if args.report:
            deliver(directory, "out/report.json", args.report)
    print(printable(done.stdout), end="")
    return done.returncode


def _reference_model(args: argparse.Namespace, directory: Path) -> str:
    """The reference in fp32, as an input of the action in `directory`: upcast if the model has half-precision parts."""
    with action_directory() as other:
        model = bring(other, "model", args.reference)
        request = {"model": model, "output": "out/model.onnx", "report": "out/upcast.json"}
        run_confined(other, "autoclave.source.upcast", request, {model: args.reference}, args.sandbox)
        return bring(directory, "reference", produced(other, "out/model.onnx"))


def _command(args: argparse.Namespace) -> str:
    words = ["autoclave parity", args.action, str(args.artifact), str(args.check)]
    if args.reference:
        words += ["--reference", str(args.reference)]
    return " ".join(words)
