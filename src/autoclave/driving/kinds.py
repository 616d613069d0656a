"""Kinds of driving models: which ONNX files make one, told by their inputs and outputs, and of which size class they are.

    choice = choose_kind([summary_of_vision, summary_of_policy])
    choice.kind, choice.parts, choice.why

The kinds are tried in the order of sunnypilot's workflow: stateful, multi_policy, split, supercombo. Every file must
have a place in the kind: what could be more than one kind is refused, not guessed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath

from autoclave.driving.behaviour import BEHAVIOURS, behaviour
from autoclave.errors import SourceError

Shape = tuple[int | str | None, ...]
"""A dimension is a number, or an axis's name, or unknown."""


class KindError(SourceError):
    """Files that make no kind of driving model, more than one, or not the one that was declared."""


@dataclass(frozen=True)
class OnnxFileSummary:
    """What is needed of an ONNX file: its name, its size in bytes, its inputs and outputs with their shapes.

    `size` is the whole model's, chunks joined. `synthetic`: made-up weights, whose size says nothing.
    """

    name: str
    size: int
    inputs: Mapping[str, Shape]
    outputs: Mapping[str, Shape]
    synthetic: bool = False


class Kind(Enum):
    """The kinds, by the name that a BUILD file gives them."""

    STATEFUL = "stateful"
    MULTI_POLICY = "multi_policy"
    SPLIT = "split"
    SUPERCOMBO = "supercombo"


@dataclass(frozen=True)
class Composition:
    """The parts of a kind of model. `needed`: outputs that the runtime feeds back to it, by the part that has them."""

    kind: Kind
    parts: tuple[str, ...]
    needed: Mapping[str, tuple[str, ...]]


COMPOSITIONS = (
    Composition(Kind.STATEFUL, ("stateful",), {}),
    Composition(Kind.MULTI_POLICY, ("vision", "on_policy", "off_policy"), {"vision": ("hidden_state",)}),
    Composition(Kind.MULTI_POLICY, ("vision", "policy", "off_policy"), {"vision": ("hidden_state",)}),
    Composition(Kind.SPLIT, ("vision", "policy"), {"vision": ("hidden_state",)}),
    Composition(Kind.SUPERCOMBO, ("supercombo",), {"supercombo": ("hidden_state",)}),
)
"""In the order in which they are tried."""


@dataclass(frozen=True)
class Choice:
    """The kind, its files by part, in the order of `COMPOSITIONS`, and in a sentence why."""

    kind: Kind
    parts: Mapping[str, OnnxFileSummary]
    why: str


def choose_kind(files: Sequence[OnnxFileSummary], declared: Kind | None = None) -> Choice:
    """The kind of model that `files` make; with `declared`, that kind or a refusal.

    Raises `KindError` if a file is no part of a driving model, two files are the same part, a part is missing, or a file
    is left over.
    """
    if not files:
        raise KindError("no ONNX file is given; a driving model has one to three")
    by_part: dict[str, OnnxFileSummary] = {}
    for file in files:
        part = part_of(file)
        if part in by_part:
            raise KindError(f"{by_part[part].name} and {file.name} are both a {part} model; give one of them")
        by_part[part] = file
    fitting = [each for each in COMPOSITIONS if set(each.parts) <= set(by_part)]
    if declared:
        fitting = [each for each in fitting if each.kind is declared]
    if not fitting:
        raise KindError(
            f"{_listing(by_part)}: that makes no {declared.value if declared else 'kind of'} model; {_known(declared)}"
        )
    chosen = fitting[0]
    surplus = {part: file for part, file in by_part.items() if part not in chosen.parts}
    if surplus:
        others = [each.kind.value for each in fitting[1:] if each.kind is not chosen.kind]
        also = f" (or {', '.join(others)})" if others else ""
        raise KindError(
            f"the files make a {chosen.kind.value} model{also}, but {_listing(surplus)} would be left over; "
            f"give only the files of one model"
        )
    parts = {part: by_part[part] for part in chosen.parts}
    return Choice(chosen.kind, parts, f"{chosen.kind.value}, because {_listing(parts)}")


IMAGES = ("img", "input_imgs")
WIDE_IMAGES = ("big_img", "big_input_imgs")
"""The road camera's frames and the wide camera's, as newer and older models call them."""
NEW_IMAGE = "new_img"
FEATURES = "features_buffer"
STATE_PREFIX = "next_"


def part_of(file: OnnxFileSummary) -> str:
    """Which part of a driving model a file is: by its inputs and outputs, and between policies by its name.

    Raises `KindError` that says what it looks like if it is none, or if its name says another part.
    """
    by_interface = _part_by_interface(file)
    by_name = _part_by_name(file.name)
    if by_interface == "policy":
        if by_name in (None, "policy", "on_policy", "off_policy"):
            return by_name or "policy"
    elif by_name in (None, by_interface) or (by_interface, by_name) == ("stateful", "supercombo"):
        return by_interface
    raise KindError(
        f"{file.name}: the name says {by_name}, but its inputs are those of a {by_interface} model: {_names(file.inputs)}"
    )


