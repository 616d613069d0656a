"""What the doctor reads in a bearer token, which it does not verify."""

import base64
import json
from pathlib import Path

import pytest

from autoclave.errors import AutoclaveError
from autoclave.reapi.findings import State
from autoclave.reapi.settings import Settings
from autoclave.reapi.tokens import claims, judge_token, read_token

NOW = 1_800_000_000.0
"""2027-01-15 08:00 UTC."""

# The example of RFC 7519, section 3.1.
RFC_7519 = (
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)


def jwt(**content: object) -> str:
    """A token with these claims; its signature is nobody's."""
    parts = ({"alg": "HS256"}, content)
    return ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (*parts, "signature")
    )


def test_the_claims_of_the_specifications_own_example() -> None:
    assert claims(RFC_7519) == {"iss": "joe", "exp": 1300819380, "http://example.com/is_root": True}


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "..", "a.!!!.c", f"a.{base64.b64encode(b'[1]').decode()}.c"])
def test_what_is_no_jwt_has_no_claims(token: str) -> None:
    assert claims(token) is None


@pytest.mark.parametrize(
    ("token", "state", "seen"),
    [
        ("", State.ok, "without a name"),
        ("opaque", State.ok, "not a JWT"),
        (RFC_7519, State.failed, "ended at 2011-03-22 18:43 UTC"),
        (jwt(sub="ci", exp=NOW + 7200), State.ok, "for ci that ends in 2 h, at 2027-01-15 10:00 UTC"),
        (jwt(sub="ci", exp=NOW - 60), State.failed, "for ci that ended at 2027-01-15 07:59 UTC"),
        (jwt(sub="ci", exp=NOW + 60), State.warning, "ends in 60 s"),
        (jwt(sub="ci"), State.warning, "without `exp`"),
        (jwt(exp=NOW + 7200, nbf=NOW + 600), State.warning, "begins 10 min from now"),
    ],
)
def test_a_token_is_judged_by_its_end(token: str, state: State, seen: str) -> None:
    found = judge_token(token, NOW)

    assert found.state is state
    assert seen in found.seen


def test_a_token_comes_from_its_file_else_from_the_headers(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-the-file\n")
    headers = {"Authorization": "Bearer from-the-headers"}

    assert read_token(Settings(remote_oauth_bearer_token_path=str(file))) == "from-the-file"
    assert read_token(Settings(remote_store_headers=headers)) == "from-the-headers"
    assert read_token(Settings()) == ""


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "cannot be read: No such file"), ("\n", "holds nothing"), ("one\ntwo\n", "more than one word")],
)
def test_a_file_that_holds_no_token_is_an_error(tmp_path: Path, content: str | None, reason: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)

    with pytest.raises(AutoclaveError, match=reason):
        read_token(Settings(remote_oauth_bearer_token_path=str(file)))
