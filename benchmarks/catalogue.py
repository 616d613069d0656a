"""Checkouts with generated catalogues, for the benchmarks that build through ./pants."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", "dist", ".pants.d", "__pycache__", "models", ".mypy_cache", ".ruff_cache")


def copy_checkout(folder: Path) -> None:
    """A copy of this checkout, with an empty catalogue."""
    shutil.copytree(CHECKOUT, folder, ignore=NOT_COPIED)
    (folder / "models").mkdir()
    shutil.copy2(CHECKOUT / "models/prelude.py", folder / "models")


def declare(checkout: Path, name: str, scale: str, seed: int, *hardware: str) -> None:
    """A synthetic model for one hardware or several."""
    choices = ", ".join(f'"{each}"' for each in hardware)
    declared = f"parametrize({choices})" if len(hardware) > 1 else choices
    (checkout / f"models/BUILD.{name}").write_text(
        f'synthetic_onnx(name="{name}-onnx", scale="{scale}", seed={seed})\n'
        f'onnx_model(name="{name}", source=":{name}-onnx", hardware={declared})\n'
    )


def timed(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> tuple[float, str]:
    """Wall seconds of a command that has to succeed, and what it printed."""
    begin = time.perf_counter()
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    seconds = time.perf_counter() - begin
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
    return seconds, result.stdout + result.stderr


def stop_daemon(checkout: Path) -> None:
    """End the Pants daemon of a checkout."""
    for pid in checkout.glob(".pids/*/pantsd/pid"):
        subprocess.run(["kill", pid.read_text().strip()], capture_output=True)
