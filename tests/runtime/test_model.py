"""A loaded model: what its parts share, what they feed back, and what they refuse."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native.cpu_artifacts import SIZE, WEIGHTS, write_artifact
from runtime.two_parts import CAMERAS, frame, write_driving_artifact

from autoclave.artifact.model import Target
from autoclave.runtime import DeviceError, FormatError, InputError, Model, StaleOutput, load
from autoclave.runtime.device import Device
from autoclave.runtime.host import require_level

X = np.linspace(-1, 1, SIZE, dtype=np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    write_driving_artifact(tmp_path / "model.pkl")
    with load(tmp_path / "model.pkl", allow_unverified=True) as model:
        yield model


def policy_outputs(q: np.ndarray) -> bytes:
    """What run_policy gives for the queue `q`, by numpy."""
    return bytes((q.astype(np.float32) * X * WEIGHTS).tobytes())


def test_parts_are_found_by_their_keys(model: Model) -> None:
    assert model.parts == ("run_policy", *CAMERAS)
    with pytest.raises(InputError, match="there is no part run; there are run_policy, 64x32, 32x16"):
        model["run"]


def test_state_is_zero_at_first_and_shared_by_all_parts_of_that_input(model: Model) -> None:
    policy = model["run_policy"]
    assert policy.run({"x": X})["outputs"].tobytes() == policy_outputs(np.zeros(SIZE))

    for number, camera in enumerate((CAMERAS[0], CAMERAS[0], CAMERAS[1])):
        model[camera].run({"frame": frame(number)})

    assert policy.run({"x": X})["outputs"].tobytes() == policy_outputs(frame(0) + frame(1) + frame(2))


def test_a_caller_may_set_state_for_a_run(model: Model) -> None:
    q = np.full(SIZE, 100, np.float32)
    model[CAMERAS[0]].run({"frame": frame(0), "q": q})
    assert model["run_policy"].run({"x": X})["outputs"].tobytes() == policy_outputs(q + frame(0))


def test_an_output_can_be_given_to_another_part_without_being_read(model: Model) -> None:
    warped = model[CAMERAS[0]].run({"frame": frame(3)})
    outputs = model["run_policy"].run({"x": warped["weights"]})
    assert outputs["outputs"].tobytes() == (frame(3).astype(np.float32) * WEIGHTS * WEIGHTS).tobytes()


def test_an_output_is_an_array_of_its_shape(model: Model) -> None:
    outputs = model["run_policy"].run({"x": X, "q": X})["outputs"].numpy()
    assert (outputs.dtype, outputs.shape) == (np.float32, (1, SIZE))


def test_an_output_cannot_be_used_after_its_part_ran_again(model: Model) -> None:
    warp = model[CAMERAS[0]]
    first = warp.run({"frame": frame(0)})["next_q"]
    warp.run({"frame": frame(1)})

    with pytest.raises(StaleOutput, match="output 'next_q': its part has run again"):
        first.tobytes()
    with pytest.raises(StaleOutput):
        model["run_policy"].run({"x": X, "q": first})


def test_bytes_are_taken_for_an_array(model: Model) -> None:
    policy = model["run_policy"]
    expected = policy.run({"x": X, "q": X})["outputs"].tobytes()
    assert policy.run({"x": X.tobytes(), "q": bytearray(X.tobytes())})["outputs"].tobytes() == expected


def test_an_array_that_is_not_contiguous_is_copied(model: Model) -> None:
    wide = np.repeat(X, 2)
    expected = model["run_policy"].run({"x": X, "q": X})["outputs"].tobytes()
    assert model["run_policy"].run({"x": wide[::2], "q": X})["outputs"].tobytes() == expected


BAD_INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({}, r"part run_policy: input 'x' is missing: float32 \[8\]"),
    "unknown": ({"y": X}, "part run_policy has no input 'y'"),
    "near a name": ({"xx": X}, "did you mean 'x'"),
    "another dtype": ({"x": X.astype(np.float64)}, "expected .8. of float32"),
    "integers of the same size": ({"x": X.view(np.int32)}, "expected .8. of float32"),
    "another byte order": ({"x": X.astype(">f4")}, "expected .8. of float32"),
    "another shape": ({"x": X.reshape(2, 4)}, r"is \[2, 4\] of 'f', expected \[8\] of float32"),
    "too few bytes": ({"x": bytes(31)}, "has 31 bytes, expected 32"),
    "no array": ({"x": 1.0}, "is a float; give an array or its bytes"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_an_input_that_does_not_fit_is_refused(model: Model, case: str) -> None:
    inputs, message = BAD_INPUTS[case]
    with pytest.raises(InputError, match=message):
        model["run_policy"].run(inputs)


def test_an_output_of_another_form_is_refused(model: Model) -> None:
    outputs = model["run_policy"].run({"x": X})
    with pytest.raises(InputError, match=r"the output 'outputs' is float32 \[1, 8\], expected float32 \[8\]"):
        model["run_policy"].run({"x": outputs["outputs"]})


def test_nothing_has_run_if_an_input_is_refused(model: Model) -> None:
    model[CAMERAS[0]].run({"frame": frame(1)})
    with pytest.raises(InputError):
        model[CAMERAS[0]].run({"frame": frame(1)[:-1]})
    assert model["run_policy"].run({"x": X})["outputs"].tobytes() == policy_outputs(frame(1))


class CountedMemory:
    """What devices have handed out and not taken back, by size."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        allocate, free = Device.allocate, Device.free

        def counted_allocate(device: Device, nbytes: int) -> Any:
            self.sizes.append(nbytes)
            return allocate(device, nbytes)

        def counted_free(device: Device, memory: Any, nbytes: int) -> None:
            self.sizes.remove(nbytes)
            free(device, memory, nbytes)

        monkeypatch.setattr(Device, "allocate", counted_allocate)
        monkeypatch.setattr(Device, "free", counted_free)


