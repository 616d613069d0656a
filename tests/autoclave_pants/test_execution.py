"""Where actions run, and what is made of their results, on a real engine with real processes. Servers are in tests/remote."""

import socket
from pathlib import Path
from textwrap import dedent

import pytest
from pants.core.target_types import rules as core_target_rules
from pants.core.util_rules import environments
from pants.core.util_rules.environments import (
    DockerEnvironmentTarget,
    LocalEnvironmentTarget,
    RemoteEnvironmentTarget,
)
from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.environment import EnvironmentName
from pants.engine.fs import EMPTY_DIGEST, CreateDigest, Digest, DigestContents, FileContent
from pants.engine.internals.scheduler import ExecutionError
from pants.engine.rules import QueryRule
from pants.testutil.rule_runner import RuleRunner

import autoclave_pants
from autoclave_pants import target_types
from autoclave_pants.rules import actions, execution, fetching, interpreters, library, toolchains
from autoclave_pants.rules.actions import ActionRequest, ActionResult
from autoclave_pants.rules.execution import Execution
from autoclave_pants.rules.fetching import Mirrors
from autoclave_pants.rules.toolchains import Component, Toolchain, ToolchainPython, ToolchainRequest

LAUNCHER = Path(autoclave_pants.__file__).parents[1] / "autoclave/sandbox/launch.sh"
MACHINES = Toolchain(ToolchainPython("host", "3.13", None, "interpreters/cp313"), (), None, ())

TOOLCHAIN = ToolchainRequest(UnparsedAddressInputs(("//:t",), owning_address=None, description_of_origin="a test"))

LOADER = """\
#!/bin/sh
while [ "$1" != -m ]; do shift; done
exit_code=$3
shift 3
for name; do printf written >"out/$name"; done
exit "$exit_code"
"""
"""In the place of Python's loader: the module's arguments are the exit code and the files to write."""

ENVIRONMENTS = """
    remote_environment(name="workers", extra_platform_properties=["pool=models"])
    remote_environment(name="optional", fallback_environment="__local__")
    docker_environment(name="container", image="debian@sha256:0000")
    """
NAMES = {"workers": "//:workers", "optional": "//:optional", "container": "//:container"}


@pytest.fixture
def closed_port():
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def run(closed_port):
    """A checkout of an action's library, and a way to give it options: run.options(...)."""
    server = f"grpc://localhost:{closed_port}"
    remote = [
        f"--remote-execution-address={server}",
        f"--remote-store-address={server}",
        "--autoclave-sandbox=none",
        f"--environments-preview-names={NAMES}",
    ]

    def with_options(*options, env=None):
        # Remote execution is an option of the engine itself, which a RuleRunner starts with.
        engine = ["--remote-execution"] if "--remote-execution" in options else []
        runner = RuleRunner(
            rules=[
                *core_target_rules(),
                *environments.rules(),
                *interpreters.rules(),
                *library.rules(),
                *fetching.rules(),
                *toolchains.rules(),
                *execution.rules(),
                *actions.rules(),
                QueryRule(Execution, ()),
                QueryRule(Mirrors, ()),
                QueryRule(Toolchain, (ToolchainRequest,)),
                QueryRule(ActionResult, (ActionRequest,)),
            ],
            target_types=[
                *target_types.targets(),
                LocalEnvironmentTarget,
                RemoteEnvironmentTarget,
                DockerEnvironmentTarget,
            ],
            bootstrap_args=[*engine, *remote[:2]],
            inherent_environment=EnvironmentName(None),
        )
        runner.write_files(
            {
                "BUILD": dedent(ENVIRONMENTS),
                "src/autoclave/sandbox/launch.sh": LAUNCHER.read_text(),
                "src/autoclave/__init__.py": "",
                "src/autoclave/writes.py": "",
            }
        )
        runner.set_options([*remote, *options], env=env, env_inherit={"PATH", "HOME"})
        return runner

    with_options.server = server
    return with_options


