"""Packages become trees: what is kept, where it goes, what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from package_files import DEVICE, HARD_LINK, LINK, make_deb, make_wheel, tar  # pants: no-infer-dep

from autoclave_pants.fetch import unpack as module
from autoclave_pants.fetch.unpack import UnpackError, identity, lay_flat, packages_in, tree_lines, unpack


def paths(tree: Path) -> list[str]:
    return sorted(line.rstrip("\n").split(" ", 3)[3] for line in tree_lines(tree))


def unpack_wheels(tmp_path: Path, *wheels: Path) -> Path:
    unpack("part", "wheel", wheels, tmp_path / "tree")
    return tmp_path / "tree"


def test_a_wheel_loses_what_an_installer_would_use(tmp_path: Path) -> None:
    wheel = make_wheel(
        tmp_path,
        "part",
        "1.0",
        files={
            "part/__init__.py": b"",
            "part/__pycache__/__init__.cpython-313.pyc": b"bytecode",
            "part-1.0.data/purelib/pure.py": b"pure",
            "part-1.0.data/platlib/plat.py": b"plat",
            "part-1.0.data/data/share/table.bin": b"table",
            "part-1.0.data/scripts/tool": b"#!python\n",
            "part-1.0.data/headers/part.h": b"",
            "part-1.0.dist-info/INSTALLER": b"pip",
            "part-1.0.dist-info/direct_url.json": b"{}",
        },
    )

    assert paths(unpack_wheels(tmp_path, wheel)) == [
        "part-1.0.dist-info/METADATA",
        "part-1.0.dist-info/WHEEL",
        "part/__init__.py",
        "plat.py",
        "pure.py",
        "share/table.bin",
    ]


def test_modes_are_two(tmp_path: Path) -> None:
    tool = make_wheel(tmp_path, "tool", "1", files={"tool/run": b""}, mode=0o4711)
    text = make_wheel(tmp_path, "text", "1", files={"text/read": b""}, mode=0o600)

    tree = unpack_wheels(tmp_path, tool, text)

    assert stat.S_IMODE((tree / "tool/run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tree / "text/read").stat().st_mode) == 0o644


@pytest.mark.parametrize("path", ["../outside", "/absolute", "a/../../outside", "a//b", "./a", "a\\b"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    wheel = make_wheel(tmp_path / "wheels", "evil", "1", files={path: b"x"})

    with pytest.raises(UnpackError, match=r"component part: evil-1-py3-none-any.whl: the path .* not to be trusted"):
        unpack_wheels(tmp_path, wheel)

    assert not (tmp_path / "outside").exists()


def test_a_link_in_a_wheel_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "evil", "1", files={"evil/link": b"/etc"}, mode=stat.S_IFLNK | 0o777)

    with pytest.raises(UnpackError, match="evil/link is a link"):
        unpack_wheels(tmp_path, wheel)


def test_paths_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "part", "1", files={"part/Module.py": b"a", "part/module.py": b"b"})

    with pytest.raises(UnpackError, match="part/Module.py and part/module.py differ in case only"):
        unpack_wheels(tmp_path, wheel)


def test_two_wheels_may_share_a_file_only_if_it_is_the_same(tmp_path: Path) -> None:
    first = make_wheel(tmp_path, "first", "1", files={"shared/__init__.py": b"same", "first.py": b""})
    same = make_wheel(tmp_path, "same", "1", files={"shared/__init__.py": b"same"})
    other = make_wheel(tmp_path, "other", "1", files={"shared/__init__.py": b"other"})

    assert "shared/__init__.py" in paths(unpack_wheels(tmp_path / "good", first, same))
    with pytest.raises(UnpackError, match=r"other-1.*shared/__init__.py is also in first-1.*Lock only one"):
        unpack_wheels(tmp_path / "bad", first, other)


def test_a_truncated_wheel_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "part", "1", files={"part.py": b"x" * 1000})
    wheel.write_bytes(wheel.read_bytes()[:-40])

    with pytest.raises(UnpackError, match="cannot be read as a wheel.*Fetch it anew"):
        unpack_wheels(tmp_path, wheel)


@pytest.mark.parametrize(
    ("offset", "value"),
    [(6, b"\1\0"), (8, b"\x63\0"), (14, b"\0\0\0\0")],  # encrypted; a compression nobody knows; a wrong checksum
)
def test_a_wheel_that_zipfile_cannot_read_is_refused(tmp_path: Path, offset: int, value: bytes) -> None:
    wheel = make_wheel(tmp_path, "part", "1", files={"part.py": b"x" * 1000})
    data = bytearray(wheel.read_bytes())
    for start in (offset, data.index(b"PK\x01\x02") + offset + 2):  # the file's own header and the directory's
        data[start : start + len(value)] = value
    wheel.write_bytes(data)

    with pytest.raises(UnpackError, match="component part: part-1-py3-none-any.whl: cannot be read as a wheel"):
        unpack_wheels(tmp_path, wheel)


def test_a_tree_has_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path, "part", "1", files={f"part/{n}.py": b"x" * 100 for n in range(5)})

    monkeypatch.setattr(module, "MAX_FILES", 4)
    with pytest.raises(UnpackError, match="more than 4 files"):
        unpack_wheels(tmp_path / "files", wheel)
    monkeypatch.setattr(module, "MAX_FILES", 100)
    monkeypatch.setattr(module, "MAX_BYTES", 450)
    with pytest.raises(UnpackError, match="the tree more than 450"):
        unpack_wheels(tmp_path / "bytes", wheel)


def test_a_compression_bomb_stops_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path, "bomb", "1")
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.bin", bytes(8 << 20))
    monkeypatch.setattr(module, "MAX_BYTES", 1 << 20)

    with pytest.raises(UnpackError, match="bomb.bin has more"):
        unpack_wheels(tmp_path, wheel)


def unpack_debs(tmp_path: Path, *debs: Path) -> Path:
    unpack("python", "deb", debs, tmp_path / "tree")
    return tmp_path / "tree"


@pytest.mark.parametrize("compression", ["xz", "gz", ""])
def test_a_deb_becomes_a_merged_root(tmp_path: Path, compression: str) -> None:
    deb = make_deb(
        tmp_path,
        "libpart1",
        {
            "./usr/bin/part": b"program",
            "./lib/x86_64-linux-gnu/libpart.so.1.2": b"library",
            "./usr/share/doc/libpart1/copyright": b"text",
            "./etc/part.conf": b"settings",
            "./usr/lib/python3.13/os.py": b"",
            "./usr/lib/python3.13/test/test_os.py": b"",
        },
        [(LINK, "./lib/x86_64-linux-gnu/libpart.so.1", "libpart.so.1.2")],
        compression=compression,
        modes={"./usr/bin/part": 0o755},
    )
    if not compression:
        deb.write_bytes(
            deb.read_bytes()
            .replace(b"control.tar.    ", b"control.tar     ")
            .replace(b"data.tar.       ", b"data.tar        ")
        )

    tree = unpack_debs(tmp_path, deb)

    assert paths(tree) == [
        "usr/bin/part",
        "usr/lib/python3.13/os.py",
        "usr/lib/x86_64-linux-gnu/libpart.so.1",
        "usr/lib/x86_64-linux-gnu/libpart.so.1.2",
    ]
    assert os.readlink(tree / "usr/lib/x86_64-linux-gnu/libpart.so.1") == "libpart.so.1.2"
    assert os.access(tree / "usr/bin/part", os.X_OK)
    assert not Path("/tmp/a-maintainer-script-ran").exists()


@pytest.mark.parametrize(
    ("path", "target", "written"),
    [
        ("./usr/lib64/ld.so", "../lib/x86_64-linux-gnu/real.so", "../lib/x86_64-linux-gnu/real.so"),
        ("./lib64/ld.so", "/lib/x86_64-linux-gnu/real.so", "../lib/x86_64-linux-gnu/real.so"),
        ("./lib/x86_64-linux-gnu/a.so", "../../usr/lib/x86_64-linux-gnu/real.so", "real.so"),
        ("./usr/lib/folder", "x86_64-linux-gnu", "x86_64-linux-gnu"),
        ("./usr/lib/python3.13/sitecustomize.py", "/etc/python3.13/sitecustomize.py", None),
        ("./usr/lib/gone.so", "nowhere.so", None),
        ("./usr/lib/loop.so", "loop.so", None),
    ],
)
def test_links_become_relative_and_lead_somewhere(tmp_path: Path, path: str, target: str, written: str) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/lib/x86_64-linux-gnu/real.so": b""}, [(LINK, path, target)])

    place = unpack_debs(tmp_path, deb) / module.merged(path[2:])

    assert (os.readlink(place) if place.is_symlink() else None) == written


@pytest.mark.parametrize("target", ["../../../outside", "../../../../etc/passwd"])
def test_a_link_out_of_the_tree_is_refused(tmp_path: Path, target: str) -> None:
    deb = make_deb(tmp_path, "evil", {"./usr/lib/real": b""}, [(LINK, "./usr/lib/link", target)])

    with pytest.raises(UnpackError, match="points out of the tree"):
        unpack_debs(tmp_path, deb)


def test_writing_through_a_link_is_refused(tmp_path: Path) -> None:
    first = make_deb(tmp_path, "first", {"./usr/lib/real/a": b""}, [(LINK, "./usr/lib/link", "real")])
    second = make_deb(tmp_path, "second", {"./usr/lib/link/b": b""})

    with pytest.raises(UnpackError, match="goes through the link usr/lib/link"):
        unpack_debs(tmp_path, first, second)


@pytest.mark.parametrize(
    ("below", "link"),
    [
        ({"t-1/tinygrad/a/x": b""}, []),
        # Written through the other link, this one would lead two folders above the tree.
        ({}, [(LINK, "t-1/tinygrad/a/x", "../b/y")]),
    ],
)
def test_a_link_in_the_place_of_a_folder_is_refused(
    tmp_path: Path, below: dict[str, bytes], link: list[tuple[bytes, str, str]]
) -> None:
    archive = tmp_path / "t.tar"
    archive.write_bytes(tar({"t-1/tinygrad/b/y": b"", **below}, [*link, (LINK, "t-1/tinygrad/a", "b")]))

    with pytest.raises(UnpackError, match="component tinygrad: t.tar: tinygrad/a is a link, and also a folder"):
        unpack("tinygrad", "tar", [archive], tmp_path / "tree", keep="tinygrad")


def test_a_hard_link_to_nothing_is_refused(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, "evil", {"./usr/bin/x": b""}, [(HARD_LINK, "./usr/bin/y", "./usr/bin/none")])

    with pytest.raises(UnpackError, match="component python: evil_1.0_amd64.deb: cannot be read as a deb"):
        unpack_debs(tmp_path, deb)


def test_a_hard_link_becomes_a_copy(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/one": b"same"}, [(HARD_LINK, "./usr/bin/two", "./usr/bin/one")])

    tree = unpack_debs(tmp_path, deb)

    assert (tree / "usr/bin/two").read_bytes() == b"same"
    assert (tree / "usr/bin/two").stat().st_nlink == 1


def test_a_device_is_refused(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, "evil", {"./usr/bin/x": b""}, [(DEVICE, "./usr/bin/null", "")])

    with pytest.raises(UnpackError, match="usr/bin/null is neither a file, a folder nor a link"):
        unpack_debs(tmp_path, deb)


def test_a_deb_for_another_architecture_is_refused(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/x": b""}, architecture="arm64")

    with pytest.raises(UnpackError, match="component python: part_1.0_arm64.deb.* is for arm64, not amd64"):
        unpack_debs(tmp_path, deb)


@pytest.mark.parametrize("damage", [lambda data: data[:100], lambda data: b"<html>" + data, lambda data: data[:-400]])
def test_a_damaged_deb_is_refused(tmp_path: Path, damage: object) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/x": os.urandom(2000)})
    deb.write_bytes(damage(deb.read_bytes()))  # type: ignore[operator]

    with pytest.raises(UnpackError, match="component python: part_1.0_amd64.deb"):
        unpack_debs(tmp_path, deb)


def test_of_a_source_archive_one_folder_is_kept(tmp_path: Path) -> None:
    archive = tmp_path / "tinygrad.tar.gz"
    files = ["tinygrad/__init__.py", "tinygrad/nn/onnx.py", "test/test_ops.py", "setup.py", "tinygrad.txt"]
    archive.write_bytes(tar({f"tinygrad-4f2a/{path}": b"x" for path in files}, compression="gz"))

    unpack("tinygrad", "tar", [archive], tmp_path / "tree", keep="tinygrad")

    assert paths(tmp_path / "tree") == ["tinygrad/__init__.py", "tinygrad/nn/onnx.py"]


def test_a_source_archive_without_the_folder_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "other.tar"
    archive.write_bytes(tar({"other-1/other/__init__.py": b""}))

    with pytest.raises(UnpackError, match="component tinygrad: nothing to unpack: no folder `tinygrad`"):
        unpack("tinygrad", "tar", [archive], tmp_path / "tree", keep="tinygrad")


def test_a_source_archive_may_not_link_to_what_it_has_not(tmp_path: Path) -> None:
    archive = tmp_path / "t.tar"
    archive.write_bytes(tar({"t-1/tinygrad/a.py": b""}, [(LINK, "t-1/tinygrad/b.py", "../extra/b.py")]))

    with pytest.raises(UnpackError, match="the link tinygrad/b.py points to extra/b.py"):
        unpack("tinygrad", "tar", [archive], tmp_path / "tree", keep="tinygrad")


def test_patterns_leave_files_out(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "part", "1", files={"part/a.py": b"", "part/tests/a.py": b"", "part/big.so": b""})

    unpack("part", "wheel", [wheel], tmp_path / "tree", drops=("part/tests/*", "*.so", "*.dist-info/*"))

    assert paths(tmp_path / "tree") == ["part/a.py"]


def test_a_pattern_that_leaves_nothing_out_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "part", "1", files={"part/a.py": b"", "part/tests/a.py": b""})

    with pytest.raises(UnpackError, match=r"component part: `part/test/\*` is to be left out, but matches no file"):
        unpack("part", "wheel", [wheel], tmp_path / "tree", drops=("part/tests/*", "part/test/*"))


def test_identity_is_the_documented_hash(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/run").write_bytes(b"run")
    (tmp_path / "b/run").chmod(0o700)
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "c").symlink_to("b/run")
    (tmp_path / "d").symlink_to("b")

    def digest(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    lines = sorted(
        [
            f"{digest(b'text')} 4 100644 a.txt\n",
            f"{digest(b'run')} 3 100755 b/run\n",
            f"{digest(b'b/run')} 5 120000 c\n",
            f"{digest(b'b')} 1 120000 d\n",
        ]
    )
    assert identity(tree_lines(tmp_path)) == digest("".join(lines).encode())


def test_the_tree_does_not_depend_on_order_mask_or_time(tmp_path: Path) -> None:
    wheels = [make_wheel(tmp_path / "w", f"part{n}", "1", files={f"part{n}/m.py": b"x"}) for n in range(3)]
    unpack("part", "wheel", wheels, tmp_path / "one")
    before = os.umask(0o077)
    try:
        unpack("part", "wheel", wheels[::-1], tmp_path / "two")
    finally:
        os.umask(before)

    assert identity(tree_lines(tmp_path / "one")) == identity(tree_lines(tmp_path / "two"))


def test_a_flat_folder_and_its_layout_are_the_tree(tmp_path: Path) -> None:
    tree, flat, again = tmp_path / "tree", tmp_path / "flat", tmp_path / "again"
    for path, mode in (("usr/lib/a/one", 0o644), ("usr/bin/run", 0o755), ("top", 0o644)):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(path)
        (tree / path).chmod(mode)
    (tree / "usr/lib/b").symlink_to("a")
    (tree / "link").symlink_to("usr/bin/run")
    before = sorted(tree_lines(tree))

    lay_flat(tree, flat)

    assert all(path.is_file() and not path.is_symlink() for path in flat.iterdir())
    layout = json.loads((flat / "layout.json").read_text())
    for number, path in enumerate(layout["files"]):
        (again / path).parent.mkdir(parents=True, exist_ok=True)
        (flat / str(number)).rename(again / path)
    for path, target in layout["links"].items():
        (again / path).symlink_to(target)
    assert sorted(tree_lines(again)) == before


def test_the_command_prints_the_identity_and_runs_alone(tmp_path: Path) -> None:
    make_wheel(tmp_path / "w", "part", "1", files={"part.py": b"x"})
    command = [sys.executable, "-I", module.__file__, "--component", "part", "--kind", "wheel", "--output"]

    good = subprocess.run([*command, str(tmp_path / "tree"), str(tmp_path / "w")], capture_output=True, text=True)
    (tmp_path / "w/broken.whl").write_text("<html>")
    bad = subprocess.run([*command, str(tmp_path / "bad"), str(tmp_path / "w")], capture_output=True, text=True)

    assert good.stdout.split()[:2] == [identity(tree_lines(tmp_path / "tree")), "3"]
    assert (bad.returncode, bad.stderr[:33]) == (2, "error: component part: broken.whl")
    assert packages_in([tmp_path / "w"])[0].name == "broken.whl"
