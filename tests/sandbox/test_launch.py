"""What a module sees in the sandbox, as root and as an ordinary user, with either kind of interpreter."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox.launched_action import ABI, Action, make_action, read_only

PRINT_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"


def test_environment_is_what_is_declared(action: Action) -> None:
    environment = action.run(PRINT_ENVIRONMENT, "--setenv", "DEV=NULL", "--setenv", "NOTE=a b = 'c' *").json

    assert environment == {
        "AUTOCLAVE_TOOLCHAIN": "/toolchain",
        "DEV": "NULL",
        "HOME": "/tmp",
        "LC_ALL": "C.UTF-8",
        "NOTE": "a b = 'c' *",
        "PATH": "/usr/bin" if "--python-tree" in action.options else "/python/bin",
        "PWD": "/sandbox",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": "/sandbox/src",
        "TMPDIR": "/tmp",
    }


def test_network_is_out_of_reach(action: Action) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        refused = action.run(f"""
import json, socket
refused = []
for address in [("127.0.0.1", {port}), ("192.0.2.1", 80)]:
    try:
        socket.create_connection(address, timeout=5)
    except OSError as error:
        refused.append(type(error).__name__)
print(json.dumps([refused, [name for _, name in socket.if_nameindex()]]))
""").json

    assert refused == [["ConnectionRefusedError", "OSError"], ["lo"]]


def test_files_of_the_host_cannot_be_read(action: Action, home: Path) -> None:
    undeclared = home / "undeclared.txt"
    undeclared.write_text("of the host")
    places = [
        str(undeclared),
        "/etc/passwd",
        "/root",
        "/home",
        "/usr/include",
        "/usr/share",
        "/usr/local",
        "/sys",
        "/var",
    ]

    # An interpreter's own C library is mounted where its loader lies, which may be below a home.
    found = action.run(f"""
import json, os

def only_libraries(place):
    files = [name for _, _, names in os.walk(place) for name in names]
    return bool(files) and all(".so" in name for name in files)

print(json.dumps([place for place in {places} if os.path.exists(place) and not only_libraries(place)]))
""").json

    assert found == []


def test_nothing_of_the_hosts_usr_is_there_with_the_deb_python(deb_action: Action, deb_python: Path) -> None:
    tree = "{os.path.join(folder, name) for folder, _, names in os.walk(ROOT) for name in names}"

    inside = deb_action.run(f"import json, os; ROOT = '/usr'; print(json.dumps(sorted({tree})))").json

    outside = [os.path.join(folder, name) for folder, _, names in os.walk(deb_python / "usr") for name in names]
    assert inside == sorted(path.removeprefix(str(deb_python)) for path in outside)


def test_of_the_host_only_shared_libraries_are_there_with_its_python(host_action: Action) -> None:
    inside = host_action.run("""
import json, os, sys
roots = ["/usr", "/lib", "/lib64", "/bin", "/python/bin"]
files = [os.path.join(folder, name) for root in roots for folder, _, names in os.walk(root) for name in names]
packages = f"{sys.prefix}/lib/python3.{sys.version_info.minor}/site-packages"
print(json.dumps([[f for f in files if ".so" not in f], sorted(os.listdir("/python")), os.listdir(packages)]))
""").json

    assert inside == [[f"/python/bin/python3.{ABI[3:]}"], ["bin", "lib"], []]


def test_modules_that_need_shared_libraries_import(action: Action) -> None:
    names = "bz2 ctypes decimal hashlib lzma sqlite3 ssl uuid zlib xml.parsers.expat"
    missing = [name for name in names.split() if action.run(f"import {name}").code != 0]

    assert missing == []


def test_inputs_cannot_be_written(action: Action, home: Path) -> None:
    component = home / "component"
    component.mkdir()
    (component / "module.py").write_text("original = True")
    stored = home / "stored.txt"
    stored.write_text("of the store")
    os.link(stored, action.directory / "linked.txt")
    for path in [component, component / "module.py", stored]:
        os.chown(path, action.user, action.user)

    written = action.run(
        """
import ctypes, json, os
MS_REMOUNT_BIND = 32 | 4096
libc = ctypes.CDLL(None, use_errno=True)
attempts = {
    "write": lambda: open("/sandbox/input.txt", "w"),
    "append to a hard link": lambda: open("/sandbox/linked.txt", "a"),
    "link into out": lambda: os.link("/sandbox/linked.txt", "/sandbox/out/linked.txt"),
    "change mode": lambda: os.chmod("/sandbox/linked.txt", 0o777),
    "change owner": lambda: os.chown("/sandbox/linked.txt", os.getuid(), os.getgid()),
    "remove": lambda: os.unlink("/sandbox/input.txt"),
    "rename": lambda: os.rename("/sandbox/input.txt", "/sandbox/other.txt"),
    "set time": lambda: os.utime("/sandbox/input.txt"),
    "truncate": lambda: os.truncate("/sandbox/linked.txt", 0),
    "create": lambda: open("/sandbox/new.txt", "w"),
    "create in src": lambda: open("/sandbox/src/new.py", "w"),
    "write a component": lambda: open("/toolchain/part/module.py", "w"),
    "write the interpreter": lambda: open(os.__file__, "a"),
    "create at the root": lambda: os.mkdir("/new"),
    "write the kernel's settings": lambda: open("/proc/sys/kernel/hostname", "w").write("x"),
}
done = []
for name, attempt in attempts.items():
    try:
        attempt()
        done.append(name)
    except OSError:
        pass
for folder, _, names in os.walk("/proc/sys"):
    done += [name for name in names if os.access(f"{folder}/{name}", os.W_OK)]
for place in (b"/sandbox", b"/", b"/proc", b"/toolchain/part"):
    if libc.mount(None, place, None, MS_REMOUNT_BIND, None) == 0:
        done.append(f"remount {place}")
