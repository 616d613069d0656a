"""What a translation's key counts as the translator."""

import json
import subprocess
import sys
from pathlib import Path

from autoclave.emulator.a630.translation import translator_files

IMPORTED = """
import json, sys
import autoclave.emulator.a630.translation
modules = [module for name, module in sys.modules.items() if name.startswith("autoclave.emulator")]
print(json.dumps([module.__file__ for module in modules]))
"""


def test_the_key_covers_every_emulator_file_that_translating_imports_and_no_other() -> None:
    printed = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True).stdout

    imported = {Path(name).resolve() for name in json.loads(printed)}

    assert {path.resolve() for path in translator_files()} == imported
