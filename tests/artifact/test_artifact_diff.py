"""Comparing artifacts: what differs is named, and nothing else is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from artifact.kernel_code import A630_LOOP, CHESTNUT, CPU, QCOM, gfx1200_object, write_kernels
from artifact.sample_artifacts import write_sample

from autoclave.artifact.diff import ArtifactDiff, diff_artifacts
from autoclave.artifact.field_diff import FieldChange, diff_fields
from autoclave.artifact.model import Buffer, Header, Part
from autoclave.artifact.reader import open_artifact
from autoclave.artifact.writer import ArtifactWriter
from autoclave.cli.decoders import DECODERS


def compare(left: Path, right: Path) -> ArtifactDiff:
    with open_artifact(left) as one, open_artifact(right) as other:
        return diff_artifacts(one, other, DECODERS)


@pytest.fixture
def left(tmp_path: Path) -> Path:
    return tmp_path / "left.pkl"


@pytest.fixture
def right(tmp_path: Path) -> Path:
    return tmp_path / "right.pkl"


def test_equal_files_are_the_same(left: Path, right: Path) -> None:
    write_sample(left)
    write_sample(right)
    found = compare(left, right)
    assert found.same
    assert (found.fields, found.kernels, found.weights, found.moved) == ((), (), (), 0)


def test_changed_instruction_is_shown_with_its_neighbours(left: Path, right: Path) -> None:
    write_kernels(left, QCOM, [("loop", A630_LOOP)])
    write_kernels(right, QCOM, [("loop", A630_LOOP.replace(bytes.fromhex("0e000f00"), bytes.fromhex("0e001000")))])
    found = compare(left, right)
    assert not found.same
    assert (found.fields, found.weights) == ((), ())
    (kernel,) = found.kernels
    assert (kernel.name, kernel.left, kernel.right, kernel.fields) == ("loop", 0, 0, ())
    assert kernel.code is not None
    assert (kernel.code.first, kernel.code.removed, kernel.code.added) == (10, 1, 1)
    assert kernel.code.listing == (
        "  (rpt2)mov.f32f32 r0.w, (r)c2.x",
        "- add.u r3.z, r3.z, r3.w",
        "+ add.u r3.z, r3.z, r4.x",
        "  madsh.m16 r4.x, c4.x, r2.y, r4.x",
        "  jump #l1",
    )


def test_other_operation_on_gfx1200_is_found(left: Path, right: Path) -> None:
    write_kernels(left, CHESTNUT, [("math", gfx1200_object("math", "exp2"))])
    write_kernels(right, CHESTNUT, [("math", gfx1200_object("math", "log2"))])
    (kernel,) = compare(left, right).kernels
    assert kernel.code is not None
    assert "- v_exp_f16_e32 v1, v1" in kernel.code.listing
    assert "+ v_log_f16_e32 v1, v1" in kernel.code.listing


def test_code_that_cannot_be_decoded_is_compared_by_bytes(left: Path, right: Path) -> None:
    write_kernels(left, CPU, [("add", b"object one")])
    write_kernels(right, CPU, [("add", b"object two, longer")])
    (kernel,) = compare(left, right).kernels
    assert kernel.code is not None
    assert (kernel.code.left_nbytes, kernel.code.right_nbytes, kernel.code.first) == (10, 18, 7)
    assert kernel.code.listing == ()
    assert kernel.code.note is not None


def test_inserted_kernel_does_not_make_others_differ(left: Path, right: Path) -> None:
    write_kernels(left, QCOM, [("a", A630_LOOP), ("b", A630_LOOP[8:])])
    write_kernels(right, QCOM, [("a", A630_LOOP), ("new", A630_LOOP[16:]), ("b", A630_LOOP[8:])])
    found = compare(left, right)
    assert [(kernel.name, kernel.left, kernel.right) for kernel in found.kernels] == [("new", None, 1)]
    assert [(field.where, field.left) for field in found.fields] == [("parts[run].calls[1]", None)]
    assert found.moved == 1


def test_kernels_of_one_name_are_matched_in_order(left: Path, right: Path) -> None:
    write_kernels(left, QCOM, [("e", A630_LOOP), ("e", A630_LOOP[8:])])
    write_kernels(right, QCOM, [("e", A630_LOOP), ("e", A630_LOOP[16:])])
    assert [kernel.name for kernel in compare(left, right).kernels] == ["e (2)"]


def test_changed_grid_is_one_field(left: Path, right: Path) -> None:
    write_kernels(left, QCOM, [("a", A630_LOOP)], grid=2)
    write_kernels(right, QCOM, [("a", A630_LOOP)], grid=3)
    found = compare(left, right)
    assert found.fields == (FieldChange("parts[run].calls[0].global_size[0]", "2", "3"),)
    assert (found.kernels, found.weights, found.moved) == ((), (), 0)


def test_changed_elements_are_counted_in_the_weight_s_own_dtype(left: Path, right: Path) -> None:
    before = np.linspace(-1, 1, 32, dtype=np.float16)
    after = before.copy()
    after[[3, 30]] += np.float16(0.25)
    write_kernels(left, QCOM, [("a", A630_LOOP)], [("conv", before.tobytes())])
    write_kernels(right, QCOM, [("a", A630_LOOP)], [("conv", after.tobytes())])
    (weight,) = compare(left, right).weights
    assert (weight.part, weight.name, weight.dtype) == ("run", "conv", "float16")
    assert (weight.elements, weight.changed, weight.first) == (32, 2, 3)
    assert weight.max_abs == pytest.approx(0.25, abs=1e-3)


def test_weight_without_a_kernel_is_compared_by_bytes(left: Path, right: Path) -> None:
    weights = [("used", bytes(64)), ("unused", b"abcd")]
    write_kernels(left, QCOM, [("a", A630_LOOP)], weights)
    write_kernels(right, QCOM, [("a", A630_LOOP)], [weights[0], ("unused", b"abcz")])
    (weight,) = compare(left, right).weights
    assert (weight.name, weight.dtype, weight.changed, weight.first, weight.max_abs) == ("unused", "uint8", 1, 3, 22)


def test_not_a_number_has_no_distance(left: Path, right: Path) -> None:
    broken = np.zeros(32, dtype=np.float16)
    broken[5] = np.nan
    write_kernels(left, QCOM, [("a", A630_LOOP)])
    write_kernels(right, QCOM, [("a", A630_LOOP)], [("weight", broken.tobytes())])
    (weight,) = compare(left, right).weights
    assert (weight.changed, weight.first, weight.max_abs) == (1, 5, None)


def test_weights_that_came_went_or_grew_are_named(left: Path, right: Path) -> None:
    write_kernels(left, QCOM, [("a", A630_LOOP)], [("weight", bytes(64)), ("gone", b"12"), ("grown", b"1234")])
    write_kernels(right, QCOM, [("a", A630_LOOP)], [("weight", bytes(64)), ("grown", b"123456"), ("came", b"xy")])
    sizes = {weight.name: (weight.left_nbytes, weight.right_nbytes) for weight in compare(left, right).weights}
    assert sizes == {"gone": (2, None), "grown": (4, 6), "came": (None, 2)}


def test_large_weight_is_compared_in_pieces(left: Path, right: Path) -> None:
    before = np.zeros(3_000_000, dtype=np.uint8)
    after = before.copy()
    after[2_999_999] = 7
    for path, data in ((left, before), (right, after)):
        with ArtifactWriter(path) as writer:
            span = writer.add_weight(data)
            writer.finish(
                Header({}, (), (Part("run", QCOM, (), (), (Buffer("constant", span.length, span, "w"),), (), ()),))
            )
    (weight,) = compare(left, right).weights
    assert (weight.elements, weight.changed, weight.first, weight.max_abs) == (3_000_000, 1, 2_999_999, 7)


def test_missing_part_is_one_field(left: Path, right: Path) -> None:
    write_sample(left)
    with open_artifact(left) as artifact, ArtifactWriter(right) as writer:
        for span in ((4096, 1024), (5376, 8)):
            writer.add_weight(left.read_bytes()[span[0] : sum(span)])
        header = artifact.header
        run = header.parts[0]
        buffers = (
            *run.buffers[:2],
            replace(run.buffers[2]),
            replace(run.buffers[3], data=None, kind="persistent"),
            *run.buffers[4:],
        )
        writer.finish(replace(header, kernels=(), parts=(replace(run, buffers=buffers, init=(), calls=()),)))
    found = compare(left, right)
    assert FieldChange("parts[1928x1208]", "there", None) in found.fields
    assert FieldChange("parts[run].buffers[3].kind", '"constant"', '"persistent"') in found.fields


@pytest.mark.parametrize(
    ("left_value", "right_value", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", "1", "2")]),
        ({"a": 1}, {"a": True}, [("a", "1", "true")]),
        ({"a": 1}, {"b": 1}, [("a", "1", None), ("b", None, "1")]),
        ({"a": {"b": [1, 2, 3]}}, {"a": {"b": [1, 2, 4]}}, [("a.b[2]", "3", "4")]),
        ({"a": [1, 2, 3]}, {"a": [0, 1, 2, 3]}, [("a[0]", None, "0")]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, [("a[1]", "2", None)]),
        ({"a": [1]}, {"a": {"b": 1}}, [("a", "[1]", '{"b":1}')]),
    ],
)
def test_fields_are_compared_like_this(
    left_value: object, right_value: object, expected: list[tuple[str, str, str]]
) -> None:
    assert [(change.where, change.left, change.right) for change in diff_fields(left_value, right_value)] == expected
