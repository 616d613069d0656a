"""A git repository with a catalogue of all kinds of models, to tell what edits of it touch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from pants.core.goals import package, test
from pants.core.util_rules import distdir
from pants.engine.internals.parametrize import Parametrize
from pants.testutil.rule_runner import RuleRunner

import autoclave_pants
from autoclave_pants.forecast import register
from autoclave_pants.forecast.fingerprints import Forecast
from autoclave_pants.rules.affected import Affected

LIBRARY = Path(autoclave_pants.__file__).parents[1] / "autoclave"

LOCK = "{name}==1.0 --hash=sha256:{a} --hash=sha256:{b}  # By hand\n"
LOCKS = ("python", "llvm", "mesa", "comgr", "tinygrad", "onnx", "bubblewrap")
TOOLCHAINS = """
deb_lock(name="python", source="python.lock", component="python", provides="Python")
host_python(name="python-host", versions=["3.13", "3.12"])
wheel_lock(name="llvm", source="llvm.lock", component="llvm", provides="LLVM")
wheel_lock(name="mesa", source="mesa.lock", component="mesa", provides="Mesa")
deb_lock(name="comgr", source="comgr.lock", component="comgr", provides="comgr")
wheel_lock(name="onnx", source="onnx.lock", component="onnx", provides="onnx")
wheel_lock(name="bubblewrap", source="bubblewrap.lock", component="bubblewrap", provides="bubblewrap")
tinygrad_source(name="tinygrad", release="1.0", source="tinygrad.lock")
toolchain(
    name="tinygrad-0.14", python=[":python", ":python-host"], tinygrad=":tinygrad", components=[":llvm"], ir3=":mesa", hip=":comgr"
)
tinygrad_source(name="vendored", commit="0123456789012345678901234567890123456789", path="tree", adapter="1.0")
toolchain(name="of-a-commit", python=[":python", ":python-host"], tinygrad=":vendored", components=[":llvm"])
toolchain(name="references", python=[":python", ":python-host"], components=[":onnx"])
toolchain(name="emulator", python=[":python", ":python-host"], components=[":llvm"])
"""
PLAIN = """
# A model for all hardware, its file in the checkout.
onnx_file(name="plain-onnx", source="plain.onnx")
onnx_model(
    name="plain", source=":plain-onnx", hardware=parametrize("cpu", "qcom", "chestnut"),
    # inputs
)
parity_test(
    name="plain-parity",
    model=parametrize(cpu=":plain@hardware=cpu", qcom=":plain@hardware=qcom", chestnut=":plain@hardware=chestnut"),
    tolerance=0.00001,
)
"""
HIP = f"""
onnx_file(name="hip-onnx", url="https://models.invalid/hip.onnx", sha256="{"1" * 64}", size=1000)
onnx_model(
    name="hip", source=":hip-onnx", hardware="chestnut", renderer="hip",
    # name
)
"""
DRIVING = """
synthetic_onnx(name="small-onnx", architecture="supercombo", scale="S", seed=1)
synthetic_onnx(name="big-onnx", architecture="supercombo", scale="S", seed=2)
driving_model(
    name="driving",
    sources=":small-onnx",
    hardware_sources={"chestnut": ":big-onnx"},
    behavior_version="v16",
    hardware=parametrize("cpu", "qcom", "chestnut"),
    # cameras
)
"""
MONITORING = """
onnx_file(name="monitoring-onnx", source="monitoring.onnx")
monitoring_models(
    name="monitoring", source=":monitoring-onnx", hardware="cpu", toolchain="toolchains:of-a-commit",
    # cameras
)
"""
PLAIN_ONE = 'onnx_model(name="{name}", source=":plain-onnx", hardware="cpu")'


class Repository:
    """A git repository with a catalogue whose models have no weights and whose locks pin nothing: nothing is built of them."""

    def __init__(self):
        self.runner = RuleRunner(
            rules=[*test.rules(), *package.rules(), *distdir.rules(), *register.rules()],
            target_types=register.target_types(),
            objects={"parametrize": Parametrize},
        )
        self.root = Path(self.runner.build_root)
        shutil.copytree(LIBRARY, self.root / "src/autoclave", ignore=shutil.ignore_patterns("__pycache__", "BUILD"))
        locks = {f"toolchains/{name}.lock": LOCK.format(name=name, a="a" * 64, b="b" * 64) for name in LOCKS}
        self.runner.write_files(
            {
                **locks,
                "toolchains/BUILD": TOOLCHAINS,
                "toolchains/tree/tinygrad/tensor.py": "first",
                "toolchains/tree/README.md": "first",
                "models/BUILD.plain": PLAIN,
                "models/BUILD.hip": HIP,
                "models/BUILD.driving": DRIVING,
                "models/BUILD.monitoring": MONITORING,
                "models/plain.onnx": "plain",
                "models/monitoring.onnx": "monitoring",
                "README.md": "Read me.\n",
                ".gitignore": "/.pants.d/\n",
            }
        )
        self.git("init", "-q")
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "The catalogue")

    def replace(self, path, old, new):
        text = (self.root / path).read_text()
        assert old in text, f"{path} has no {old!r}"
        self.runner.write_files({path: text.replace(old, new, 1)})

    def git(self, *arguments):
        return git(self.root, *arguments)

    def restore(self):
        """Check the committed files out again, and tell the engine."""
        changed = self.git("ls-files", "--modified", "--deleted", "--others", "--exclude-standard").split()
        self.git("checkout", "-q", "--", ".")
        self.git("clean", "-qfd")
        self.runner.scheduler.invalidate_files({place for path in changed for place in (path, str(Path(path).parent))})

    def affected(self, *arguments):
        """The result of `./pants affected` without a revision to compare with."""
        return self.runner.run_goal_rule(Affected, args=arguments, env_inherit={"PATH", "HOME"})

    def forecast(self, *options):
        result = self.runner.run_goal_rule(Forecast, global_args=options, env_inherit={"PATH", "HOME"})
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)


def git(folder, *arguments):
    names = {f"GIT_{role}_{what}": "test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()
