"""When host code of the device's kernels is made, how well, and from what files."""

from pathlib import Path

import numpy as np
import pytest
from emulator.a630_programs import ins, launch_of, mov, store

from autoclave.emulator.jit import PORTABLE
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import launch_shape
from autoclave.emulator.tinygrad_device import translations
from autoclave.emulator.tinygrad_device.translations import Translations
from autoclave.errors import BudgetExceeded


def addition(a: int, b: int) -> Launch:
    """A launch of one thread that stores a + b, of constants."""
    program = [
        mov("r0.x", "c8.x"),
        ins("add.u", "r0.y", "r0.x", "c8.y"),
        mov("r1.x", "c0.x"),
        mov("r1.y", "c0.y"),
        store("stg", "r1.x", "r0.y"),
    ]
    return launch_of(program, buffers=[np.zeros(1, np.uint32)], constants=[a, b])


def answer(launch: Launch) -> int:
    return int(launch.buffers[0].memory.view(np.uint32)[0])


def test_kernel_that_has_worked_much_is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = addition(3, 4)
    kernel = Translations(PORTABLE).kernel(launch_shape(launch))

    monkeypatch.setattr(translations, "WORTH_OPTIMISING", 5 * len(launch.kernel.code) // 8)
    kernel.run(launch, threads=1)
    at_first = kernel.optimised
    for _ in range(20):
        kernel.run(launch, threads=1)

    assert answer(launch) == 7
    assert (at_first, kernel.optimised) == (False, True)


def test_launch_of_much_work_is_optimised_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = addition(3, 4)
    kernel = Translations(PORTABLE).kernel(launch_shape(launch))

    monkeypatch.setattr(translations, "WORTH_OPTIMISING", 1)
    kernel.run(launch, threads=1)

    assert answer(launch) == 7
    assert kernel.optimised


def test_equal_kernels_share_their_host_code() -> None:
    one, other = addition(1, 2), addition(3, 4)
    kept = Translations(PORTABLE)

    assert kept.kernel(launch_shape(one)) is kept.kernel(launch_shape(other))


def test_endless_work_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = addition(3, 4)
    kernel = Translations(PORTABLE).kernel(launch_shape(launch))

    monkeypatch.setattr(translations, "BUDGET", 3)
    with pytest.raises(BudgetExceeded, match="more than 3 instructions"):
        kernel.run(launch, threads=1)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"", lambda data: b"x" * 100])
def test_damaged_file_is_made_anew(tmp_path: Path, damage) -> None:
    launch = addition(3, 4)
    Translations(PORTABLE, tmp_path).kernel(launch_shape(launch)).run(launch, threads=1)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()

    file.write_bytes(damage(whole))
    Translations(PORTABLE, tmp_path).kernel(launch_shape(launch)).run(launch, threads=1)

    assert answer(launch) == 7
    assert file.read_bytes() == whole
