"""`autoclave parity`: record and replay check files, compare with a reference, find the launch that differs, in the sandbox."""

import argparse
import math
import shlex
from pathlib import Path
from typing import Any

from autoclave.cli.confined import action_directory, add_sandbox_option, bring, deliver, produced, run_confined
from autoclave.cli.modules import CHECK, NATIVE_CHECK, NATIVE_RECORD, RECORD, device_of
from autoclave.cli.text import natural, printable
from autoclave.driving.kinds import COMPOSITIONS
from autoclave.errors import AutoclaveError

NAME = "parity"
HELP = "record a check file, replay it bit for bit, compare with ONNX Runtime, find the launch that differs"
EXAMPLES = """\
examples:
  autoclave parity record ARTIFACT ARTIFACT.check.zst
                        run the artifact on its check inputs and keep what comes out
  autoclave parity replay ARTIFACT ARTIFACT.check.zst
                        the same bits again? all finite? does every input matter?
  autoclave parity check ARTIFACT ARTIFACT.check.zst --reference model.onnx
                        that, and near what ONNX Runtime gives for the model in fp32 (needs onnxruntime and onnx)
  autoclave parity check ARTIFACT ARTIFACT.check.zst --reference vision=vision.onnx --reference policy=policy.onnx
                        the same of a driving model in several files
  autoclave parity replay ARTIFACT ARTIFACT.check.zst --bisect OTHER_ARTIFACT
                        which is the first launch that computes something else than that of the other artifact? In all parts,
                        or in the one that --part names
  autoclave parity record ARTIFACT ARTIFACT.check.zst --launches LAUNCHES.json
  autoclave parity replay ARTIFACT ARTIFACT.check.zst --bisect LAUNCHES.json
                        or than it did when LAUNCHES.json was written?
  autoclave parity replay ARTIFACT ARTIFACT.check.zst --device-recording RECORDING.npz
                        the same bits as a real device gave?

Artifacts for cpu run natively, those for qcom and chestnut on an emulator. Exit code 0: passed, or could not be checked, which
the report warns of; 1: failed; 2: unusable input; 3: nothing failed, but the demanded evidence is not there. `./pants test`
does the same for declared models.
"""

PARTS = tuple(dict.fromkeys(part for each in COMPOSITIONS for part in each.parts))
"""What a file of a driving model can be."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave parity`."""
    parser.epilog = EXAMPLES
    parser.add_argument("action", choices=("record", "replay", "check"), help="what to do, see the examples")
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file")
    parser.add_argument("check", type=Path, metavar="CHECK", help="its check file; record writes it")
    parser.add_argument("--seed", type=natural, metavar="N", help="record: seed of the inputs (default 42)")
    parser.add_argument(
        "--launches",
        type=Path,
        metavar="FILE",
        help="record, qcom and chestnut: keep hashes of what each launch wrote, for --bisect",
    )
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="ONNX",
        help="check: the ONNX that the artifact was built from; of a driving model in several files PART=ONNX, once for each",
    )
    parser.add_argument(
        "--tolerance", type=_tolerance, metavar="E", help="check: largest error (default 1e-4 for cpu, 5e-3 for others)"
    )
    parser.add_argument(
        "--tolerance-reason", metavar="TEXT", help="check: why the tolerance is looser than the default"
    )
    parser.add_argument(
        "--bisect",
        type=Path,
        metavar="OTHER",
        help="replay, check, qcom and chestnut: find the first launch that differs from another artifact's, or from recorded launches",
    )
    parser.add_argument(
        "--part", metavar="KEY", help="with --bisect: which part to compare, a name or WIDTHxHEIGHT (default: all)"
    )
    parser.add_argument(
        "--device-recording",
        type=Path,
        metavar="FILE",
        help="replay, check: outputs captured on a device (.npz, or a check file), which must match bit for bit",
    )
    parser.add_argument(
        "--require-hardware-evidence",
        action="store_true",
        help="replay, check, qcom and chestnut: exit with 3 if the result rests on rules of arithmetic that no device has confirmed",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="replay, check: write the report as JSON as well")
    add_sandbox_option(parser)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number from 0 up, got {text}")
    return value


def run(args: argparse.Namespace) -> int:
    """Carry out the action; returns its exit code."""
    if (args.action == "check") != bool(args.reference):
        raise AutoclaveError("parity check needs --reference, the model's ONNX; parity record and replay take none")
    with action_directory() as directory:
        bring(directory, "artifact", args.artifact)  # its message if there is no such file
        if args.bisect:
            bring(directory, "other", args.bisect)  # before the replay, which takes a while
    device = device_of(args.artifact)
    _refuse_misplaced(args, device)
    if args.bisect:
        from autoclave.parity.emulated.sides import check_sides

        check_sides(args.artifact, args.bisect, args.part)
    if args.action == "record":
        return _record(args, device)
    code = _replay(args, CHECK.get(device, NATIVE_CHECK))
    return (_bisect(args, CHECK[device]) or code) if args.bisect else code


