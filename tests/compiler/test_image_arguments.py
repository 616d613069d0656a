"""Arguments that an a630 kernel takes as images."""

from pathlib import Path

from compiler.compile_action import compile_model
from compiler.onnx_models import padded_pool_model

from autoclave.artifact.reader import open_artifact


def test_one_argument_may_be_taken_as_an_image_and_as_plain_memory(tmp_path: Path) -> None:
    result = compile_model(tmp_path, padded_pool_model(), "qcom")

    assert result.code == 0, result.log
    with open_artifact(result.artifact) as artifact:
        (kernel,) = artifact.header.kernels
        bound = [(parameter.slot, len(parameter.shape)) for parameter in kernel.signature]
        assert len(kernel.globals) == 2
        assert {slot for slot, rank in bound if rank == 3} & {slot for slot, rank in bound if rank == 0}
        assert len(kernel.launch["buffer_slots"]) + len(kernel.launch["texture_slots"]) == len(bound) - len(
            kernel.launch["image_slots"]
        )
