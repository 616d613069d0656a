"""What a translation's key counts as the translator."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autoclave.emulator.architectures import translator_files
from autoclave.emulator.devices import DEVICES

IMPORTED = """
import json, sys
import autoclave.emulator.translation
from autoclave.emulator.architectures import architecture
architecture(sys.argv[1])
modules = [module for name, module in sys.modules.items() if name.startswith("autoclave.emulator")]
print(json.dumps([module.__file__ for module in modules]))
"""


@pytest.mark.parametrize("architecture", sorted(DEVICES.values()))
def test_the_key_covers_every_emulator_file_that_translating_imports_and_no_other(architecture: str) -> None:
    command = [sys.executable, "-c", IMPORTED, architecture]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    imported = {Path(name).resolve() for name in json.loads(printed)}

    assert {path.resolve() for path in translator_files(architecture)} == imported
