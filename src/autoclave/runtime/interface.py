"""The forms that tinygrad's device interface has had, and how each takes compiled programs.

A form is known by what tinygrad has, not by its version: projects use commits between releases. Nothing here compiles, and nothing
needs a compiler to be installed.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .errors import DeviceError, FormatError
from .ir3 import ir3_binary
from .records import Kernel, Size3, Target

# tinygrad publishes no types.

Launch = Callable[[Sequence[Any], Size3, Size3, Sequence[int]], None]
"""Launches a program: buffers by the kernel's `globals`, workgroups, threads of a workgroup, values."""


@dataclass(frozen=True)
class Interface:
    """One form. known: whether tinygrad has it. open_cpu: tinygrad's CPU. program: a kernel, made ready on an opened device."""

    name: str
    known: Callable[[], bool]
    open_cpu: Callable[[], Any]
    program: Callable[[Any, Target, Kernel, bytes, int], Launch]

    def open(self, name: str) -> Any:
        """tinygrad's device `name`. Raises `DeviceError`."""
        try:
            if name == "CPU":
                return self.open_cpu()
            return _module("device").Device[name]
        except Exception as error:  # whatever a driver, a lock or a missing file makes of it
            raise DeviceError(f"opening tinygrad's device {name}: {error}") from error


def installed_interface() -> Interface:
    """The form that the installed tinygrad has. Raises `DeviceError` if there is no tinygrad, or it has none that is known."""
    try:
        found = next((each for each in INTERFACES if each.known()), None)
    except ImportError as error:
        raise DeviceError(f"importing tinygrad: {error}; put it on the path") from error
    if found is None:
        raise DeviceError(
            f"this tinygrad's device interface is unknown; known are {', '.join(i.name for i in INTERFACES)}"
        )
    return found


def _module(name: str) -> Any:
    return importlib.import_module(f"tinygrad.{name}")


def _dtype(name: str) -> Any:
    return getattr(_module("dtype").dtypes, name)


def _positions(kernel: Kernel) -> list[int]:
    """For each parameter of the signature, which of the arguments it takes."""
    try:
        return [kernel.globals.index(parameter.slot) for parameter in kernel.signature]
    except ValueError:
        raise FormatError(f"kernel {kernel.name!r}: a parameter of its signature has no argument") from None


def _code(target: Target, kernel: Kernel, code: bytes) -> bytes:
    return ir3_binary(_module("runtime.autogen.mesa"), kernel, code) if target.device == "QCOM" else code


@contextmanager
def _mesa_selected(device: Any, target: Target) -> Iterator[None]:
    """Inside, tinygrad's QCOM takes its programs for Mesa's, as by DEV=QCOM:IR3, without Mesa being there."""
    if target.device != "QCOM":
        yield
        return
    renderer = _module("renderer.nir").IR3Renderer
    own = type(device)
    device.__class__ = type(own.__name__, (own,), {"renderer": renderer.__new__(renderer)})
    try:
        yield
    finally:
        device.__class__ = own


# Since 0.14: one object for binary and signature.


def _object_program(device: Any, target: Target, kernel: Kernel, code: bytes, values: int) -> Launch:
    signature: list[tuple[str, int, Any, tuple[int, ...]]] = [
        (parameter.name, position, _dtype(parameter.dtype), parameter.shape or (1,))
        for parameter, position in zip(kernel.signature, _positions(kernel), strict=True)
    ]
    first = len(kernel.globals)
    signature += [(f"value{number}", first + number, _dtype("int32"), ()) for number in range(values)]
    made_for = _module("helpers").Target(target.device, target.renderer, target.arch)
    binary = _module("device").TinyELF(_code(target, kernel, code), kernel.name, made_for, tuple(signature), b"")
    with _mesa_selected(device, target):
        program = device.runtime(binary)

    def launch(buffers: Sequence[Any], groups: Size3, threads: Size3, values: Sequence[int]) -> None:
        program(*buffers, global_size=groups, local_size=threads, vals=tuple(values))

    return launch


def _cpu_without_clang() -> Any:
    """tinygrad's CPU compiles programs of its own with clang when it is opened; its memory and its programs need none of them."""
    device, cpu = _module("device"), _module("runtime.ops_cpu")
    machine = importlib.import_module("platform").machine().lower()

    class HostCPU(device.Compiled):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__("CPU", cpu.CPUAllocator(self), [], cpu.CPUProgram, arch=machine)

    return HostCPU()


# Until 0.13: name and binary; the CPU's is an image of memory, and QCOM's comes with its parameters' dtypes.


def _named_program(device: Any, target: Target, kernel: Kernel, code: bytes, values: int) -> Launch:
    binary, others, order = _code(target, kernel, code), [], list(range(len(kernel.globals)))
    if target.device == "CPU":
        binary = _module("runtime.support.elf").jit_loader(code)
    elif target.device == "QCOM":
        # One argument for each parameter, so that its order is the signature's.
        order = _positions(kernel)
        others = [[[(place, _image_dtype(p.dtype, p.shape))] for place, p in enumerate(kernel.signature)]]
    with _mesa_selected(device, target):
        program = device.runtime(kernel.name, binary, *others, runtimevars={})

    def launch(buffers: Sequence[Any], groups: Size3, threads: Size3, values: Sequence[int]) -> None:
        words = tuple(value & 0xFFFFFFFF for value in values)
        program(*[buffers[position] for position in order], global_size=groups, local_size=threads, vals=words)

    return launch


def _image_dtype(name: str, shape: tuple[int, ...]) -> Any:
    if not shape:
        return _dtype(name)
    return _dtype({"float16": "imageh", "float32": "imagef"}[name])(shape)


INTERFACES = (
    Interface(
        "TinyELF objects (0.14)",
        lambda: hasattr(_module("device"), "TinyELF"),
        _cpu_without_clang,
        _object_program,
    ),
    Interface(
        "named binaries (0.13)",
        lambda: hasattr(_module("device"), "Compiled") and not hasattr(_module("device"), "Program"),
        lambda: _module("device").Device["CPU"],
        _named_program,
    ),
)
"""The newest first."""
