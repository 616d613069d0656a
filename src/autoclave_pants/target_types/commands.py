"""Commands of the library that `./pants run` starts."""

from __future__ import annotations

from pants.engine.target import COMMON_TARGET_FIELDS, StringField, Target
from pants.util.strutil import help_text


class ModuleField(StringField):
    alias = "module"
    required = True
    value: str
    help = help_text(
        "The module of the library that is the command, as `python -m` takes it, for example `autoclave.servers`."
    )


class LibraryCommandTarget(Target):
    alias = "library_command"
    core_fields = (*COMMON_TARGET_FIELDS, ModuleField)
    help = help_text(
        """
        A command of the runtime library, for `./pants run`. It runs on this machine's CPython 3.13 or 3.12, outside the sandbox,
        and has the library's modules and no packages besides, so that it starts without installing any.

            library_command(name="cache-server", module="autoclave.servers")
        """
    )
