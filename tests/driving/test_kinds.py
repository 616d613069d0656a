"""What ONNX files make: the kinds that sunnypilot's workflow tells apart, and nothing that is ambiguous."""

from dataclasses import replace
from typing import Any

import pytest
from driving.onnx_files import (
    BIG_FILE,
    IMAGES,
    MEGABYTE,
    OFF_POLICY_FILE,
    OLD_IMAGES,
    ON_POLICY_FILE,
    POLICY,
    POLICY_FILE,
    STATEFUL,
    STATEFUL_FILE,
    SUPERCOMBO,
    SUPERCOMBO_FILE,
    VISION_FILE,
    onnx_file,
)

from autoclave.driving.behaviour import BEHAVIOURS, UnknownBehaviour
from autoclave.driving.kinds import (
    Kind,
    KindError,
    OnnxFileSummary,
    check_behaviour,
    check_size_class,
    choose_kind,
    part_of,
)
from autoclave.source import stateful, supercombo


@pytest.mark.parametrize(
    ("files", "kind", "parts"),
    [
        ([SUPERCOMBO_FILE], Kind.SUPERCOMBO, ["supercombo"]),
        ([BIG_FILE], Kind.SUPERCOMBO, ["supercombo"]),
        ([STATEFUL_FILE], Kind.STATEFUL, ["stateful"]),
        ([POLICY_FILE, VISION_FILE], Kind.SPLIT, ["vision", "policy"]),
        (
            [OFF_POLICY_FILE, ON_POLICY_FILE, VISION_FILE],
            Kind.MULTI_POLICY,
            ["vision", "on_policy", "off_policy"],
        ),
        ([VISION_FILE, POLICY_FILE, OFF_POLICY_FILE], Kind.MULTI_POLICY, ["vision", "policy", "off_policy"]),
    ],
)
def test_files_make_the_kind_that_sunnypilot_takes_them_for(
    files: list[OnnxFileSummary], kind: Kind, parts: list[str]
) -> None:
    choice = choose_kind(files)
    assert (choice.kind, list(choice.parts)) == (kind, parts)
    assert choose_kind(files, declared=kind) == choice
    assert sorted(file.name for file in choice.parts.values()) == sorted(file.name for file in files)


def test_the_choice_says_why() -> None:
    assert choose_kind([POLICY_FILE, VISION_FILE]).why == (
        "split, because driving_vision.onnx is a vision model, driving_policy.onnx is a policy model"
    )


def test_inputs_count_where_names_say_nothing() -> None:
    files = [onnx_file("a.onnx", POLICY), onnx_file("b.onnx", OLD_IMAGES)]
    assert {part: file.name for part, file in choose_kind(files).parts.items()} == {
        "vision": "b.onnx",
        "policy": "a.onnx",
    }
    old = onnx_file("model.onnx", {**OLD_IMAGES, "features_buffer": (1, 99, 512), "desire": (1, 100, 8)})
    assert part_of(old) == "supercombo"


@pytest.mark.parametrize("architecture", [supercombo, stateful])
def test_synthetic_models_are_of_their_kind(architecture: Any) -> None:
    model, _, _ = architecture.build("S", 1)
    inputs, outputs = (
        {value.name: tuple(axis.dim_value for axis in value.type.tensor_type.shape.dim) for value in values}
        for values in (model.graph.input, model.graph.output)
    )
    choice = choose_kind([OnnxFileSummary("onnx", 415136, inputs, outputs, synthetic=True)])
    assert choice.kind.value == architecture.__name__.rpartition(".")[2]


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ([], "no ONNX file is given"),
        ([VISION_FILE], "driving_vision.onnx is a vision model: that makes no kind of model; it needs stateful"),
        ([VISION_FILE, OFF_POLICY_FILE], "that makes no kind of model"),
        ([POLICY_FILE], "or vision \\+ policy \\(split\\), or supercombo"),
        (
            [VISION_FILE, POLICY_FILE, SUPERCOMBO_FILE],
            r"make a split model \(or supercombo\), but driving_supercombo.onnx is a supercombo model would be left over",
        ),
        (
            [STATEFUL_FILE, VISION_FILE, POLICY_FILE],
            r"make a stateful model \(or split\), but driving_vision.onnx .* driving_policy.onnx .* left over",
        ),
        ([VISION_FILE, POLICY_FILE, ON_POLICY_FILE, OFF_POLICY_FILE], "driving_policy.onnx .* would be left over"),
        ([SUPERCOMBO_FILE, BIG_FILE], "driving_supercombo.onnx and big_driving_supercombo.onnx are both a supercombo"),
        ([onnx_file("a.onnx", POLICY), POLICY_FILE, VISION_FILE], "a.onnx and driving_policy.onnx are both a policy"),
    ],
)
def test_what_is_no_kind_or_may_be_several_is_refused(files: list[OnnxFileSummary], what: str) -> None:
    with pytest.raises(KindError, match=what):
        choose_kind(files)


