"""A model whose outputs do not fit its behaviour version is refused, with everything that is wrong at once."""

from collections.abc import Mapping
from typing import Any

import pytest
from driving.raw_outputs import WIDTHS, layout

from autoclave.driving.behaviour import (
    BEHAVIOURS,
    Curvature,
    OutputLayout,
    OutputsError,
    UnknownBehaviour,
    behaviour,
    check_layouts,
    check_outputs,
)
from autoclave.driving.output_forms import FORMS, form_of, widths
from autoclave.source.driving_model import output_slices, whole_widths

REQUIRED = {
    "plan",
    "lane_lines",
    "lane_lines_prob",
    "road_edges",
    "lead",
    "lead_prob",
    "meta",
    "desire_pred",
    "pose",
    "wide_from_device_euler",
    "road_transform",
}
"""What StarPilot requires of every model."""


def problems(version: str, slices: Mapping[str, slice], length: int) -> list[str]:
    with pytest.raises(OutputsError) as caught:
        check_outputs(version, slices, length)
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("version", "extra", "curvature", "off_policy"),
    [
        ("v8", set(), Curvature.FROM_PLAN, False),
        ("v9", {"desired_curvature"}, Curvature.FROM_OUTPUT, False),
        ("v10", set(), Curvature.FROM_PLAN, False),
        ("v11", set(), Curvature.FROM_PLAN, False),
        ("v12", set(), Curvature.FROM_PLAN, True),
        ("v14", {"action"}, Curvature.ACTION_PER_HUNDRED, True),
        ("v15", {"action"}, Curvature.ACTION_PER_SPEED_SQUARED, True),
        ("v16", {"action"}, Curvature.ACTION_PER_SPEED_SQUARED, False),
    ],
)
def test_each_version_says_what_it_needs(version: str, extra: set[str], curvature: Curvature, off_policy: bool) -> None:
    known = behaviour(version)
    assert (set(known.required), known.curvature, known.off_policy) == (REQUIRED | extra, curvature, off_policy)


def test_no_other_version_is_known() -> None:
    assert list(BEHAVIOURS) == ["v8", "v9", "v10", "v11", "v12", "v14", "v15", "v16"]


@pytest.mark.parametrize("version", ["v7", "v17", "16", "V16", "", "v" * 1000])
def test_an_unknown_version_is_refused_with_those_that_are_known(version: str) -> None:
    with pytest.raises(UnknownBehaviour, match="is not known; expected one of v8, v9, v10, v11, v12, v14, v15, v16"):
        behaviour(version)


def test_v13_is_refused_for_want_of_a_description() -> None:
    with pytest.raises(
        UnknownBehaviour, match="'v13' is not known: no description of it is known, and none is made up"
    ):
        behaviour("v13")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, (width,)) for name, width in WIDTHS.items() if name not in ("plan", "lead")),
        ("plan", (990, 4955)),
        ("planplus", (990, 4955)),
        ("lead", (144, 102)),
        ("desired_curvature", (2,)),
    ],
)
def test_outputs_have_the_widths_of_openpilots_models(name: str, expected: tuple[int, ...]) -> None:
    assert widths(name) == expected


def test_every_form_of_an_output_is_told_by_its_width() -> None:
    for name, forms in FORMS.items():
        assert [form_of(name, form.width) for form in forms] == list(forms)
    assert form_of("plan", 991) is None and form_of("unheard_of", 991) is None


def test_the_newest_model_fits_v16() -> None:
    check_outputs("v16", *layout(WIDTHS))


def test_a_synthetic_model_of_the_newest_version_fits_every_version_but_v9() -> None:
    widths = whole_widths("v16")
    for version in BEHAVIOURS:
        if version != "v9":
            check_outputs(version, output_slices(widths), sum(widths.values()))


def test_a_model_of_2024_with_several_hypotheses_fits_v9() -> None:
    old = {**WIDTHS, "plan": 4955, "lead": 102, "sim_pose": 12, "desired_curvature": 2}
    del old["action"]
    slices, length = layout(old)
    check_outputs("v9", slices, length)
    assert "action is missing" in problems("v14", slices, length)


def test_outputs_that_nobody_knows_are_left_alone() -> None:
    check_outputs("v16", *layout({**WIDTHS, "unheard_of": 7}))