print(json.dumps(done))
""",
        "--component",
        f"part={component}",
    ).json

    assert written == []
    assert stored.read_text() == "of the store"
    assert (action.directory / "input.txt").read_text() == "input"


def test_out_is_written_to_the_actions_directory(action: Action) -> None:
    outcome = action.run("open('out/result.txt', 'w').write('done'); open('/tmp/scratch', 'w').write('gone')")

    assert outcome.code == 0, outcome.stderr
    assert (action.directory / "out/result.txt").read_text() == "done"
    assert (action.directory / "out/result.txt").stat().st_uid == action.user


def test_a_directory_that_cannot_be_written_does_if_it_has_out(action: Action) -> None:
    # So may a remote worker hand an action's inputs over: real directories without write permission, whatever they came from.
    action.program("import shutil; shutil.copy('input.txt', 'out/copy.txt')")
    (action.directory / "out").mkdir()
    os.chown(action.directory / "out", action.user, action.user)

    with read_only(action.directory, writable="out"):
        result = subprocess.run(
            action.arguments(), cwd=action.directory, capture_output=True, text=True, **action.identity()
        )

    assert result.returncode == 0, result.stderr
    assert (action.directory / "out/copy.txt").read_text() == "input"


def test_what_a_module_sees_does_not_depend_on_where_it_runs(action: Action, home: Path) -> None:
    elsewhere = make_action(home / "another/deeper place", action.options, action.user)
    see = """
import json, os, platform, sys, sysconfig
print(json.dumps([os.getcwd(), __file__, sys.argv, sys.path, sys.prefix, sys.executable, hash("x"), platform.node(),
                  sorted(os.listdir("/")), sorted(os.listdir(".")), os.getpid(), os.getuid(), os.getgid()]))
"""

    assert action.run(see).json == elsewhere.run(see).json


def test_a_component_may_be_a_link_out_of_the_directory(action: Action, home: Path) -> None:
    component = home / "store/abc123"
    component.mkdir(parents=True)
    (component / "declared.py").write_text("value = 7")
    (action.directory / "toolchain").mkdir()
    (action.directory / "toolchain/part").symlink_to(component)

    places = action.run(
        "import json, sys, declared; print(json.dumps([declared.__file__, sys.path[:2]]))",
        "--component",
        "part=toolchain/part",
    ).json

    assert places == ["/toolchain/part/declared.py", ["/sandbox/src", "/toolchain/part"]]


def test_the_library_comes_before_components(action: Action, home: Path) -> None:
    component = home / "component"
    component.mkdir()
    (component / "probe.py").write_text("raise SystemExit(9)")

    assert action.run("", "--component", f"part={component}").code == 0


def test_a_file_in_the_working_directory_is_no_module(action: Action) -> None:
    (action.directory / "json.py").write_text("raise SystemExit(9)")

    assert action.run("import json").code == 0


@pytest.mark.parametrize(
    ("option", "value", "expression"),
    [
        ("--uid", "4711", "os.getuid() == os.getgid() == 4711"),
        ("--hash-seed", "3", "os.environ['PYTHONHASHSEED'] == '3'"),
        ("--root", "/elsewhere/deep", "os.getcwd() == '/elsewhere/deep' and os.access('out', os.W_OK)"),
        ("--root", "/elsewhere", "__file__ == '/elsewhere/src/probe.py' and not os.path.exists('/sandbox')"),
    ],
)
def test_user_hash_seed_and_place_can_be_varied(action: Action, option: str, value: str, expression: str) -> None:
    assert action.run(f"import os; assert {expression}", option, value).code == 0


@pytest.mark.parametrize("code", [0, 1, 2, 7, 120])
def test_exit_code_is_the_modules(action: Action, code: int) -> None:
    outcome = action.run(f"raise SystemExit({code})")

    assert (outcome.code, outcome.stderr) == (code, "")


def test_a_module_that_dies_by_a_signal_is_told_as_shells_do(action: Action) -> None:
    assert action.run("import os; os.kill(os.getpid(), 11)").code == 128 + signal.SIGSEGV


def test_standard_input_is_empty(action: Action) -> None:
    assert action.run("import sys; assert sys.stdin.read() == ''").code == 0


def test_arguments_reach_the_module_unchanged(action: Action) -> None:
    action.program("import json, sys; print(json.dumps(sys.argv[1:]))")
    words = ["--mode", "none", "two words", "*", "$HOME", "", "new\nline", "--"]

    result = subprocess.run(
        [*action.arguments(), *words], cwd=action.directory, capture_output=True, text=True, **action.identity()
    )

    assert result.stdout == json.dumps(words) + "\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_launcher_ends_the_module(action: Action, number: signal.Signals) -> None:
    action.program("import time; print('started', flush=True); time.sleep(600)")
    with subprocess.Popen(
        action.arguments(), cwd=action.directory, stdout=subprocess.PIPE, text=True, **action.identity()
    ) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "started\n"
        launcher.send_signal(number)

        # The pipe ends when the last process that holds it has.
        assert launcher.communicate(timeout=60) == ("", None)


def test_the_hosts_interpreter_is_in_one_place_wherever_it_lives(
    home: Path, bubblewrap: Path, host_python: Path
) -> None:
    see = (
        "import json, os, sys; print(json.dumps([sys.prefix, sys.exec_prefix, sys.executable, sys.path, os.__file__]))"
    )

    def seen(executable: str) -> object:
        options = ["--bwrap", str(bubblewrap), "--python-link", executable, "--python-abi", ABI]
        return make_action(home / executable.replace("/", "-"), options, os.getuid()).run(see).json

    assert seen(sys.executable) == seen(str(host_python))
