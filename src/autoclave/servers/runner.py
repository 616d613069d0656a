"""The runner that buildbox-casd and buildbox-worker start for each action."""

import shlex
import sys
from pathlib import Path

from autoclave.servers import legacy_outputs

SCRIPT = """\
#!/bin/sh
exec {python} -I -S -B {module} --programs={programs} "$@"
"""


def write_runner(place: Path, folder: Path) -> Path:
    """Write the script `place`, which runs actions by the programs unpacked in `folder`, and return its absolute path."""
    place = place.absolute()
    module = Path(legacy_outputs.__file__)
    words = {"python": sys.executable, "module": str(module), "programs": str(folder / "usr/bin")}
    place.write_text(SCRIPT.format(**{key: shlex.quote(value) for key, value in words.items()}))
    place.chmod(0o755)
    return place