def _part_by_interface(file: OnnxFileSummary) -> str:
    inputs = set(file.inputs)
    if NEW_IMAGE in inputs:
        _check_state(file)
        return "stateful"
    images = inputs & {*IMAGES, *WIDE_IMAGES}
    if images and not (images & set(IMAGES) and images & set(WIDE_IMAGES)):
        raise KindError(f"{file.name}: has {_names(images)}; a driving model sees the road camera and the wide camera")
    if images:
        return "supercombo" if FEATURES in inputs else "vision"
    if FEATURES in inputs:
        return "policy"
    if "calib" in inputs:
        raise KindError(f"{file.name}: has the inputs of a driver monitoring model; declare it in monitoring_models")
    raise KindError(
        f"{file.name}: is no driving model: it has neither {NEW_IMAGE}, nor img and big_img, nor {FEATURES}, "
        f"but {_names(file.inputs)}"
    )


def _check_state(file: OnnxFileSummary) -> None:
    """Every `next_X` feeds an input X of its shape, and there is at least one."""
    fed = [name for name in file.outputs if name.startswith(STATE_PREFIX)]
    if not fed:
        raise KindError(f"{file.name}: has {NEW_IMAGE}, but no output {STATE_PREFIX}X to feed back to an input X")
    for name in fed:
        state = name.removeprefix(STATE_PREFIX)
        if state not in file.inputs:
            raise KindError(f"{file.name}: the output {name} has no input {state} to be fed back to")
        if file.inputs[state] != file.outputs[name]:
            raise KindError(f"{file.name}: {name} has the shape {file.outputs[name]}, but {state} {file.inputs[state]}")


_PARTS_BY_NAME = ("supercombo", "off_policy", "on_policy", "policy", "vision")
"""What file names hold, in the order in which they are looked for: "policy" is part of two others."""


def _part_by_name(name: str) -> str | None:
    stem = PurePosixPath(name).name.lower()
    return next((part for part in _PARTS_BY_NAME if part in stem), None)


def check_behaviour(kind: Kind, version: str) -> None:
    """Refuse, with `KindError`, a version whose models in several files differ from `kind` in the off-policy part.

    From v12 to v15 such models have an off-policy part, before and after that none. Models in one file may be of any
    version. Raises `UnknownBehaviour` as well.
    """
    known = behaviour(version)
    if kind in (Kind.SPLIT, Kind.MULTI_POLICY) and known.off_policy is not (kind is Kind.MULTI_POLICY):
        fitting = [each.version for each in BEHAVIOURS.values() if each.off_policy is not known.off_policy]
        part = "has no off-policy part" if kind is Kind.SPLIT else "has an off-policy part"
        raise KindError(f"a {kind.value} model {part}, which {version} does not fit; one of {', '.join(fitting)} does")


SMALL, BIG = "small", "big"
BIG_FROM = 256 << 20
"""Bytes; see `check_size_class`."""


def check_size_class(declared: str, files: Collection[OnnxFileSummary]) -> None:
    """Refuse, with `KindError`, a small model where a big one was declared, and the reverse.

    A model is big if its ONNX files have 256 MiB or more together. Small models have 61 MB in fp16 and twice that in
    fp32, and big ones, for an external GPU, 770 MB to 1.7 GB: the bound lies at twice the largest small one, and a third
    of the smallest big one. Nothing else tells them apart: the inputs have the same names (`big_img` is the wide
    camera, in small models too) and shapes, and a file that is renamed for a catalogue keeps no `big_`. A name that
    begins with `big_` is still believed to the extent that such a file cannot be declared small. Synthetic models,
    whose scale is free, are judged by the name alone.
    """
    if declared not in (SMALL, BIG):
        raise KindError(f"size_class is {declared!r}; expected {SMALL} or {BIG}")
    size = sum(file.size for file in files)
    if not any(file.synthetic for file in files) and declared != (BIG if size >= BIG_FROM else SMALL):
        raise KindError(
            f"{_names(file.name for file in files)}: {size} bytes, which is a {BIG if size >= BIG_FROM else SMALL} model "
            f"({BIG} is {BIG_FROM} bytes or more), but size_class is {declared}: is it the right file?"
        )
    named = [file.name for file in files if PurePosixPath(file.name).name.lower().startswith("big_")]
    if declared == SMALL and named:
        raise KindError(f"{_names(named)}: the name says that it is a {BIG} model, but size_class is {SMALL}")


def _known(declared: Kind | None) -> str:
    known = [each for each in COMPOSITIONS if declared in (None, each.kind)]
    return "it needs " + ", or ".join(f"{' + '.join(each.parts)} ({each.kind.value})" for each in known)


def _listing(parts: Mapping[str, OnnxFileSummary]) -> str:
    """ "driving_vision.onnx is a vision model and driving_policy.onnx a policy model", of the parts in their order."""
    return ", ".join(f"{file.name} is a {part} model" for part, file in parts.items())


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
