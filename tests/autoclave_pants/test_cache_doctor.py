"""What the goal gives to the doctor, and how it judges what a build reported."""

import json
import os

import pytest
from pants.base.build_environment import get_buildroot
from pants.testutil.option_util import create_options_bootstrapper
from pants.testutil.rule_runner import mock_console

from autoclave_pants.cache_counters import CacheUse, report
from autoclave_pants.rules.cache_doctor import OPTIONS, judge_report, settings


def options_for(*arguments):
    """The global options of a command line."""
    bootstrapper = create_options_bootstrapper(["--backend-packages=[]", *arguments])
    return bootstrapper.get_bootstrap_options().for_global_scope()


def test_the_doctor_gets_pants_own_options():
    given = settings(
        options_for(
            "--remote-cache-read",
            "--remote-store-address=grpc://localhost:1",
            "--remote-store-headers={'x-key': 'secret'}",
            "--remote-oauth-bearer-token-path=token",
            "--remote-ca-certs-path=/etc/ca.pem",
            "--cache-content-behavior=defer",
        )
    )

    assert json.loads(json.dumps(given)) == given
    assert set(given) == set(OPTIONS)
    assert (given["remote_cache_read"], given["remote_cache_write"]) == (True, False)
    assert given["remote_store_headers"] == {"x-key": "secret"}
    assert given["remote_oauth_bearer_token_path"] == os.path.join(get_buildroot(), "token")
    assert given["remote_ca_certs_path"] == "/etc/ca.pem"
    assert given["cache_content_behavior"] == "defer"
    assert given["remote_instance_name"] is None


def judged(path, **options):
    """The exit code, and what is printed on standard output and standard error."""
    bootstrapper = create_options_bootstrapper(["--backend-packages=[]"])
    with mock_console(bootstrapper) as (console, reader):
        code = judge_report(path, console, **{"required": False, "as_json": False, **options})
        return code, reader.get_stdout(), reader.get_stderr()


def use(hits, misses, errors):
    return CacheUse(hits + misses + errors, hits, misses, errors, 0, 0, 0)


@pytest.mark.parametrize(
    ("counters", "code", "verdict"),
    [(use(2, 1, 0), 0, "ok"), (use(2, 0, 1), 0, "degraded"), (use(0, 0, 3), 1, "failed"), (use(0, 0, 0), 0, "unused")],
)
def test_a_report_fails_a_job_whose_cache_did_not_serve(tmp_path, counters, code, verdict):
    path = tmp_path / "report.json"
    path.write_text(report(counters, ("package",), "grpc://localhost:1"))

    exit_code, printed, _ = judged(path, required=True)

    assert exit_code == code
    assert printed.splitlines()[0].startswith("remote cache: ")
    assert printed.splitlines()[1].startswith(f"{verdict}: ")
    assert json.loads(judged(path, as_json=True)[1])["verdict"] == verdict


@pytest.mark.parametrize(("required", "code"), [(False, 0), (True, 1)])
def test_no_report_is_a_failure_where_one_is_required(tmp_path, required, code):
    exit_code, _, complaint = judged(tmp_path / "report.json", required=required)

    assert exit_code == code
    assert "no build with a remote cache has run here" in complaint
