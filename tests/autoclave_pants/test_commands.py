"""`./pants run` on a command of the library: what it is given, and that it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pants.core.goals.run import RunRequest
from pants.engine.addresses import Address
from pants.engine.fs import Snapshot
from pants.engine.rules import QueryRule
from pants.testutil.rule_runner import RuleRunner

from autoclave_pants.rules import commands, interpreters, library
from autoclave_pants.rules.commands import LibraryCommandFieldSet
from autoclave_pants.rules.interpreters import CACHE_NAME
from autoclave_pants.subsystem import AutoclaveSubsystem
from autoclave_pants.target_types.commands import LibraryCommandTarget

OWN_VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
LIBRARY = {
    "src/autoclave/__init__.py": "",
    "src/autoclave/sandbox/launch.sh": "",
    "src/autoclave/greeting.py": "WORDS = 'hello'\n",
    "src/autoclave/unrelated.py": "",
    "src/autoclave/greeter/__init__.py": "",
    "src/autoclave/greeter/__main__.py": "import sys\nfrom autoclave.greeting import WORDS\nprint(WORDS, *sys.argv[1:])\n",
    "BUILD": "library_command(name='greeter', module='autoclave.greeter')\n",
}


@pytest.fixture
def rule_runner(tmp_path):
    runner = RuleRunner(
        rules=[
            *commands.rules(),
            *interpreters.rules(),
            *library.rules(),
            *AutoclaveSubsystem.rules(),
            QueryRule(RunRequest, (LibraryCommandFieldSet,)),
        ],
        target_types=[LibraryCommandTarget],
        bootstrap_args=[f"--named-caches-dir={tmp_path / 'named'}"],
    )
    runner.named = tmp_path / "named"
    runner.write_files(LIBRARY)
    return runner


def request(runner, folder):
    """The request to run the command, with this interpreter as the only one on PATH."""
    folder.mkdir()
    (folder / f"python{OWN_VERSION}").symlink_to(sys.executable)
    runner.set_options([f"--named-caches-dir={runner.named}"], env={"PATH": str(folder), "HOME": "/nonexistent"})
    target = runner.get_target(Address("", target_name="greeter"))
    return runner.request(RunRequest, [LibraryCommandFieldSet.create(target)])


def test_a_command_has_the_modules_it_imports_and_runs(rule_runner, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "PYTHONS", (OWN_VERSION,))
    found = request(rule_runner, tmp_path / "bin")
    rule_runner.write_digest(found.digest)
    chroot = Path(rule_runner.build_root)
    caches = dict(found.append_only_caches)
    (chroot / caches[CACHE_NAME]).symlink_to(rule_runner.named / CACHE_NAME)
    arguments = [each.format(chroot=chroot) for each in found.args]
    extra = {name: value.format(chroot=chroot) for name, value in found.extra_env.items()}
    result = subprocess.run(
        [*arguments, "you"], env={"PATH": os.defpath, **extra}, cwd="/", stdout=subprocess.PIPE, text=True, check=True
    )
    assert result.stdout == "hello you\n"


def test_only_what_it_imports_is_there(rule_runner, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "PYTHONS", (OWN_VERSION,))
    found = request(rule_runner, tmp_path / "bin")
    snapshot = rule_runner.request(Snapshot, [found.digest])
    assert sorted(snapshot.files) == [
        "src/autoclave/__init__.py",
        "src/autoclave/greeter/__init__.py",
        "src/autoclave/greeter/__main__.py",
        "src/autoclave/greeting.py",
    ]


def test_a_machine_without_a_python_is_told_so(rule_runner, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "PYTHONS", ("3.99",))
    with pytest.raises(Exception, match="//:greeter: start failed: this machine has no CPython 3.99 on PATH"):
        request(rule_runner, tmp_path / "bin")