_EMULATED = ("--launches", "--bisect", "--require-hardware-evidence")
"""What is for artifacts that run on an emulator."""


def _refuse_misplaced(args: argparse.Namespace, device: str) -> None:
    """Raise `AutoclaveError` for an option that the action or the artifact's hardware has no use for."""
    recording = args.action == "record"
    for option, given, usable in (
        ("--seed", args.seed is not None, recording),
        ("--launches", args.launches, recording),
        ("--bisect", args.bisect, not recording),
        ("--device-recording", args.device_recording, not recording),
        ("--require-hardware-evidence", args.require_hardware_evidence, not recording),
        ("--report", args.report, not recording),
        ("--tolerance", args.tolerance is not None, args.action == "check"),
        ("--tolerance-reason", args.tolerance_reason, args.action == "check"),
    ):
        if given and not usable:
            raise AutoclaveError(f"parity {args.action} takes no {option}; see `autoclave parity --help`")
        if given and device not in CHECK and option in _EMULATED:
            raise AutoclaveError(f"{option} is for artifacts that run on an emulator; {args.artifact} is for {device}")
    if args.part and not args.bisect:
        raise AutoclaveError("--part is for --bisect; record, replay and check take all parts")


def _record(args: argparse.Namespace, device: str) -> int:
    module = RECORD.get(device, NATIVE_RECORD)
    seed = 42 if args.seed is None else args.seed
    with action_directory() as directory:
        artifact = bring(directory, "artifact", args.artifact)
        request = {"artifact": artifact, "output": "out/check.zst", "seed": seed}
        if args.launches:
            request["launches"] = "out/launches.json"
        run_confined(directory, module, request, {artifact: args.artifact}, args.sandbox)
        deliver(directory, "out/check.zst", args.check)
        if args.launches:
            deliver(directory, "out/launches.json", args.launches)
    print(printable(f"{args.check}: check inputs of seed {seed} and what {args.artifact} gives for them"))
    return 0


def _replay(args: argparse.Namespace, module: str) -> int:
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
            request |= _references(args, directory)
        if args.device_recording:
            request["device_recording"] = bring(directory, "recording", args.device_recording)
            names[request["device_recording"]] = args.device_recording
        if args.require_hardware_evidence:
            request["require_hardware_evidence"] = True
        done = run_confined(directory, module, request, names, args.sandbox)
        if args.report:
            deliver(directory, "out/report.json", args.report)
    print(printable(done.stdout), end="")
    return done.returncode


def _bisect(args: argparse.Namespace, module: str) -> int:
    with action_directory() as directory:
        artifact = bring(directory, "artifact", args.artifact)
        check = bring(directory, "check", args.check)
        other = bring(directory, "other", args.bisect)
        names = {artifact: args.artifact, check: args.check, other: args.bisect}
        request = {"artifact": artifact, "check": check, "other": other}
        if args.part:
            request["part"] = args.part
        done = run_confined(directory, f"{module}.bisect", request, names, args.sandbox)
    print(printable(done.stdout), end="")
    return done.returncode


def _references(args: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """The request's field of the reference models, which are inputs of the action in `directory`."""
    if len(args.reference) == 1 and _part_and_file(args.reference[0])[0] is None:
        return {"reference_model": _fp32(Path(args.reference[0]), "reference", directory, args.sandbox)}
    models: dict[str, str] = {}
    for text in args.reference:
        part, file = _part_and_file(text)
        if part is None or part in models:
            raise AutoclaveError(
                f"--reference {text}: of several, each has another part before it, as in vision=FILE; parts are "
                f"{', '.join(PARTS)}"
            )
        models[part] = _fp32(file, f"reference-{part}", directory, args.sandbox)
    return {"reference_models": models}


def _part_and_file(text: str) -> tuple[str | None, Path]:
    part, _, file = text.partition("=")
    return (part, Path(file)) if file and part in PARTS else (None, Path(text))


def _fp32(model: Path, role: str, directory: Path, sandbox: str) -> str:
    """`model` as an input of the action in `directory`: upcast if it has half-precision parts."""
    with action_directory() as other:
        brought = bring(other, "model", model)
        request = {"model": brought, "output": "out/model.onnx", "report": "out/upcast.json"}
        run_confined(other, "autoclave.source.upcast", request, {brought: model}, sandbox)
        return bring(directory, role, produced(other, "out/model.onnx"))


def _command(args: argparse.Namespace) -> str:
    words = ["autoclave", "parity", args.action, str(args.artifact), str(args.check)]
    for reference in args.reference:
        words += ["--reference", reference]
    if args.device_recording:
        words += ["--device-recording", str(args.device_recording)]
    if args.tolerance is not None:
        words += ["--tolerance", str(args.tolerance)]
    if args.tolerance_reason:
        words += ["--tolerance-reason", args.tolerance_reason]
    if args.require_hardware_evidence:
        words.append("--require-hardware-evidence")
    return " ".join(map(shlex.quote, words))