def test_parts_share_constants_and_state_and_give_back_what_only_init_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = CountedMemory(monkeypatch)
    write_driving_artifact(tmp_path / "model.pkl")

    model = load(tmp_path / "model.pkl", allow_unverified=True)

    # One constant of two, one arena, q once; x, the persistent buffer and the output of the policy; frame and two outputs of each warp.
    assert sorted(memory.sizes) == sorted([32, 32, 32] + [32, 32, 32] + 2 * [8, 32, 32])
    model.close()
    assert memory.sizes == []


def test_a_closed_model_has_no_parts(model: Model) -> None:
    model.close()
    assert model.parts == ()


TARGETS = {
    "another machine": (Target("CPU", "LLVM", "arm64,cortex-a76"), "code for CPU arm64 does not run on this one"),
    "an unknown level": (Target("CPU", "LLVM", "x86_64,x86-64-v9"), "known are x86-64,"),
    "another container": (Target("CPU", "CLANG", "x86_64,x86-64-v3"), "made by CLANG does not run on CPU"),
    "an unknown device": (Target("TPU", "LLVM", "v1"), "opening tinygrad's device TPU"),
}


@pytest.mark.parametrize("case", TARGETS)
def test_code_for_another_device_is_refused(tmp_path: Path, case: str) -> None:
    target, message = TARGETS[case]
    write_artifact(tmp_path / "model.pkl", target=target)
    with pytest.raises(DeviceError, match=message):
        load(tmp_path / "model.pkl", allow_unverified=True, allow_synthetic=True)


def test_a_device_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_driving_artifact(tmp_path / "model.pkl")
    with pytest.raises(DeviceError, match="code for CPU made by LLVM does not run on NULL"):
        load(tmp_path / "model.pkl", allow_unverified=True, devices={"CPU": "NULL"})


def test_a_processor_without_the_features_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags : fpu sse sse2 avx\n")
    with pytest.raises(DeviceError, match="code for x86-64-v3: this processor lacks abm, avx2, bmi1"):
        require_level("x86-64-v3", tmp_path / "cpuinfo")


def test_a_cpu_kernel_of_several_workgroups_is_refused(tmp_path: Path) -> None:
    write_artifact(tmp_path / "model.pkl", workgroups=2)
    with pytest.raises(FormatError, match="a CPU kernel is called once"):
        load(tmp_path / "model.pkl", allow_unverified=True, allow_synthetic=True)