@pytest.mark.parametrize(
    ("files", "declared", "what"),
    [
        ([SUPERCOMBO_FILE], Kind.STATEFUL, "makes no stateful model; it needs stateful"),
        ([VISION_FILE, POLICY_FILE], Kind.MULTI_POLICY, r"it needs vision \+ on_policy \+ off_policy .*, or vision"),
        ([VISION_FILE, POLICY_FILE, OFF_POLICY_FILE], Kind.SPLIT, "but driving_off_policy.onnx .* left over"),
    ],
)
def test_a_declared_kind_is_checked(files: list[OnnxFileSummary], declared: Kind, what: str) -> None:
    with pytest.raises(KindError, match=what):
        choose_kind(files, declared)


@pytest.mark.parametrize(
    ("file", "what"),
    [
        (onnx_file("driving_vision.onnx", POLICY), "the name says vision, but its inputs are those of a policy model"),
        (onnx_file("driving_policy.onnx", SUPERCOMBO), "the name says policy, .* supercombo model: action_t, big_img"),
        (onnx_file("supercombo.onnx", IMAGES), "the name says supercombo, .* of a vision model: big_img, img"),
        (onnx_file("m.onnx", {"img": (1, 12, 128, 256)}), "has img; .* the road camera and the wide camera"),
        (onnx_file("dm.onnx", {"input_img": (1, 1382400), "calib": (1, 3)}), "declare it in monitoring_models"),
        (onnx_file("m.onnx", {"x": (1,)}), "is no driving model: it has neither new_img, .* but x"),
        (onnx_file("m.onnx", {}), "but nothing"),
        (replace(STATEFUL_FILE, outputs={"outputs": (1, 9)}), "no output next_X to feed back"),
        (replace(STATEFUL_FILE, outputs={"next_x": (1, 9)}), "next_x has no input x"),
        (
            replace(STATEFUL_FILE, outputs={"next_img_buffer": (1, 9)}),
            r"next_img_buffer has the shape \(1, 9\), but img_buffer \(2, 6",
        ),
    ],
)
def test_a_file_that_is_no_part_of_a_model_is_refused(file: OnnxFileSummary, what: str) -> None:
    with pytest.raises(KindError, match=what):
        part_of(file)


def test_a_stateful_model_may_be_called_supercombo_as_openpilot_does() -> None:
    assert part_of(onnx_file("driving_supercombo.onnx", STATEFUL)) == "stateful"


def test_only_versions_12_to_15_have_an_off_policy_part() -> None:
    def fitting(kind: Kind) -> list[str]:
        fits = []
        for version in BEHAVIOURS:
            try:
                check_behaviour(kind, version)
            except KindError as error:
                assert version in str(error)
            else:
                fits.append(version)
        return fits

    assert fitting(Kind.MULTI_POLICY) == ["v12", "v14", "v15"]
    assert fitting(Kind.SPLIT) == ["v8", "v9", "v10", "v11", "v16"]
    assert fitting(Kind.SUPERCOMBO) == fitting(Kind.STATEFUL) == list(BEHAVIOURS)


def test_the_refusal_names_the_versions_that_would_fit() -> None:
    with pytest.raises(KindError, match="a split model has no off-policy part, which v15 .*; one of v8, v9, .* does"):
        check_behaviour(Kind.SPLIT, "v15")
    with pytest.raises(UnknownBehaviour):
        check_behaviour(Kind.SPLIT, "v13")


@pytest.mark.parametrize(
    ("declared", "sizes"),
    [
        ("small", [60_934_112]),
        ("small", [122_000_000]),  # in fp32
        ("small", [46_000_000, 15_000_000, 15_000_000]),
        ("big", [770_000_000]),
        ("big", [1_700_000_000]),
    ],
)
def test_the_sizes_of_real_models_tell_their_class(declared: str, sizes: list[int]) -> None:
    files = [onnx_file("driving.onnx", SUPERCOMBO, size) for size in sizes]
    check_size_class(declared, files)
    other = "big" if declared == "small" else "small"
    with pytest.raises(
        KindError, match=f"{sum(sizes)} bytes, which is a {declared} model .* but size_class is {other}"
    ):
        check_size_class(other, files)


def test_a_small_model_under_the_name_of_a_big_one_is_refused_as_either() -> None:
    file = onnx_file("models/big_driving_supercombo.onnx", SUPERCOMBO, 61 * MEGABYTE)
    with pytest.raises(KindError, match="61000000 bytes, which is a small model"):
        check_size_class("big", [file])
    with pytest.raises(KindError, match="the name says that it is a big model"):
        check_size_class("small", [file])


def test_a_synthetic_model_of_any_size_is_of_the_class_that_is_declared() -> None:
    for declared in ("small", "big"):
        check_size_class(declared, [onnx_file("onnx", SUPERCOMBO, 415136, synthetic=True)])
    with pytest.raises(KindError, match="the name says"):
        check_size_class("small", [onnx_file("big_driving.onnx", SUPERCOMBO, 415136, synthetic=True)])


def test_a_size_class_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KindError, match="size_class is 'huge'; expected small or big"):
        check_size_class("huge", [SUPERCOMBO_FILE])
