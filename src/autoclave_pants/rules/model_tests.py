"""What the tests of models have in common: which artifacts they test, and how a result is told to Pants."""

from __future__ import annotations

from pants.core.goals.test import TestResult, TestSubsystem
from pants.engine.addresses import Address
from pants.engine.fs import EMPTY_FILE_DIGEST
from pants.engine.internals.session import RunId
from pants.engine.process import ProcessExecutionEnvironment, ProcessResultMetadata

from autoclave_pants.engine import targets_at
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.products import Product, is_model, products_of
from autoclave_pants.target_types.model_tests import TestedModelField

FAILED = 1


def no_process(run: RunId) -> ProcessResultMetadata:
    """What stands for a process in the result of a test that ran none of its own: without it Pants' summary is silent."""
    environment = ProcessExecutionEnvironment(
        environment_name=None,
        platform="linux_x86_64",
        docker_image=None,
        remote_execution=False,
        remote_execution_extra_platform_properties=[],
    )
    return ProcessResultMetadata(0, environment, ProcessResultMetadata.Source.RAN.value, run)


def result_of(
    address: Address,
    exit_code: int,
    stdout: str,
    test: TestSubsystem,
    metadata: ProcessResultMetadata,
    stderr: str = "",
) -> TestResult:
    return TestResult(
        exit_code=exit_code,
        stdout=stdout,
        stdout_digest=EMPTY_FILE_DIGEST,
        stderr=stderr,
        stderr_digest=EMPTY_FILE_DIGEST,
        addresses=(address,),
        output_setting=test.output,
        result_metadata=metadata,
    )


def build_failure(address: Address, error: BuildError, test: TestSubsystem, run: RunId) -> TestResult:
    """A model that cannot be built fails its test with the build's error as the reason."""
    return result_of(address, FAILED, f"{error}\n", test, no_process(run), error.log)


async def tested_products(address: Address, field: TestedModelField) -> tuple[Product, ...]:
    """The artifacts of the model that a test names."""
    (target,) = await targets_at(field.to_unparsed_address_inputs())
    if not is_model(target):
        raise BuildError(str(address), "test", f"`model` names {target.address}, a {target.alias}, not a model")
    return products_of(target).artifacts
