"""What is compiled of a driving model: which actions, what they are asked, and what they share."""

import json
from types import SimpleNamespace

import pytest
from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.fs import (
    AddPrefix,
    CreateDigest,
    Digest,
    DigestContents,
    DigestEntries,
    FileContent,
    FileDigest,
    FileEntry,
    MergeDigests,
    RemovePrefix,
)
from pants.engine.unions import UnionMembership
from pants.testutil.rule_runner import MockGet, run_rule_with_mocks
from pants.util.frozendict import FrozenDict

from autoclave_pants.rules.actions import ActionRequest, ActionResult, References, Variation
from autoclave_pants.rules.artifacts import CompiledModel, CompileRequest, Platform, RoleSource
from autoclave_pants.rules.driving import (
    DrivingCompileRequest,
    DrivingRequest,
    PolicyCompileRequest,
    compile_driving,
)
from autoclave_pants.rules.driving_plan import DrivingDeclaration, DrivingPlan, DrivingPlanRequest, plan_driving
from autoclave_pants.rules.monitoring import MODEL_FILE
from autoclave_pants.rules.products import is_model, package_directory, products_of
from autoclave_pants.rules.sources import OnnxSource, SourceRequest
from autoclave_pants.rules.toolchains import Toolchain, ToolchainPython, ToolchainRequest
from autoclave_pants.rules.warps import Warp, WarpCompileRequest, WarpRequest, compile_warp
from autoclave_pants.target_types.driving import DrivingModelTarget, MonitoringModelsTarget
from autoclave_pants.target_types.models import OnnxModelTarget
from autoclave_pants.target_types.sources import OnnxFileTarget

TOOLCHAIN = Toolchain(ToolchainPython("host", "3.13", None, "python"), (), "0.14.0", ())
ANYTHING = Digest("a" * 64, 1)
FILE = FileDigest("b" * 64, 1000)
DECLARATION = DrivingDeclaration("auto", "small", "v16", "policy", None, FrozenDict())
PLANES = Warp("planes", (512, 256))


def platform(name="pop223", hardware="qcom"):
    addresses = UnparsedAddressInputs(("//:toolchain",), owning_address=None, description_of_origin="a test")
    return Platform(Address("models", target_name=name), addresses, hardware, "ir3")


def source(name):
    return OnnxSource(f"models:{name}", ANYTHING, name * 8, 8, False, f"driving_{name}.onnx")


def run(rule, *arguments, written="artifact.pkl", contents=b"", mocks=()):
    """The actions that a rule asks for, all of which write the file `written`, and what the rule makes of their results."""
    asked = []

    def act(action):
        asked.append(action)
        return ActionResult(0, ANYTHING, '{"launches": 3}', "", SimpleNamespace(total_elapsed_ms=5))

    gets = [
        MockGet(output_type=ActionResult, input_types=(ActionRequest,), mock=act),
        MockGet(output_type=Toolchain, input_types=(ToolchainRequest,), mock=lambda _: TOOLCHAIN),
        MockGet(
            output_type=DigestEntries,
            input_types=(Digest,),
            mock=lambda _: DigestEntries([FileEntry(written, FILE)]),
        ),
        MockGet(
            output_type=DigestContents,
            input_types=(Digest,),
            mock=lambda _: DigestContents([FileContent(written, contents)]),
        ),
        *(
            MockGet(output_type=Digest, input_types=(each,), mock=lambda _: ANYTHING)
            for each in (AddPrefix, CreateDigest, MergeDigests, RemovePrefix)
        ),
        *mocks,
    ]
    used = {(each.output_type, each.input_types) for each in rule.rule.input_gets}
    gets = [each for each in gets if (each.output_type, each.input_types) in used]
    unions = UnionMembership({CompileRequest: (PolicyCompileRequest, WarpCompileRequest)})
    return asked, run_rule_with_mocks(rule, rule_args=arguments, mock_gets=gets, union_membership=unions)


def test_warps_of_two_models_are_one_action():
    (first,), _ = run(compile_warp, WarpCompileRequest(WarpRequest(platform("one"), (1928, 1208), PLANES)))
    (second,), _ = run(compile_warp, WarpCompileRequest(WarpRequest(platform("other"), (1928, 1208), PLANES)))
    assert first == second
    assert (first.target, second.target) == (
        "models:one (warp of 1928x1208)",
        "models:other (warp of 1928x1208)",
    )


def test_warp_is_asked_for_by_its_geometry_alone():
    (action,), _ = run(compile_warp, WarpCompileRequest(WarpRequest(platform(), (1344, 760), PLANES)))
    assert action.module == "autoclave.compiler.warp"
    assert json.loads(action.request) == {
        "absent_flags": [],
        "border_fill": None,
        "camera": [1344, 760],
        "hardware": "qcom",
        "history": None,
        "layout": "planes",
        "model_size": [512, 256],
        "output": "out/artifact.pkl",
        "renderer": "ir3",
        "tinygrad": "0.14.0",
    }


