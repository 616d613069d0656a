"""What a model is can be told with the standard library alone; only arrays need numpy."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import autoclave

if TYPE_CHECKING:  # imported in processes of their own; said here so that Pants knows
    import autoclave.driving.behaviour
    import autoclave.driving.curvature
    import autoclave.driving.kinds
    import autoclave.driving.metadata
    import autoclave.driving.output_slices
    import autoclave.driving.parser
    import autoclave.driving.plot  # noqa: F401

LIBRARY = {"autoclave.errors", "autoclave.driving"}


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        ("behaviour", set()),
        ("kinds", set()),
        ("metadata", set()),
        ("output_slices", set()),
        ("parser", {"numpy"}),
        ("curvature", {"numpy"}),
        ("plot", {"numpy"}),
    ],
)
def test_a_module_needs_no_more_than_it_must(module: str, packages: set[str]) -> None:
    script = (
        f"import sys; before = set(sys.modules); import autoclave.driving.{module}; print(*set(sys.modules) - before)"
    )
    environment = {"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])}

    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)

    imported = {name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names}
    own = {name for name in imported if name.startswith("autoclave.")}
    assert {name for name in own if not name.startswith(tuple(LIBRARY))} == set()
    assert {name.partition(".")[0] for name in imported} - {"autoclave"} <= packages
