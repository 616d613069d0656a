"""The way to a server, on real sockets of this machine."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from reapi.authority import AN_AUTHORITY

from autoclave.errors import AutoclaveError
from autoclave.reapi.doctor import examine
from autoclave.reapi.findings import Finding, State
from autoclave.reapi.network import Address, authorities, check_address, check_dns, check_tcp, check_tls, is_authority
from autoclave.reapi.settings import Settings


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections and never says a word, as a frozen one does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("grpc://cache.example.com:50051", Address(False, "cache.example.com", 50051)),
        ("grpcs://localhost:443", Address(True, "localhost", 443)),
        ("grpc://127.0.0.1:1", Address(False, "127.0.0.1", 1)),
        ("grpc://[::1]:8980", Address(False, "::1", 8980)),
    ],
)
def test_an_address_that_pants_takes(text: str, address: Address) -> None:
    assert check_address(text)[1] == address


@pytest.mark.parametrize(
    "text", ["cache:50051", "http://cache:50051", "grpc://cache", "grpc://cache:99999", "grpc://:1", "grpc://a b:1"]
)
def test_another_address_is_refused_with_the_form_and_the_variable(text: str) -> None:
    finding, address = check_address(text)

    assert address is None
    assert finding.state is State.failed
    assert "grpc://HOST:PORT" in finding.fix
    assert "PANTS_REMOTE_STORE_ADDRESS=" in finding.fix


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_number_with_tls_is_refused_with_the_error_that_pants_would_give(host: str) -> None:
    finding, address = check_address(f"grpcs://{host}:50051")

    assert address is None
    assert "InvalidDNSNameError" in finding.seen
    assert "grpcs://NAME:50051" in finding.fix


def test_a_name_that_nobody_has_is_told_of() -> None:
    # RFC 6761, section 6.4: no name below .invalid exists.
    finding = check_dns(Address(False, "cache.invalid", 1), 10)

    assert finding.state is State.failed
    assert "cache.invalid" in finding.seen


def test_a_port_that_nobody_listens_at_is_told_of(closed: int) -> None:
    finding = check_tcp(Address(False, "localhost", closed), 5)

    assert (finding.state, finding.seen) == (State.failed, f"localhost:{closed}: Connection refused")


def test_a_server_that_does_not_answer_tls_is_given_up_on(silent: int, tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text(AN_AUTHORITY)

    finding = check_tls(Address(True, "localhost", silent), Settings(remote_ca_certs_path=str(authority)), 0.3, 0)

    assert finding.state is State.failed
    assert "no TLS for 0.3 s" in finding.seen


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_an_authority_that_is_none_is_an_error_that_names_the_option(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)

    with pytest.raises(AutoclaveError, match=f"remote_ca_certs_path: {file}"):
        authorities(Settings(remote_ca_certs_path=str(file)))


def test_an_authoritys_own_certificate_is_known() -> None:
    # openssl made it with its defaults for `req -x509`: X509v3 Basic Constraints: critical, CA:TRUE.
    assert is_authority(ssl.PEM_cert_to_DER_cert(AN_AUTHORITY))


def test_a_server_that_says_nothing_ends_the_examination(silent: int) -> None:
    settings = Settings(remote_store_address=f"grpc://localhost:{silent}", remote_cache_read=True)

    found = list(examine(settings, 0.5))

    assert [each.check for each in found if each.state is State.failed] == ["capabilities"]
    assert "DEADLINE_EXCEEDED" in by_name(found)["capabilities"].seen
    assert found[-1].state is State.skipped


def test_a_token_that_cannot_be_read_is_told_of_though_there_is_a_server(silent: int) -> None:
    settings = Settings(
        remote_store_address=f"grpc://localhost:{silent}",
        remote_cache_read=True,
        remote_oauth_bearer_token_path="/nowhere/token",
    )

    found = by_name(list(examine(settings, 0.5)))

    assert found["token"].state is State.failed
    assert "PANTS_REMOTE_OAUTH_BEARER_TOKEN_PATH" in found["token"].fix
    assert found["service"].state is State.skipped


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    return {each.check: each for each in findings}
