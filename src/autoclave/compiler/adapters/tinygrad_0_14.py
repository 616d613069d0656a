"""tinygrad 0.14: scheduling and compiling a model on the NULL device.

The model is scheduled once and never run. Every initialiser is a buffer with known content, every graph input a buffer
without, and what the scheduler makes of them is a list of calls on buffers. All contact with tinygrad's internals is in the modules
whose names begin with this one's.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from autoclave.compiler.adapters.tinygrad_0_14_device import install_null_device
from autoclave.compiler.adapters.tinygrad_0_14_models import input_tensors, load_model, trace
from autoclave.compiler.adapters.tinygrad_0_14_recorder import own_buffer, record
from autoclave.compiler.adapters.tinygrad_0_14_settings import check_flags, require_python
from autoclave.compiler.captured import Capture
from autoclave.compiler.profiles import HardwareProfile

__all__ = ["capture", "check_flags"]


def capture(
    model: Path, profile: HardwareProfile, dimensions: Mapping[str, int], progress: Callable[[str], None]
) -> Capture:
    """Schedule and compile `model` for `profile`. Weights stay views of the file.

    Raises `SourceError` for what is wrong with the model and `CompileError` for what cannot be compiled.
    """
    require_python()
    install_null_device(profile)
    loaded = load_model(model)
    inputs = input_tensors(loaded, dimensions)
    outputs = {name: own_buffer(result) for name, result in trace(loaded, inputs).items()}
    return record(profile, loaded.weights, inputs, outputs, progress)
