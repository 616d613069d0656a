"""Toolchain targets on a real engine: real locks, real archives, real processes; the index is a mirror directory."""

import hashlib
import io
import tarfile
import zipfile
from textwrap import dedent

import pytest
from package_files import LINK, make_deb  # pants: no-infer-dep
from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import DigestContents
from pants.engine.internals.scheduler import ExecutionError
from pants.engine.rules import QueryRule
from pants.testutil.rule_runner import RuleRunner

from autoclave_pants import target_types
from autoclave_pants.fetch.unpack import identity, tree_lines, unpack
from autoclave_pants.rules import fetching, interpreters, toolchains
from autoclave_pants.rules.fetching import FetchedFile, FileRequest
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest

TINYGRAD_FILES = {"tinygrad/__init__.py": b"version = 'the pinned one'\n", "tinygrad/nn/__init__.py": b""}
COMMIT = "0123456789012345678901234567890123456789"
PYTHON = 'host_python(name="python", versions=["3.13"])\n'


def wheel(name, version, files, tag="py3-none-any"):
    """The bytes of a wheel that holds `files`."""
    buffer = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path), content)
        archive.writestr(
            zipfile.ZipInfo(f"{info}/METADATA"), f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(zipfile.ZipInfo(f"{info}/WHEEL"), f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "")
    return buffer.getvalue()


def archive_of(files, top="tinygrad-abc"):
    """The bytes of a source archive as code hosts make them: everything below one folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, content in {**files, "README.md": b"hello"}.items():
            member = tarfile.TarInfo(f"{top}/{path}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class Mirror:
    """A directory of files named after their sha256."""

    def __init__(self, path):
        self.path = path
        path.mkdir()

    def add(self, content):
        sha256 = hashlib.sha256(content).hexdigest()
        (self.path / sha256).write_bytes(content)
        return sha256


@pytest.fixture
def mirror(tmp_path):
    return Mirror(tmp_path / "mirror")


@pytest.fixture
def rule_runner(mirror, tmp_path):
    own_caches = f"--named-caches-dir={tmp_path / 'named'}"
    runner = RuleRunner(
        rules=[
            *interpreters.rules(),
            *fetching.rules(),
            *toolchains.rules(),
            QueryRule(Toolchain, (ToolchainRequest,)),
            QueryRule(FetchedFile, (FileRequest,)),
        ],
        target_types=target_types.targets(),
        bootstrap_args=[own_caches],
    )
    interpreter = tmp_path / "bin" / "python3.13"
    interpreter.parent.mkdir()
    interpreter.write_text("#!/bin/sh\necho cpython 3.13\n")
    interpreter.chmod(0o755)
    runner.set_options([own_caches, f"--autoclave-mirrors={mirror.path}"], env={"PATH": str(interpreter.parent)})
    return runner


def resolve(runner, name="toolchain", **wanted):
    addresses = UnparsedAddressInputs((f"//:{name}",), owning_address=None, description_of_origin="a test")
    return runner.request(Toolchain, [ToolchainRequest(addresses, **wanted)])


def failure(runner, **wanted):
    with pytest.raises(ExecutionError) as caught:
        resolve(runner, **wanted)
    return str(caught.value)


def files_in(runner, component):
    return {file.path: file.content for file in runner.request(DigestContents, [component.tree])}


def toolchain_with(component):
    return PYTHON + dedent(component) + '\ntoolchain(name="toolchain", python=":python", components=[":part"])\n'


PART = """
    wheel_lock(name="part", source="part.lock", component="numpy", provides="a part")
    """


def test_wheel_becomes_a_tree_without_installer_files(rule_runner, mirror):
    sha256 = mirror.add(wheel("part", "1.0", {"part/__init__.py": b"x = 1\n"}))
    rule_runner.write_files({"BUILD": toolchain_with(PART), "part.lock": f"part==1.0 --hash=sha256:{sha256}\n"})
    found = resolve(rule_runner)
    (part,) = found.components
    assert (part.name, part.provides, part.pins) == ("numpy", "a part", ("part==1.0",))
    files = files_in(rule_runner, part)
    assert files["part/__init__.py"] == b"x = 1\n"
    assert not any(path.endswith("RECORD") for path in files)


def test_what_a_wheel_drops_is_in_no_tree(rule_runner, mirror):
    sha256 = mirror.add(wheel("part", "1.0", {"part/__init__.py": b"x = 1\n", "part/tests/of_it.py": b""}))
    lock = {"part.lock": f"part==1.0 --hash=sha256:{sha256}\n"}
    rule_runner.write_files({**lock, "BUILD": toolchain_with(PART)})
    whole = resolve(rule_runner)
    rule_runner.write_files({"BUILD": toolchain_with(PART.replace(")", ', drop=["*/tests/*"])'))})
    less = resolve(rule_runner)
    (before,), (after,) = whole.components, less.components
    assert set(files_in(rule_runner, before)) - set(files_in(rule_runner, after)) == {"part/tests/of_it.py"}
    assert before.files == after.files + 1
    assert whole.identity != less.identity
    rule_runner.write_files({"BUILD": toolchain_with(PART.replace(")", ', drop=["*/nothing/*"])'))})
    assert "`*/nothing/*` is to be left out, but matches no file" in failure(rule_runner)


def test_fetching_has_the_same_key_whatever_mirror_index_or_token_a_machine_has(rule_runner, mirror, tmp_path):
    sha256 = mirror.add(wheel("part", "1.0", {"part/__init__.py": b"x = 1\n"}))
    model = mirror.add(b"\x08\x09 some model")
    rule_runner.write_files({"BUILD": toolchain_with(PART), "part.lock": f"part==1.0 --hash=sha256:{sha256}\n"})
    wanted = FileRequest("//:model", model, 13, "https://unreachable.invalid/m.onnx", None, "model.onnx")
    first = resolve(rule_runner).identity, rule_runner.request(FetchedFile, [wanted])
    rule_runner.set_options(
        [f"--named-caches-dir={tmp_path / 'named'}", "--autoclave-mirrors=nowhere"],
        env={
            "PATH": str(tmp_path / "bin"),
            "HF_TOKEN": "hf_secret",
            "HTTPS_PROXY": "http://192.0.2.1:9",
            "PIP_INDEX_URL": "https://user:secret@unreachable.invalid/simple",
        },
    )
    assert (resolve(rule_runner).identity, rule_runner.request(FetchedFile, [wanted])) == first


def test_mirror_below_the_checkout_is_found(rule_runner, tmp_path):
    content = wheel("part", "1.0", {"part/__init__.py": b"x = 1\n"})
    sha256 = hashlib.sha256(content).hexdigest()
    rule_runner.write_files({"BUILD": toolchain_with(PART), "part.lock": f"part==1.0 --hash=sha256:{sha256}\n"})
    rule_runner.write_files({f"own/mirror/{sha256}": content})
    rule_runner.set_options(
        [f"--named-caches-dir={tmp_path / 'named'}", "--autoclave-mirrors=own/mirror"],
        env={"PATH": str(tmp_path / "bin")},
    )
    assert resolve(rule_runner).components[0].pins == ("part==1.0",)


def test_two_components_of_one_name_are_refused(rule_runner, mirror):
    sha256 = mirror.add(wheel("part", "1.0", {"part/__init__.py": b"x = 1\n"}))
    build = PYTHON + dedent(PART) + dedent(PART).replace('"part"', '"twin"')
    build += 'toolchain(name="toolchain", python=":python", components=[":part", ":twin"])\n'
    rule_runner.write_files({"BUILD": build, "part.lock": f"part==1.0 --hash=sha256:{sha256}\n"})
    assert "//:toolchain: toolchain failed: 2 of its components have the name `numpy`" in failure(rule_runner)


def test_identity_is_the_files_and_nothing_else(rule_runner, mirror):
    sha256 = mirror.add(wheel("part", "1.0", {"part/__init__.py": b"x = 1\n"}))
    rule_runner.write_files({"BUILD": toolchain_with(PART), "part.lock": f"part==1.0 --hash=sha256:{sha256}\n"})
    first = resolve(rule_runner)
    rule_runner.write_files({"part.lock": f"# a comment\n\npart==1.0 \\\n    --hash=sha256:{sha256}\n"})
    assert resolve(rule_runner).identity == first.identity
    other = mirror.add(wheel("part", "1.0", {"part/__init__.py": b"x = 2\n"}))
    rule_runner.write_files({"part.lock": f"part==1.0 --hash=sha256:{other}\n"})
    assert resolve(rule_runner).identity != first.identity


def commit_target(fields):
    return PYTHON + dedent(
        f"""
        tinygrad_source(name="source", commit="{COMMIT}", adapter="0.14.0", {fields})
        toolchain(name="toolchain", python=":python", tinygrad=":source")
        """
    )


def test_vendored_tree_and_archive_of_one_commit_have_one_identity(rule_runner, mirror):
    archive = archive_of(TINYGRAD_FILES)
    sha256 = mirror.add(archive)
    builds = {
        "vendored": commit_target('path="vendored"'),
        "archive": commit_target(f'archive="tinygrad.tar.gz", sha256="{sha256}"'),
        "address": commit_target(f'url="https://unreachable.invalid/x.tar.gz", sha256="{sha256}", size={len(archive)}'),
    }
    rule_runner.write_files({f"vendored/{path}": content for path, content in TINYGRAD_FILES.items()})
    rule_runner.write_files({"tinygrad.tar.gz": archive})
    found = {}
    for name, build in builds.items():
        rule_runner.write_files({"BUILD": build})
        found[name] = resolve(rule_runner)
    assert files_in(rule_runner, found["archive"].components[0]) == TINYGRAD_FILES
    assert found["vendored"].tinygrad == "0.14.0"
    assert len({each.identity for each in found.values()}) == 1


@pytest.mark.parametrize(
    "build, words",
    [
        (
            commit_target('archive="tinygrad.tar.gz", sha256="' + "0" * 64 + '"'),
            ["source", "tinygrad.tar.gz", "0" * 64, "sha256"],
        ),
        (commit_target(""), ["source", "`path`", "`sha256`", "`archive`"]),
        (commit_target('path="missing"'), ["path", "missing"]),
        (commit_target('release="0.14.0"'), ["either `release`", "`commit`"]),
        (commit_target('path="vendored"').replace('adapter="0.14.0", ', ""), ["`adapter`", "0.14.0"]),
        (toolchain_with('tinygrad_source(name="part", release="0.14.0")'), ["`release` needs `source`"]),
        (toolchain_with('host_python(name="part")'), ["host_python", "not a component"]),
        (PYTHON + 'toolchain(name="toolchain", python=":nothing")', ["nothing"]),
        (toolchain_with(PART), ["//:part", "'source'", "1 file"]),
        (
            toolchain_with('tinygrad_source(name="part", release="0.14.0", source="no.lock")'),
            ["//:part", "`source`", "'no.lock'", "not in the root"],
        ),
        ('toolchain(name="toolchain", python=":p")\nhost_python(name="p", versions=["3.99"])', ["no CPython 3.99"]),
        ('onnx_file(name="toolchain", url="x")', ["onnx_file, not a toolchain"]),
    ],
)
def test_mistake_in_a_build_file_is_named(rule_runner, build, words):
    rule_runner.write_files(
        {"BUILD": build, "tinygrad.tar.gz": archive_of(TINYGRAD_FILES), "vendored/tinygrad/a.py": ""}
    )
    message = failure(rule_runner)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    "lock, words",
    [
        ("part==1.0\n", ["part.lock", "hash"]),
        ("part==1.0 --hash=sha256:{sdist}\n", ["numpy", "part"]),
        ("part==1.0 --hash=sha256:{windows}\n", ["numpy", "part", "win_amd64"]),
        ("part>=1.0 --hash=sha256:{sdist}\n", ["part.lock"]),
    ],
)
def test_mistake_in_a_lock_names_component_and_file(rule_runner, mirror, lock, words):
    hashes = {
        "sdist": mirror.add(archive_of({"setup.py": b""}, top="part-1.0")),
        "windows": mirror.add(wheel("part", "1.0", {"part.py": b""}, tag="cp39-cp39-win_amd64")),
    }
    rule_runner.write_files({"BUILD": toolchain_with(PART), "part.lock": lock.format(**hashes)})
    message = failure(rule_runner)
    for word in words:
        assert word in message


WITH_COMGR = PYTHON + dedent(
    """
    deb_lock(name="comgr", source="comgr.lock", component="comgr", provides="a compiler")
    toolchain(name="toolchain", python=":python", hip=":comgr")
    """
)


def deb_lock_line(sha256, size, name="libcomgr"):
    return f"{name} 1.0 amd64 sid pool/main/c/comgr/{name}_1.0_amd64.deb {size} {sha256}\n"


def comgr_lock(mirror, folder, content):
    """The lock of a package with this library, which the mirror has."""
    package = make_deb(folder, "libcomgr", {"./usr/lib/libcomgr.so": content}).read_bytes()
    return deb_lock_line(mirror.add(package), len(package))


def test_a_tree_is_what_unpacking_writes_with_modes_and_links(rule_runner, mirror, tmp_path):
    files = {"./usr/lib/libcomgr.so.1": b"library", "./usr/bin/tool": b"tool", "./usr/bin/same": b"tool"}
    links = [(LINK, "./usr/lib/libcomgr.so", "libcomgr.so.1"), (LINK, "./usr/lib64", "lib")]
    package = make_deb(tmp_path / "debs", "libcomgr", files, links, modes={"./usr/bin/tool": 0o755})
    content = package.read_bytes()
    lock = deb_lock_line(mirror.add(content), len(content))
    rule_runner.write_files({"BUILD": WITH_COMGR, "comgr.lock": lock})

    (comgr,) = resolve(rule_runner, renderer="hip").components

    unpack("comgr", "deb", [package], tmp_path / "tree")
    assert comgr.identity == identity(tree_lines(tmp_path / "tree"))
    assert (comgr.files, comgr.size) == (3, len(b"library" + b"tool" + b"tool"))


def test_what_one_renderer_compiles_with_is_part_of_the_toolchain_for_that_renderer_alone(
    rule_runner, mirror, tmp_path
):
    found = []
    for content in (b"one version", b"another"):
        rule_runner.write_files({"BUILD": WITH_COMGR, "comgr.lock": comgr_lock(mirror, tmp_path / "debs", content)})
        found.append({renderer: resolve(rule_runner, renderer=renderer) for renderer in ("hip", "llvm")})
        (comgr,) = found[-1]["hip"].components
        assert (comgr.name, comgr.provides) == ("comgr", "a compiler")
        assert files_in(rule_runner, comgr) == {"usr/lib/libcomgr.so": content}
    assert found[0]["llvm"] == found[1]["llvm"]
    assert len({found[0]["llvm"].identity, found[0]["hip"].identity, found[1]["hip"].identity}) == 3


def test_packages_that_cannot_be_had_are_named_with_what_to_do_and_missed_by_no_other_renderer(rule_runner, tmp_path):
    rule_runner.write_files({"BUILD": WITH_COMGR, "comgr.lock": deb_lock_line("0" * 64, 1000)})
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    rule_runner.set_options(
        [f"--named-caches-dir={tmp_path / 'named'}"], env={"PATH": str(tmp_path / "bin"), **nowhere}
    )
    message = failure(rule_runner, renderer="hip")
    for word in ("//:comgr: fetch failed: component comgr", "[autoclave].mirrors", "AUTOCLAVE_MIRRORS", "sha256"):
        assert word in message
    assert resolve(rule_runner, renderer="llvm").components == ()


@pytest.mark.parametrize(("renderer", "example"), [("ir3", "toolchains:tinymesa"), ("hip", "toolchains:comgr")])
def test_a_renderer_without_its_compiler_is_told_which_field_to_write(rule_runner, renderer, example):
    rule_runner.write_files({"BUILD": PYTHON + 'toolchain(name="toolchain", python=":python")\n'})
    message = failure(rule_runner, renderer=renderer)
    assert f"it has nothing to compile renderer='{renderer}' with: name it in its field `{renderer}`" in message
    assert f'{renderer}="{example}"' in message
