"""Answer the questions of docs/scale.md: `python -m autoclave.simulation MEASUREMENTS OUTPUT`.

MEASUREMENTS is a folder with `actions.json` (benchmarks/measure_actions.py) and `servers.json` (benchmarks/remote_cache.py). Draws the
graphs `scale-*.svg` into the folder OUTPUT and prints the tables. Equal measurements give equal bytes.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from autoclave.errors import AutoclaveError
from autoclave.simulation.graphs import answers_chart, answers_table, comparison_chart, throughput_chart
from autoclave.simulation.measurements import Measurements, read_measurements
from autoclave.simulation.scenarios import Plan, bumps, by_workers, everything_new
from autoclave.simulation.validation import Servers, read_servers, simulated

WORKERS = 100
COUNTS = (1, 10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200)
GIGABITS = (1, 10)


def graphs_and_tables(plan: Plan, measured: Measurements, servers: Servers) -> Iterator[tuple[str, str, str]]:
    """Each graph's file name and text, and a table to read beside it, which may be empty."""
    new = everything_new(plan, measured, servers.farm(WORKERS, 10))
    title = f"{plan.models} models on {WORKERS} workers"
    yield (
        "scale-new.svg",
        answers_chart(f"{title}, nothing in the cache", "simulated: build and test all", new),
        answers_table(new),
    )
    curves = [
        (f"cache of {gigabits} Gbit/s", by_workers(plan, measured, servers.farm(1, gigabits), COUNTS, gigabits))
        for gigabits in GIGABITS
    ]
    yield "scale-workers.svg", throughput_chart(plan.models, curves), ""
    bumped = bumps(plan, measured, servers.farm(WORKERS, 10))
    yield (
        "scale-bump.svg",
        answers_chart(f"{title}, another tinygrad", "simulated: all was built before; cache of 10 Gbit/s", bumped),
        answers_table(bumped),
    )
    runs = [(build.name, build.seconds, simulated(build, measured, servers)) for build in servers.builds]
    errors = (f"| {name} | {real:.1f} s | {ours:.1f} s | {ours / real - 1:+.1%} |\n" for name, real, ours in runs)
    yield (
        "scale-validation.svg",
        comparison_chart(runs),
        "| build | measured | simulated | error |\n|---|---|---|---|\n" + "".join(errors),
    )


def main(arguments: list[str]) -> int:
    """Draw and print. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=Path, help="folder with actions.json and servers.json")
    parser.add_argument("output", type=Path, help="folder for the graphs")
    parser.add_argument("--models", type=int, default=Plan.models, help="how many models (default: %(default)s)")
    parser.add_argument("--scale", default=Plan.scale, help="their scale (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        measured = read_measurements(options.measurements / "actions.json")
        servers = read_servers(options.measurements / "servers.json")
        options.output.mkdir(parents=True, exist_ok=True)
        for name, graph, table in graphs_and_tables(Plan(options.models, options.scale), measured, servers):
            (options.output / name).write_text(graph)
            print(f"{name}\n\n{table}")
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
