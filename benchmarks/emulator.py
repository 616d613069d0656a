"""The emulators against the same models' CPU artifacts, ONNX Runtime, their compilation, and public emulators.

    python benchmarks/emulator.py --directory /tmp/emulator
    python benchmarks/emulator.py --directory /tmp/emulator --hardware chestnut --measures forward --scales S --rounds 50
    python benchmarks/emulator.py --directory /tmp/emulator --measures public --public-emulator /tmp/copy/emu.py

Needs what compiling needs, and onnx and onnxruntime. Makes synthetic models and their artifacts (S.qcom.pkl, S.cpu.pkl
and so on) unless the directory has them. What is compared takes turns, so that a busy machine slows it alike; the load
before and after is printed. Measures, and their goals for qcom and for chestnut:

    forward   a forward pass, warm, one thread each: emulator / CPU artifact at most 1.0 (qcom), 2.0 (chestnut); also
              / ONNX Runtime, and the emulator on two threads
    cold      a process that decodes, translates and runs the largest scale once, with two processes at work: / compiling
              it at most 0.3, 0.6
    memory    of running that scale, above a process that only opens it: / (artifact + arena) at most 3 (qcom)
    opcodes   of every artifact for the hardware in the directory, also of models that were put there: none without a
              translation
    public    kernels of a run on public emulators (see public_emulator.py): / emulator at least 500, and 200 for those of
              the fp32 graph
"""

import argparse
import os
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
MEASURES = ("forward", "cold", "memory", "opcodes", "public")
HARDWARE = ("qcom", "chestnut")


def main() -> None:
    """Measure what is asked for, one after the other."""
    arguments = parsed_arguments()
    sys.path.insert(0, str(SOURCES))
    import emulator_measures
    import public_emulator

    directory, hardware = arguments.directory, arguments.hardware
    for scale in arguments.scales:
        emulator_measures.prepare(directory, scale, hardware)
    print_load()
    if "forward" in arguments.measures:
        for scale in arguments.scales:
            emulator_measures.forward(directory, scale, hardware, arguments.rounds)
    if "cold" in arguments.measures:
        emulator_measures.cold(directory, arguments.scales[-1], hardware, arguments.cold_rounds)
    if "memory" in arguments.measures:
        emulator_measures.memory(directory, arguments.scales[-1], hardware)
    if "opcodes" in arguments.measures:
        emulator_measures.opcodes(sorted(directory.glob(f"*.{hardware}.pkl")), arguments.verbose)
    if "public" in arguments.measures:
        artifact = directory / f"{arguments.public_scale}.{hardware}.pkl"
        if arguments.single_precision:
            artifact = emulator_measures.prepare_single_precision(directory, arguments.public_scale, hardware)
        public_emulator.compare(
            artifact, arguments.public_emulator, arguments.seconds, arguments.threads, arguments.verbose
        )
    print_load()


def parsed_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True, help="where models and artifacts are, and stay")
    parser.add_argument("--hardware", default="qcom", choices=HARDWARE)
    parser.add_argument("--measures", nargs="+", default=list(MEASURES), choices=MEASURES)
    parser.add_argument("--scales", nargs="+", default=["S", "L"], choices=("S", "M", "L"), help="smallest first")
    parser.add_argument("--rounds", type=int, default=11, help="forward passes of each, after two to warm up")
    parser.add_argument("--cold-rounds", type=int, default=3, help="compilations and cold runs, by turns")
    parser.add_argument("--public-emulator", type=Path, nargs="*", default=[], help="modules of public copies")
    parser.add_argument("--public-scale", default="S", choices=("S", "M", "L"), help="whose kernels public copies run")
    parser.add_argument(
        "--single-precision", action="store_true", help="give public emulators the fp32 graph's kernels"
    )
    parser.add_argument("--threads", type=int, default=2, help="of this emulator, for the measure `public`")
    parser.add_argument("--seconds", type=float, default=300, help="stop asking a public emulator after this long")
    parser.add_argument("--verbose", action="store_true", help="print the opcodes' histogram, and each kernel's ratio")
    return parser.parse_args()


def print_load() -> None:
    """Runnable processes over one, five and fifteen minutes, and how many processors there are for them."""
    one, five, fifteen = os.getloadavg()
    print(f"load {one:.1f} {five:.1f} {fifteen:.1f} on {len(os.sched_getaffinity(0))} processors\n", flush=True)


if __name__ == "__main__":
    main()