def test_plan_is_asked_for_by_what_was_declared_and_tells_which_file_is_which_part():
    plan = {
        "kind": "split",
        "why": "split, because so",
        "parts": {"vision": 1, "policy": 0},
        "frame_skip": 4,
        "warp": {"layout": "planes", "model_size": [512, 256], "history": None},
    }
    files = (RoleSource("", source("p")), RoleSource("vision", source("v")))
    (action,), made = run(
        plan_driving,
        DrivingPlanRequest(files, DECLARATION),
        References(TOOLCHAIN),
        written="plan.json",
        contents=json.dumps(plan).encode(),
    )
    request = json.loads(action.request)
    assert [(each["name"], each["role"], each["path"]) for each in request["models"]] == [
        ("driving_p.onnx", None, "inputs/0.onnx"),
        ("driving_v.onnx", "vision", "inputs/1.onnx"),
    ]
    assert "models:" not in action.request
    assert made.parts == (RoleSource("vision", source("v")), RoleSource("policy", source("p")))
    assert (made.kind, made.frame_skip, made.warp, made.why) == ("split", 4, PLANES, "split, because so")


def test_parts_are_compiled_apart_in_the_same_circumstances_and_assembled_policy_first():
    address = UnparsedAddressInputs(("//:v",), owning_address=None, description_of_origin="a test")
    model = DrivingRequest(platform(), (("vision", address),), DECLARATION, ((1928, 1208), (64, 48)))
    other = Variation(hash_seed=7)
    plan = DrivingPlan("split", (RoleSource("vision", source("v")),), 4, PLANES, "split, because so")
    parts = []

    def compiled(request):
        parts.append(request)
        report = FrozenDict({"launches": 3, "kernels": 2, "arena": 10, "peak_rss": 7, "elapsed_ms": 5})
        return CompiledModel(ANYTHING, FILE, (), TOOLCHAIN, report)

    (assembling,), made = run(
        compile_driving,
        DrivingCompileRequest(model, other),
        References(TOOLCHAIN),
        mocks=(
            MockGet(output_type=OnnxSource, input_types=(SourceRequest,), mock=lambda _: source("v")),
            MockGet(output_type=DrivingPlan, input_types=(DrivingPlanRequest,), mock=lambda _: plan),
            MockGet(output_type=CompiledModel, input_types=(CompileRequest,), mock=compiled),
        ),
    )
    assert [type(part).__name__ for part in parts] == [
        "PolicyCompileRequest",
        "WarpCompileRequest",
        "WarpCompileRequest",
    ]
    assert {part.variation for part in parts} == {other} == {assembling.variation}
    assert json.loads(assembling.request) == {
        "parts": ["inputs/run_policy.pkl", "inputs/1928x1208.pkl", "inputs/64x48.pkl"],
        "behavior_version": "v16",
        "output": "out/artifact.pkl",
    }
    assert (made.report["launches"], made.report["peak_rss"], made.report["parts"]) == (9, 7, 3)
    assert (made.sources, made.remarks) == (plan.parts, ("split, because so",))


def driving_model(**fields):
    declared = {"sources": ":onnx", "behavior_version": "v16", "hardware": "qcom", **fields}
    return DrivingModelTarget(declared, Address("models", target_name="pop223"))


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({}, "driving_tinygrad.pkl"),
        ({"size_class": "big"}, "big_driving_tinygrad.pkl"),
        ({"size_class": {"chestnut": "big"}}, "driving_tinygrad.pkl"),
        ({"size_class": {"chestnut": "big"}, "hardware": "chestnut"}, "big_driving_tinygrad.pkl"),
        ({"filename": "pop223_driving_tinygrad.pkl"}, "pop223_driving_tinygrad.pkl"),
    ],
)
def test_driving_artifact_has_openpilots_name_or_its_own(fields, expected):
    (product,) = products_of(driving_model(**fields)).artifacts
    assert product.filename == expected


def test_hardware_may_have_sources_of_its_own():
    fields = {"hardware_sources": {"chestnut": {"vision": ":big-vision", "policy": ":big-policy"}}}
    sources = {}
    for hardware in ("qcom", "chestnut"):
        (product,) = products_of(driving_model(hardware=hardware, **fields)).artifacts
        sources[hardware] = [(role, addresses.values) for role, addresses in product.model.sources]
    assert sources["qcom"] == [("", (":onnx",))]
    assert sources["chestnut"] == [("policy", (":big-policy",)), ("vision", (":big-vision",))]


def test_monitoring_is_openpilots_four_files():
    target = MonitoringModelsTarget({"source": ":onnx", "hardware": "cpu"}, Address("models", target_name="dm"))
    products = products_of(target)
    assert [product.filename for product in products.artifacts] == [
        MODEL_FILE,
        "dm_warp_1928x1208_tinygrad.pkl",
        "dm_warp_1344x760_tinygrad.pkl",
    ]
    assert products.metadata is not None
    assert products.artifacts[1].model.warp == Warp("luma", (1440, 960), border_fill=16)
    assert package_directory(target) == "models/dm/cpu"


def test_variants_of_one_hardware_have_folders_of_their_own():
    def folder(**parameters):
        address = Address("models", target_name="policy", parameters=parameters)
        return package_directory(OnnxModelTarget({"source": ":onnx", "hardware": "chestnut"}, address))

    assert folder(hardware="chestnut") == folder() == "models/policy/chestnut"
    assert folder(renderer="hip") == folder(hardware="chestnut", renderer="hip") == "models/policy/chestnut-hip"


@pytest.mark.parametrize(
    "target, expected",
    [
        (driving_model(), True),
        (OnnxModelTarget({"source": ":a", "hardware": "cpu"}, Address("models", target_name="m")), True),
        (OnnxFileTarget({"source": "a.onnx"}, Address("models", target_name="a")), False),
    ],
)
def test_models_are_told_from_their_sources(target, expected):
    assert is_model(target) is expected
