"""./pants: what it sets up, when it does so again, and what it says when it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import SmallCheckout  # pants: no-infer-dep

SETTING_UP = "setting up Pants"
# What the launcher may use on any Linux before it has found a Python.
TOOLS = "awk cat chmod cut flock grep id ln mkdir mv rm sed sh sha256sum timeout tr uname".split()


def folder_of_tools(folder: Path, *without: str) -> Path:
    """A folder for PATH that holds the launcher's tools and nothing else."""
    folder.mkdir()
    for tool in set(TOOLS) - set(without):
        found = shutil.which(tool, path="/usr/bin:/bin")
        assert found, f"{tool} belongs to every Linux"
        (folder / tool).symlink_to(found)
    return folder


def test_hands_arguments_server_and_exit_code_through(checkout: SmallCheckout) -> None:
    result = checkout.start("list", "a b", "::")

    assert result.returncode == 7, result.stderr
    assert "client: list a b ::" in result.stdout
    assert f"server: {checkout.env['HOME']}/.cache/autoclave/pants-" in result.stdout


ADDRESS = 'remote_store_address = "grpc://cache:1"\n'


REMOTE = {"PANTS_CONFIG_FILES": "pants.remote.toml"}
READ = "PANTS_REMOTE_CACHE_READ"
STORE = "PANTS_REMOTE_STORE_ADDRESS"
CACHES = (
    # variables, arguments, files of the checkout, and what Pants is given
    ({}, (), {}, "none read unset"),
    (REMOTE, (), {}, "none read false"),
    ({READ: "true", STORE: ""}, (), {}, "none read false"),
    ({READ: "true", STORE: "grpc://a:1"}, (), {}, "grpc://a:1 read true"),
    ({READ: "true"}, ("--remote-store-address=grpc://a:1",), {}, "none read true"),
    (REMOTE, (), {"pants.remote.toml": ADDRESS}, "none read unset"),
    (REMOTE, (), {".pants.rc": ADDRESS}, "none read unset"),
    (REMOTE, (), {".pants.rc": f"# {ADDRESS}"}, "none read false"),
)


def test_a_cache_without_an_address_is_off(checkout: SmallCheckout) -> None:
    plain = dict(checkout.env)
    for variables, arguments, files, cache in CACHES:
        checkout.env = {**plain, **variables}
        for name, text in files.items():
            (checkout.root / name).write_text(text)

        assert f"cache: {cache}\n" in checkout.start(*arguments).stdout, (variables, arguments, files)

        for name in files:
            (checkout.root / name).unlink()


def test_says_nothing_and_changes_nothing_once_set_up(checkout: SmallCheckout) -> None:
    checkout.start()
    (setup,) = Path(checkout.env["HOME"]).glob(".cache/autoclave/pants-*[0-9a-f]")
    before = (setup / "complete").stat().st_mtime_ns

    result = checkout.start()

    assert result.stderr == ""
    assert (setup / "complete").stat().st_mtime_ns == before


def test_two_starts_at_once_set_up_once(checkout: SmallCheckout) -> None:
    both = [checkout.popen("first"), checkout.popen("second")]
    outputs = [process.communicate() for process in both]

    assert [process.returncode for process in both] == [7, 7], outputs
    assert sum(stderr.count(SETTING_UP) for _, stderr in outputs) == 1
    assert "client: first" in outputs[0][0] and "client: second" in outputs[1][0]


def test_a_changed_lock_sets_up_again(checkout: SmallCheckout) -> None:
    first = checkout.start()
    with (checkout.root / "3rdparty/pants.lock").open("a") as lock:
        lock.write("# changed\n")

    second = checkout.start()

    assert SETTING_UP in first.stderr and SETTING_UP in second.stderr
    assert first.stdout != second.stdout, "both locks have a set-up of their own"


@pytest.mark.parametrize("lost", ["complete", "pex", "venv/bin/python", "pythons/python3.9"])
def test_a_set_up_that_is_not_whole_is_made_again(checkout: SmallCheckout, lost: str) -> None:
    checkout.start()
    (setup,) = Path(checkout.env["HOME"]).glob(".cache/autoclave/pants-*[0-9a-f]")
    (setup / lost).unlink()
    if lost.startswith("pythons"):
        (setup / lost).symlink_to("/nowhere/python3.9")

    result = checkout.start()

    assert result.returncode == 7 and SETTING_UP in result.stderr


def test_a_lock_with_a_wrong_hash_is_refused(checkout: SmallCheckout) -> None:
    lock = checkout.root / "3rdparty/pants.lock"
    lock.write_text(lock.read_text().partition("sha256:")[0] + "sha256:" + "0" * 64 + "\n")

    result = checkout.start()

    assert result.returncode == 1
    assert "error: the packages of 3rdparty/pants.lock could not be installed" in result.stderr


def test_a_pex_cli_that_pants_toml_does_not_name_is_refused(checkout: SmallCheckout) -> None:
    (checkout.root / "pants.toml").write_text("known_versions = []\n")

    result = checkout.start()

    assert result.returncode == 1
    assert "[pex-cli].known_versions in pants.toml does not name" in result.stderr


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_another_platform_is_told_so_in_one_line(
    checkout: SmallCheckout, tmp_path: Path, system: str, machine: str
) -> None:
    tools = folder_of_tools(tmp_path / "tools", "uname")
    uname = tools / "uname"
    uname.write_text(f'#!/bin/sh\n[ "$1" = -s ] && echo {system} || echo {machine}\n')
    uname.chmod(0o755)
    checkout.env["PATH"] = str(tools)

    result = checkout.start()

    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert f"this is {system} on {machine}" in result.stderr and "Ways out" in result.stderr


def test_no_python_anywhere_is_one_message_with_ways_out(checkout: SmallCheckout, tmp_path: Path) -> None:
    checkout.env["PATH"] = str(folder_of_tools(tmp_path / "tools"))

    result = checkout.start()

    assert result.returncode == 1
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert "no CPython 3.9 was found" in errors[0] and "Ways out" in errors[0]


@pytest.mark.parametrize("home", [None, "/proc/no/home"])
def test_without_a_home_that_can_be_written_the_checkout_holds_the_set_up(
    checkout: SmallCheckout, home: str | None
) -> None:
    del checkout.env["HOME"]
    if home:
        checkout.env["HOME"] = home

    result = checkout.start()

    assert result.returncode == 7, result.stderr
    assert f"server: {checkout.root}/.pants.d/autoclave/pants-" in result.stdout


def test_pants_own_launcher_gets_the_same_set_up(checkout: SmallCheckout) -> None:
    ours = checkout.start()

    theirs = subprocess.run(
        ["/bin/sh", "-eu", "-c", '. ./.pants.bootstrap; echo "$AUTOCLAVE_PEX_URL"; ls "$AUTOCLAVE_PYTHONS"'],
        cwd=checkout.root,
        env=checkout.env,
        capture_output=True,
        text=True,
    )

    url, *pythons = theirs.stdout.split()
    assert theirs.stderr == ""
    assert url.removeprefix("file://").removesuffix("/pex") in ours.stdout
    assert os.path.exists(url.removeprefix("file://"))
    assert "python3.9" in pythons and len(pythons) == 2
