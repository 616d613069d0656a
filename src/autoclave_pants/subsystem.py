"""The options of the backend: the `[autoclave]` section of pants.toml."""

from __future__ import annotations

from enum import Enum

from pants.option.option_types import BoolOption, EnumOption, SkipOption, StrListOption, StrOption
from pants.option.subsystem import Subsystem
from pants.util.strutil import softwrap


class SandboxMode(Enum):
    bubblewrap = "bubblewrap"
    none = "none"


class PythonKind(Enum):
    auto = "auto"
    deb = "deb"
    host = "host"


class AutoclaveSubsystem(Subsystem):
    options_scope = "autoclave"
    help = "Hermetic builds of driving models."

    mirrors = StrListOption(
        help=softwrap(
            """
            Where pinned files are looked up by sha256 before their address: directories (absolute, or from the root of the
            checkout), or URL prefixes, whose files are named after their own sha256. Those in the environment variable
            `AUTOCLAVE_MIRRORS` (separated by commas) come first. No action's key depends on them.
            """
        ),
    )
    sandbox = EnumOption(
        default=SandboxMode.bubblewrap,
        help=softwrap(
            """
            How actions are isolated. `bubblewrap`: no network, fixed paths, only declared inputs visible. `none`: for kernels that
            forbid user namespaces; the results are not proven hermetic, and have keys of their own.
            """
        ),
    )
    python = EnumOption(
        default=PythonKind.auto,
        help=softwrap(
            """
            Which of a toolchain's interpreters to use. `auto`: the first that can be had. `deb`: only the locked Debian packages.
            `host`: only the machine's own.
            """
        ),
    )
    execution = StrOption(
        default=None,
        help=softwrap(
            """
            Where actions run: the name in `[environments-preview.names]` of a `remote_environment`, or nothing for this machine. With a
            name, all that synthesizes, checks, upcasts, compiles, translates, records and tests parity runs on the workers of
            `[GLOBAL].remote_execution_address`; fetching stays on this machine. For example, in pants.toml:

                [GLOBAL]
                remote_execution = true
                remote_execution_address = "grpc://farm.example.com:8980"
                remote_store_address = "grpc://farm.example.com:8980"

                [environments-preview.names]
                workers = "//:workers"

                [autoclave]
                execution = "workers"

            docs/remote-execution.md tells what a server has to have.
            """
        ),
    )
    bubblewrap = StrOption(
        default="toolchains:bubblewrap",
        help="The address of the `wheel_lock` that provides bubblewrap.",
    )
    references = StrOption(
        default="toolchains:references",
        help=softwrap(
            """
            The address of the toolchain that generates synthetic models, upcasts graphs and runs ONNX Runtime. It is not the
            models' own toolchain, so that a tinygrad bump does not touch it.
            """
        ),
    )
    emulator = StrOption(
        default="toolchains:emulator",
        help=softwrap(
            """
            The address of the toolchain that the emulators run with: it translates GPU kernels to code for this kind of machine,
            records check files on it, and tests parity. It is not the models' own toolchain either.
            """
        ),
    )
    library = StrOption(
        default="src",
        help="The directory that holds the `autoclave` package, which actions run.",
    )


class ParityTestSubsystem(Subsystem):
    options_scope = "autoclave-parity"
    name = "parity"
    help = "Parity tests of artifacts."

    skip = SkipOption("test")


class ReproducibilitySubsystem(Subsystem):
    options_scope = "autoclave-reproducibility"
    name = "reproducibility"
    help = "Reproducibility tests of artifacts."

    skip = SkipOption("test")


class CacheReportSubsystem(Subsystem):
    options_scope = "autoclave-cache"
    help = softwrap(
        """
        What is told of the remote cache at the end of a build. Which cache is used, `[GLOBAL].remote_store_address` and the
        options around it say (docs/remote-cache.md).
        """
    )

    required = BoolOption(
        default=False,
        help=softwrap(
            """
            A build that the remote cache did not serve at all is told of as an error, and `./pants cache-doctor` fails where no
            cache is configured or used. The build itself succeeds all the same: what makes CI fail is
            `./pants cache-doctor --report` after it.
            """
        ),
    )
    report = StrOption(
        default="dist/cache-report.json",
        help=softwrap(
            """
            The file, from the root of the checkout, with what the remote cache did for the last build that asked anything of it:
            lookups, hits, misses, errors, results written. `./pants cache-doctor --report` judges it.
            """
        ),
    )
    client = StrOption(
        default="toolchains:grpc",
        help="The address of the `wheel_lock` that provides gRPC and protobuf, with which `./pants cache-doctor` speaks to a server.",
    )
