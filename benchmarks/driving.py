"""What the warps and queues of a driving model cost over its policy part alone, and its parity over compiling it.

    python benchmarks/driving.py --directory /tmp/driving
    python benchmarks/driving.py --directory /tmp/driving --measures pipeline --rounds 5

Needs what compiling needs, and onnx and onnxruntime. The model is that of models:pop223: a synthetic supercombo of scale L, with the
warps of both cameras. What is compared takes turns, so that a busy machine slows it alike; the load before and after is
printed. Measures, and their goals for L:

    pipeline  50 frames through a camera's warp, the queues and the model, natively on the CPU with one thread: over 50 forward
              passes of the policy part alone at most 1.1
    build     compiling the policy part and both warps, and assembling them: over compiling the policy part alone at most 1.3;
              by CPU time, and on the clock with two processes at work
    parity    testing the parity of all parts for qcom with nothing translated, upcast or recorded beforehand: over compiling and
              assembling all parts at most 0.4
"""

import argparse
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
MEASURES = ("pipeline", "build", "parity")


def main() -> None:
    """Measure what is asked for, one after the other."""
    arguments = parsed_arguments()
    sys.path.insert(0, str(SOURCES))
    import driving_measures
    from emulator import print_load

    model = driving_measures.prepared(arguments.directory.resolve(), arguments.scale)
    print_load()
    if "pipeline" in arguments.measures:
        driving_measures.pipeline(model, arguments.rounds)
    if "build" in arguments.measures:
        driving_measures.build(model, arguments.hardware, arguments.rounds)
    if "parity" in arguments.measures:
        driving_measures.parity(model, arguments.hardware, arguments.rounds)
    print_load()


def parsed_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True, help="where the model is, and stays")
    parser.add_argument("--scale", default="L", choices=("S", "M", "L"))
    parser.add_argument(
        "--hardware", default="qcom", choices=("cpu", "qcom", "chestnut"), help="what build and parity are for"
    )
    parser.add_argument("--measures", nargs="+", default=list(MEASURES), choices=MEASURES)
    parser.add_argument("--rounds", type=int, default=3, help="turns of what is compared, of which medians are taken")
    return parser.parse_args()


if __name__ == "__main__":
    main()
