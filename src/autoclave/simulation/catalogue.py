"""A catalogue of many models as actions: the backend's graph (docs/architecture.md), filled with what was measured.

Blobs are named after what decides their bytes, so keys, cut-offs and shared results come about as they do in a build: a model's
files carry its name; kernels and their translations carry the family's, since models that differ in their weights only have the
same kernels; the compiler's trees carry the number of the tinygrad that is in use.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autoclave.simulation.actions import Action, Blob
from autoclave.simulation.measurements import MeasuredAction, Measurements

EMULATED = ("qcom", "chestnut")
FP32 = ("cpu",)
BUMPED = "tinygrad"
"""The tree that a bump of tinygrad changes."""

HEADER = "code.bin"
WEIGHTS = "weights.bin"
"""What an artifact would be stored as, if it were stored in two: everything but its weights, and its weights."""


@dataclass(frozen=True)
class Model:
    """One model: `family` says which models have its kernels, and `hardware` what it is compiled for."""

    name: str
    scale: str
    family: str
    hardware: tuple[str, ...]


@dataclass(frozen=True)
class Generation:
    """A state of the compiler. Every one has keys of its own; the artifacts of a model (by family and hardware) for which
    `changed` says so have other kernels than those of the generation before, and the others the same bytes."""

    number: int = 1
    changed: Callable[[Model, str], bool] = lambda model, hardware: False

    def of(self, model: Model, hardware: str) -> int:
        """Which generation the bytes of this artifact come from."""
        return self.number if self.changed(model, hardware) else 1


@dataclass(frozen=True)
class Scope:
    """What is built of each model: with sources that are made first (`synthesized`), with parity tests, and (`split_artifacts`)
    stored with the weights apart, which the backend does not do."""

    synthesized: bool = False
    parity: bool = True
    split_artifacts: bool = False


def generated_models(count: int, scale: str, families: int, hardware: tuple[str, ...]) -> list[Model]:
    """`count` models of one scale, spread evenly over families."""
    return [Model(f"m{number}", scale, f"{scale}{number % families}", hardware) for number in range(count)]


def catalogue_actions(
    models: Sequence[Model], measured: Measurements, scope: Scope = Scope(), generation: Generation = Generation()
) -> list[Action]:
    """All actions of building (and, with `scope.parity`, testing) the models."""
    return [action for model in models for action in _Graph(model, measured, scope, generation).actions()]


@dataclass(frozen=True)
class _Graph:
    model: Model
    measured: Measurements
    scope: Scope
    generation: Generation

    def actions(self) -> Iterator[Action]:
        onnx = self.file("model.onnx", self.find("", "Synthesize"))
        if self.scope.synthesized:
            yield self.action("", "Synthesize", (Blob(f"request of {self.model.name}", 0),), (onnx,))
        yield self.action("", "Check", (onnx,), ())
        fp32 = self.file("model.onnx", self.find("", "Upcast"), "fp32 ")
        if self.scope.parity or set(self.model.hardware) & set(FP32):
            yield self.action("", "Upcast", (onnx,), (fp32,))
        for hardware in self.model.hardware:
            yield from self.for_hardware(hardware, onnx, fp32)

    def for_hardware(self, hardware: str, onnx: Blob, fp32: Blob) -> Iterator[Action]:
        artifact = self.artifact(hardware)
        check = self.made(hardware, "Record", "check.zst", self.model.name)
        recording: tuple[Blob, ...] = ()
        replaying: tuple[Blob, ...] = ()
        yield self.action(hardware, "Compile", (fp32 if hardware in FP32 else onnx,), artifact, delivered=True)
        if hardware in EMULATED:
            kernels = self.made(hardware, "Extract", "kernels.json", self.model.family)
            yield self.action(hardware, "Extract", artifact, (kernels,))
            recording = (self.made(hardware, "Translate", "translations", self.model.family),)
            yield self.action(hardware, "Translate", (kernels,), recording)
        yield self.action(hardware, "Record", (*artifact, *recording), (check,), delivered=True)
        if not self.scope.parity:
            return
        if hardware in EMULATED:
            replaying = (self.made(hardware, "Translate again", "translations", self.model.family),)
            yield self.action(hardware, "Translate again", (kernels,), replaying)
        yield self.action(hardware, "Test", (*artifact, check, fp32, *replaying), ())

    def artifact(self, hardware: str) -> tuple[Blob, ...]:
        whole = self.made(hardware, "Compile", "artifact.pkl", self.model.name)
        if not self.scope.split_artifacts:
            return (whole,)
        weights = self.find(hardware, "Compile").weights
        # Weights are the ONNX file's, converted: no kernel changes them.
        return (
            self.made(hardware, "Compile", HEADER, self.model.name, whole.size - weights),
            Blob(f"{WEIGHTS} of {self.model.name} for {hardware}", weights),
        )

    def find(self, hardware: str, stage: str) -> MeasuredAction:
        return self.measured.action(self.model.scale, hardware, stage)

    def file(self, name: str, maker: MeasuredAction, prefix: str = "") -> Blob:
        return Blob(f"{prefix}{name} of {self.model.name}", maker.outputs[name])

    def made(self, hardware: str, stage: str, name: str, whose: str, size: int | None = None) -> Blob:
        """What comes of an artifact, which is that of the generation that its bytes come from."""
        number = self.generation.of(self.model, hardware)
        bytes_ = self.find(hardware, stage).outputs[name] if size is None else size
        return Blob(f"{name} ({stage}) of {whose} for {hardware}, {number}", bytes_)

    def action(
        self,
        hardware: str,
        stage: str,
        inputs: tuple[Blob, ...],
        outputs: tuple[Blob, ...],
        *,
        delivered: bool = False,
    ) -> Action:
        found = self.find(hardware, stage)
        trees = (self.tree(name) for name in found.trees)
        return Action(stage, self.model.name, found.seconds, (*trees, found.library), inputs, outputs, delivered)

    def tree(self, name: str) -> Blob:
        tree = self.measured.trees[name]
        return Blob(f"{tree.name} {self.generation.number}", tree.size, tree.files) if name == BUMPED else tree
