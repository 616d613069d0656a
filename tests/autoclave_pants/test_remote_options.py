"""What Pants makes of options for a remote cache that are wrong: for a build, and for the doctor that finds it out."""

import pytest
from pants.engine.env_vars import CompleteEnvironmentVars
from pants.engine.unions import UnionMembership
from pants.option.errors import OptionsError
from pants.option.global_options import DynamicRemoteOptions
from pants.testutil.option_util import create_options_bootstrapper

from autoclave_pants.remote_options import DOCTOR, guard_remote_options
from autoclave_pants.rules.cache_doctor import CacheDoctorSubsystem

CACHE = ("--remote-cache-read", "--remote-store-address=grpc://localhost:1")


@pytest.fixture(autouse=True)
def guarded():
    guard_remote_options()


def options_for(*arguments):
    """Pants' options of a command line."""
    bootstrapper = create_options_bootstrapper(["--backend-packages=[]", *arguments])
    scopes = [CacheDoctorSubsystem.get_scope_info(), *bootstrapper.get_bootstrap_options().known_scope_to_info.values()]
    return bootstrapper.full_options_for_scopes(scopes, UnionMembership({}))


def remote_options(*arguments):
    """What Pants starts its engine with."""
    return DynamicRemoteOptions.from_options(options_for(*arguments), CompleteEnvironmentVars({}))[0]


def test_a_build_uses_the_cache():
    assert remote_options(*CACHE).cache_read


def test_the_doctor_runs_without_the_cache_that_it_examines():
    assert remote_options(*CACHE, DOCTOR) == DynamicRemoteOptions.disabled()


def test_a_token_that_cannot_be_read_is_an_error_that_names_the_option():
    with pytest.raises(OptionsError, match="/nowhere/token.*remote_oauth_bearer_token_path.*No such file"):
        remote_options(*CACHE, "--remote-oauth-bearer-token-path=/nowhere/token")


def test_the_doctor_starts_though_the_token_cannot_be_read():
    assert not remote_options(*CACHE, "--remote-oauth-bearer-token-path=/nowhere/token", DOCTOR).cache_read


def test_guarding_twice_wraps_once():
    before = DynamicRemoteOptions.from_options.__func__
    guard_remote_options()

    assert DynamicRemoteOptions.from_options.__func__ is before
