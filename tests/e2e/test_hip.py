"""Chestnut models with renderer="hip", through the real ./pants: what compiles them, and whom it concerns.

The first is skipped, with the reason, where comgr's packages can be had neither from a mirror nor from a Debian archive.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from e2e.catalogue_models import declare, started, succeeded, tiny_model

if TYPE_CHECKING:
    from conftest import Workspace  # pants: no-infer-dep

NOWHERE = f"libcomgr-none 1.0 amd64 sid pool/main/libc/libcomgr-none_1.0_amd64.deb 1000 {'0' * 64}\n"
UNAVAILABLE = re.compile(r"toolchains:comgr: fetch failed: (?P<reason>.*)\n.*A mirror serves them")


def test_comgr_compiles_the_models_that_ask_for_it_and_concerns_no_other(catalogue: Workspace) -> None:
    declare(catalogue, "plain", tiny_model(seed=14), hardware=("chestnut",))
    declare(catalogue, "hip", tiny_model(seed=14), hardware=("chestnut",), renderer="hip")
    result = catalogue.pants("package", "models::")
    if unavailable := UNAVAILABLE.search(result.stderr):
        pytest.skip(unavailable["reason"])
    succeeded(result)

    artifacts, provided = set(), {}
    for name in ("plain", "hip"):
        folder = catalogue.root / "dist/models" / name / "chestnut"
        artifacts.add((folder / f"{name}_tinygrad.pkl").read_bytes())
        statement = json.loads((folder / f"{name}_tinygrad.pkl.provenance.json").read_text())
        materials = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
        provided[name] = {each["name"]: each.get("annotations", {}).get("provides") for each in materials}
    assert len(artifacts) == 2
    assert provided["hip"] == {**provided["plain"], "comgr": "comgr 7.0.2 on LLVM 21.1.8"}

    lock = catalogue.root / "toolchains/comgr-7.0.2.lock"
    lock.write_text("".join(line for line in lock.read_text().splitlines(True) if not line.startswith("libtinfo6 ")))
    assert started(succeeded(catalogue.pants("package", "models:plain"))) == []


def test_rebuild_builds_the_other_models_where_comgr_cannot_be_had(catalogue: Workspace) -> None:
    (catalogue.root / "toolchains/comgr-7.0.2.lock").write_text(NOWHERE)
    declare(catalogue, "plain", tiny_model(seed=14), hardware=("chestnut",))
    declare(catalogue, "hip", tiny_model(seed=14), hardware=("chestnut",), renderer="hip")

    result = catalogue.pants("rebuild", "models::")

    assert result.returncode == 1
    assert "1 built, 1 failed" in result.stdout
    assert (catalogue.root / "dist/models/plain/chestnut/plain_tinygrad.pkl").is_file()
    record = json.loads((catalogue.root / "dist/failures/models.hip.json").read_text())
    assert record["stage"] == "fetch"
    assert "libcomgr-none" in record["reason"]
