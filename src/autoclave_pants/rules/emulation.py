"""Translation: the kernels of an artifact become host code for the emulator, in an action of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import Digest
from pants.engine.rules import Get, Rule, collect_rules, rule

from autoclave_pants.engine import add_prefix, merge
from autoclave_pants.rules.actions import ActionRequest, request_json, succeed
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest
from autoclave_pants.subsystem import AutoclaveSubsystem

KERNELS = "kernels.json"
TRANSLATIONS = "translations"
HOST_CPU = "x86-64-v3"
"""What translations are made for: any machine that runs cpu artifacts, so that machines share them."""

EMULATORS = {"qcom": "autoclave.emulator.a630", "chestnut": "autoclave.emulator.rdna4"}
"""The package of each GPU's emulator, by hardware."""

TRANSLATORS = 64
THREADS = 4
"""How many processors it is worth to translate and to run an artifact on, at most; Pants says how many are free."""


@dataclass(frozen=True)
class HostCode:
    """How kernels are translated: the lanes of a vector, and whether in haste, for code that runs once."""

    lanes: int
    quick: bool


RECORDING = HostCode(lanes=4, quick=True)
REPLAYING = {"qcom": HostCode(lanes=8, quick=False), "chestnut": HostCode(lanes=4, quick=False)}
"""What is recorded with some code is replayed with other code, for it must not matter. A wave of chestnut is a vector however
many lanes are asked for: there, other code is made of the kernels that are worth it."""


def other_emulators(hardware: str) -> tuple[str, ...]:
    """The emulators that an action for this hardware never imports: editing them does not run it again."""
    return tuple(package for name, package in EMULATORS.items() if name != hardware)


@dataclass(frozen=True)
class Emulator:
    """The toolchain of the emulator: it does not follow that of any model."""

    toolchain: Toolchain


@dataclass(frozen=True)
class KernelsRequest:
    """The kernels of an artifact (the file `artifact` in `digest`) for `hardware`, for the target with this address."""

    digest: Digest
    artifact: str
    hardware: str
    target: str = field(compare=False)


@dataclass(frozen=True)
class Kernels:
    """`kernels.json`: code and launch shapes, and nothing of the weights."""

    digest: Digest


@dataclass(frozen=True)
class TranslationRequest:
    """Translate the kernels of an artifact."""

    kernels: KernelsRequest
    code: HostCode


@dataclass(frozen=True)
class Translation:
    """The file `translations`, and the fields of a request that say where it is and what it is for."""

    digest: Digest

    def request_fields(self, folder: str) -> Mapping[str, Any]:
        return {"translations": f"{folder}/{TRANSLATIONS}", "cpu": HOST_CPU}


@rule
async def emulator(autoclave: AutoclaveSubsystem) -> Emulator:
    addresses = UnparsedAddressInputs(
        (autoclave.emulator,), owning_address=None, description_of_origin="the option [autoclave].emulator"
    )
    return Emulator(await Get(Toolchain, ToolchainRequest(addresses)))


@rule
async def extract_kernels(request: KernelsRequest, emulator: Emulator) -> Kernels:
    result = await succeed(
        ActionRequest(
            module="autoclave.emulator.extract",
            request=request_json({"artifact": f"inputs/{request.artifact}", "output": f"out/{KERNELS}"}),
            inputs=await add_prefix(request.digest, "inputs"),
            toolchain=emulator.toolchain,
            outputs=(KERNELS,),
            target=request.target,
            stage="Extract",
            without=other_emulators(request.hardware),
        )
    )
    return Kernels(result.outputs)


@rule
async def translate(request: TranslationRequest, emulator: Emulator) -> Translation:
    kernels = await Get(Kernels, KernelsRequest, request.kernels)
    inputs, known = kernels.digest, {}
    if request.code != RECORDING and request.code.lanes == RECORDING.lanes:
        recording = await Get(Translation, TranslationRequest(request.kernels, RECORDING))
        inputs = await merge((inputs, await add_prefix(recording.digest, "known")))
        known = {"known": f"inputs/known/{TRANSLATIONS}"}
    result = await succeed(
        ActionRequest(
            module="autoclave.emulator.translate",
            request=request_json(
                {
                    "kernels": f"inputs/{KERNELS}",
                    "cpu": HOST_CPU,
                    "lanes": request.code.lanes,
                    "quick": request.code.quick,
                    "output": f"out/{TRANSLATIONS}",
                    **known,
                }
            ),
            inputs=await add_prefix(inputs, "inputs"),
            toolchain=emulator.toolchain,
            outputs=(TRANSLATIONS,),
            target=request.kernels.target,
            stage="Translate",
            processors=TRANSLATORS,
            without=other_emulators(request.kernels.hardware),
        )
    )
    return Translation(result.outputs)


def rules() -> list[Rule]:
    return list(collect_rules())