def locked(runner):
    """A toolchain whose Python is of Debian's packages, or looks so to the launcher."""
    files = ("usr/bin/python3.13", "usr/lib64/ld-linux-x86-64.so.2")
    tree = runner.request(Digest, [CreateDigest(FileContent(path, LOADER.encode(), True) for path in files)])
    return Toolchain(ToolchainPython("deb", "3.13", Component("python", tree, "0" * 64, 0, 2, ""), None), (), None, ())


def action(toolchain, *arguments, outputs=()):
    return ActionRequest(
        module="autoclave.writes",
        request="{}",
        inputs=EMPTY_DIGEST,
        toolchain=toolchain,
        outputs=outputs,
        target="models:m",
        stage="Compile",
        arguments=arguments,
    )


def failure(runner, product, request=None):
    with pytest.raises(ExecutionError) as caught:
        runner.request(product, [] if request is None else [request])
    return str(caught.value)


def test_actions_run_on_this_machine_unless_told_otherwise(run):
    assert run("--remote-execution").request(Execution, []) == Execution()


def test_actions_run_where_the_option_says(run):
    found = run("--remote-execution", "--autoclave-execution=workers").request(Execution, [])
    assert found == Execution(EnvironmentName("workers"), run.server)


def test_an_empty_option_takes_actions_back_to_this_machine(run):
    configured = {"PANTS_AUTOCLAVE_EXECUTION": "workers"}
    assert run("--remote-execution", env=configured).request(Execution, []).remote
    assert run("--remote-execution", "--autoclave-execution=", env=configured).request(Execution, []) == Execution()


def test_name_that_does_not_exist_is_refused_with_those_that_do(run):
    message = failure(run("--remote-execution", "--autoclave-execution=farm"), Execution)
    assert "`farm` from the option [autoclave].execution" in message.replace("\n", " ")
    assert "['container', 'optional', 'workers']" in message


def test_environment_that_is_not_remote_is_refused(run):
    message = failure(run("--docker-execution", "--autoclave-execution=container"), Execution)
    assert "names the environment `container`, and //:container is a docker_environment" in message


def test_workers_without_remote_execution_are_an_error_that_names_the_option(run):
    assert "--remote-execution" in failure(run("--autoclave-execution=workers"), Execution)


def test_sending_everything_to_workers_is_refused(run):
    runner = run("--remote-execution", "--environments-preview-names={}")
    for message in (failure(runner, Toolchain, TOOLCHAIN), failure(runner, Mirrors)):
        assert "remote_execution in [GLOBAL] is on and [environments-preview.names] is empty" in message


def test_environment_may_fall_back_to_this_machine(run):
    assert run("--autoclave-execution=optional").request(Execution, []) == Execution()


def test_python_of_this_machine_is_refused_to_workers(run):
    runner = run("--remote-execution", "--autoclave-execution=workers")
    message = failure(runner, ActionResult, action(MACHINES, "0"))
    assert "models:m: compile failed: its toolchain's Python is this machine's own" in message
    assert 'python = "deb" in [autoclave]' in message


def test_server_that_is_gone_is_named_and_what_to_do(run):
    runner = run("--remote-execution", "--autoclave-execution=workers")
    message = failure(runner, ActionResult, action(locked(runner), "0"))
    assert f"models:m: compile failed: the execution server {run.server} did not run it to its end" in message
    assert "run again with --autoclave-execution=''" in message


def test_declared_outputs_are_there(run):
    runner = run()
    result = runner.request(ActionResult, [action(locked(runner), "0", "a", "b", outputs=("a", "b"))])
    files = {file.path: file.content for file in runner.request(DigestContents, [result.outputs])}
    assert (result.exit_code, files) == (0, {"a": b"written", "b": b"written"})


def test_success_without_a_declared_output_is_an_error_that_names_it(run):
    runner = run()
    message = failure(runner, ActionResult, action(locked(runner), "0", "a", outputs=("a", "b", "c")))
    assert "models:m: compile failed: it ended with success on this machine" in message
    assert "not there: out/b, out/c" in message


def test_failure_without_a_declared_output_is_the_failure_that_the_module_told(run):
    runner = run()
    assert runner.request(ActionResult, [action(locked(runner), "3", outputs=("a",))]).exit_code == 3
