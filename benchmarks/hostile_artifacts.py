"""Open mutated artifacts and count what happens: each must be opened or refused with ArtifactError.

    PYTHONPATH=src python benchmarks/hostile_artifacts.py [--count 10000] [--seed 1]

Prints how many files were opened and refused per kind of mutation, every defect (another error, a crash, a hang, memory
beyond twice the file plus 16 MB), and the largest memory as a ratio of what is allowed; so far, if interrupted. Exit code 1
if there was a defect.
"""

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from artifact.hostile_mutations import mutations  # noqa: E402
from artifact.hostile_trial import ALLOWANCE, HostileTrial  # noqa: E402
from artifact.sample_artifacts import write_sample  # noqa: E402


def main() -> int:
    """Run the trial; returns the exit code."""
    parser = argparse.ArgumentParser(description="Open mutated artifacts and count what happens.")
    parser.add_argument("--count", type=int, default=10_000, help="how many mutations (default 10000)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    args = parser.parse_args()
    results: Counter[tuple[str, str]] = Counter()
    defects = 0
    peak = peak_ratio = 0.0
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        valid, file = Path(folder) / "valid.pkl", Path(folder) / "mutation.pkl"
        write_sample(valid)
        with HostileTrial(valid) as trial:
            for name, data in mutations(valid.read_bytes(), args.seed, args.count):
                file.write_bytes(data)
                outcome = trial.open(file)
                results[name.split()[1], outcome.result] += 1
                ratio = outcome.memory / (2 * len(data) + ALLOWANCE)
                peak, peak_ratio = max(peak, outcome.memory), max(peak_ratio, ratio)
                if outcome.is_defect or ratio > 1:
                    defects += 1
                    print(f"DEFECT {name}: {outcome}")
    for (kind, result), count in sorted(results.items()):
        print(f"{kind:24}{result:10}{count:8}")
    opened = sum(count for (_, result), count in results.items() if result == "opened")
    refused = sum(count for (_, result), count in results.items() if result == "refused")
    print(f"{results.total()} files: {opened} opened, {refused} refused, {defects} defects")
    print(
        f"peak memory over the baseline: {peak / (1 << 20):.1f} MiB; at most {peak_ratio:.2f} of what a file may take"
    )
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
