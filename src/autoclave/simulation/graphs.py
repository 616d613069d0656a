"""The answers as graphs and tables: what docs/scale.md shows."""

from collections.abc import Sequence

from autoclave.cli.bar_chart import Panel, bar_chart
from autoclave.simulation.line_chart import Axis, Series, line_chart
from autoclave.simulation.scenarios import Answer

MINUTE, HOUR = 60.0, 3600.0


def throughput_chart(models: int, curves: Sequence[tuple[str, Sequence[tuple[int, Answer]]]]) -> str:
    """Models an hour by number of workers: a line for each farm, and what the workers of the first could do at best."""
    lines = [
        Series(name, [(0.0, 0.0), *((float(count), models * HOUR / each.outcome.built) for count, each in answers)])
        for name, answers in curves
    ]
    best = [(float(count), models * HOUR / each.limits.workers) for count, each in curves[0][1]]
    return line_chart(
        f"Building and testing {models} models: how many an hour",
        "simulated, nothing of the catalogue in the cache, workers with toolchains",
        Axis("workers"),
        Axis("models an hour"),
        [*lines, Series("if workers only computed", [(0.0, 0.0), *best], dashed=True)],
    )


def answers_chart(title: str, description: str, answers: Sequence[Answer]) -> str:
    """Minutes and bytes of several builds, a row for each."""
    return bar_chart(
        title,
        description,
        [each.name for each in answers],
        [
            Panel("time", "min", [each.outcome.built / MINUTE for each in answers]),
            Panel("from the cache to workers", "B", [float(each.outcome.from_cache) for each in answers]),
            Panel("from workers to the cache", "B", [float(each.outcome.to_cache) for each in answers]),
            Panel("to who asked", "B", [float(each.outcome.delivered) for each in answers]),
        ],
    )


def comparison_chart(runs: Sequence[tuple[str, float, float]]) -> str:
    """Measured seconds beside simulated ones, a row for each run."""
    return bar_chart(
        "Real builds and their simulation",
        "small models for cpu through ./pants on one machine",
        [name for name, _, _ in runs],
        [
            Panel("measured", "s", [measured for _, measured, _ in runs]),
            Panel("simulated", "s", [simulated for _, _, simulated in runs]),
        ],
    )


def answers_table(answers: Sequence[Answer]) -> str:
    """The same as Markdown: minutes to build, and then until who asked has it; actions; gigabytes; the limit of building, and all bounds."""
    rows = [
        "| build | built after | delivered in | compiled | other actions | cache to workers | workers to cache | to who asked | limit of building |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for each in answers:
        outcome = each.outcome
        compiled = outcome.carried_out["Compile"]
        others = outcome.carried_out.total() - compiled
        gigabytes = (f"{amount / 1e9:.1f} GB" for amount in (outcome.from_cache, outcome.to_cache, outcome.delivered))
        bounds = ", ".join(f"{name} {seconds / MINUTE:.1f}" for name, seconds in each.limits.by_name().items())
        rows.append(
            f"| {each.name} | {outcome.built / MINUTE:.1f} min | {(outcome.seconds - outcome.built) / MINUTE:.1f} min | {compiled} | {others} | "
            f"{' | '.join(gigabytes)} | **{each.limits.largest}** ({bounds} min) |"
        )
    return "\n".join(rows) + "\n"