def test_what_is_not_required_may_be_absent_but_not_misshapen() -> None:
    slices, length = layout(
        {name: width for name, width in WIDTHS.items() if name not in ("desire_state", "hidden_state")}
    )
    check_outputs("v16", slices, length)
    assert problems("v16", *layout({**WIDTHS, "desire_state": 9})) == ["desire_state has 9 values; expected 8"]


def test_all_that_is_wrong_is_listed_at_once() -> None:
    slices, length = layout(WIDTHS)
    del slices["pose"]
    changed = {"meta": slice(2570, 2625), "lead_prob": slice(7, 7), "action": slice(0, 3)}
    assert problems("v16", {**slices, **changed}, length) == [
        "pose is missing",
        "meta is 2570:2625, out of the range of 2578 values",
        "lead_prob is 7:7, which is empty",
        "action has 3 values; expected 4",
        "lane_lines (0:528) overlaps action (0:3)",
    ]


def test_missing_outputs_are_all_named() -> None:
    assert problems("v15", {}, 100) == [f"{name} is missing" for name in behaviour("v15").required]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"plan": slice(917, 1897)}, "plan has 980 values; expected 990 or 4955"),
        ({"lead": slice(1907, 2050)}, "lead has 143 values; expected 144 or 102"),
        ({"hidden_state": slice(2066, 2579)}, "hidden_state is 2066:2579, out of the range of 2578 values"),
        ({"hidden_state": slice(-2579, None)}, "hidden_state is -2579:, out of the range of 2578 values"),
        ({"pose": slice(899, 887)}, "pose is 899:887, which is empty"),
        ({"pose": slice(887, 911, 2)}, "pose has a step of 2"),
        ({"pose": slice(888, 900)}, "wide_from_device_euler (899:905) overlaps pose (888:900)"),
        ({"unheard_of": slice(0, 1)}, "lane_lines (0:528) overlaps unheard_of (0:1)"),
        ({"unheard_of": slice(700, 701)}, "unheard_of (700:701) overlaps road_edges (536:800)"),
        ({"copy": slice(887, 899)}, "copy (887:899) overlaps pose (887:899)"),
        ({"pad": slice(-3, None)}, "pad (2575:2578) overlaps hidden_state (2066:2578)"),
        ({"pad": slice(0, 2)}, "lane_lines (0:528) overlaps pad (0:2)"),
    ],
)
def test_a_slice_that_is_out_of_place_is_refused(change: dict[str, slice], expected: str) -> None:
    slices, length = layout(WIDTHS)
    assert problems("v16", {**slices, **change}, length) == [expected]


def test_one_wide_slice_is_said_to_overlap_each_that_it_covers() -> None:
    slices, length = layout(WIDTHS)
    found = problems("v16", {**slices, "all": slice(None)}, length)
    assert len(found) == len(WIDTHS) and all("overlaps" in problem for problem in found)


def test_open_and_negative_bounds_are_counted_from_the_end() -> None:
    slices, length = layout(WIDTHS)
    check_outputs("v16", {**slices, "hidden_state": slice(-512, None), "lane_lines": slice(None, 528)}, length)


VISION = {name: width for name, width in WIDTHS.items() if name not in ("plan", "desire_state", "action")}
POLICY = {"plan": 990, "desire_state": 8, "action": 4}


def split(vision: Mapping[str, int], policy: Mapping[str, int], **others: Mapping[str, int]) -> dict[str, OutputLayout]:
    parts = {"vision": vision, "policy": policy, **others}
    return {part: OutputLayout(*layout(each)) for part, each in parts.items()}


def test_the_parts_of_a_split_model_have_the_outputs_together() -> None:
    check_layouts("v15", split(VISION, POLICY, off_policy={"plan": 990, "lane_lines": 528}))


def refusal(*arguments: Any) -> list[str]:
    with pytest.raises(OutputsError) as caught:
        check_layouts(*arguments)
    return list(caught.value.problems)


def test_a_problem_says_which_part_it_is_in() -> None:
    vision = {name: width for name, width in VISION.items() if name != "pose"}
    assert refusal("v15", split(vision, {**POLICY, "action": 3})) == [
        "pose is missing",
        "policy: action has 3 values; expected 4",
    ]


def test_an_output_can_be_needed_in_one_part() -> None:
    vision = {name: width for name, width in VISION.items() if name != "hidden_state"}
    layouts = split(vision, {**POLICY, "hidden_state": 512})
    check_layouts("v15", layouts)
    assert refusal("v15", layouts, {"vision": ("hidden_state",)}) == ["vision: hidden_state is missing"]
