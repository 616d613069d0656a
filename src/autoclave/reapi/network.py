"""The way to a server, step by step: its address, its name, a connection, TLS. Each step gives a finding of its own."""

import ipaddress
import os
import queue
import re
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autoclave.errors import AutoclaveError
from autoclave.reapi.findings import Finding, failed, ok, option, warning
from autoclave.reapi.settings import Settings, absolute
from autoclave.reapi.tokens import duration

ADDRESS = re.compile(r"(?P<scheme>\w+)://(?P<host>\[[0-9a-fA-F:.]+\]|[^/:\[\]\s]+):(?P<port>\d{1,5})/?")
FORM = 'write "grpc://HOST:PORT", or with TLS "grpcs://HOST:PORT": '

AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where Linux distributions keep the authorities that a machine trusts, which Pants goes by without remote_ca_certs_path."""

EXPIRES_SOON = 14 * 86400
"""Seconds: a certificate that ends sooner ought to be renewed, unless it is a short-lived one with more than a tenth of its time left."""
BASIC_CONSTRAINTS = re.compile(rb"\x06\x03\x55\x1d\x13(?:\x01\x01\xff)?\x04.\x30.\x01\x01\xff", re.DOTALL)
"""In a certificate's DER form: the extension 2.5.29.19 that says cA (RFC 5280, section 4.2.1.9)."""

CA = "remote_ca_certs_path (PANTS_REMOTE_CA_CERTS_PATH)"


@dataclass(frozen=True)
class Address:
    """Where a server is."""

    tls: bool
    host: str
    port: int

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return self.host == "localhost" or (_is_ip(self.host) and ipaddress.ip_address(self.host).is_loopback)

    @property
    def target(self) -> str:
        """As gRPC writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def check_address(text: str, name: str = "remote_store_address") -> tuple[Finding, Address | None]:
    """The form of an address, which the option `name` gives; without an `Address` where nothing can be asked of it."""
    check, shape = "address", FORM + option(name, "grpc://cache.example.com:50051")
    match = ADDRESS.fullmatch(text)
    if match is None or match["scheme"] not in ("grpc", "grpcs"):
        return failed(check, f"{text} is not the address of a gRPC server", shape), None
    address = Address(match["scheme"] == "grpcs", match["host"].strip("[]"), int(match["port"]))
    if not 0 < address.port < 65536:
        return failed(check, f"{text}: there is no port {address.port}", shape), None
    if address.tls and _is_ip(address.host):
        return failed(
            check,
            f"{text}: with TLS, Pants needs a name; of the address {address.host} it makes the error InvalidDNSNameError",
            f"write the name that the server's certificate is for, and if no DNS knows it, a line `{address.host} NAME` in /etc/hosts: "
            + option(name, f"grpcs://NAME:{address.port}"),
        ), None
    return ok(check, text), address


def check_dns(address: Address, seconds: float) -> Finding:
    """Whether the host has an address."""
    check = "dns"
    results: queue.Queue[list[str] | OSError] = queue.Queue()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
            results.put(sorted({str(each[4][0]) for each in found}))
        except OSError as error:
            results.put(error)

    # A resolver can take minutes, and cannot be told not to.
    threading.Thread(target=resolve, daemon=True).start()
    remedy = f"correct the name in remote_store_address (PANTS_REMOTE_STORE_ADDRESS), or this machine's resolver: getent hosts {address.host}"
    try:
        result = results.get(timeout=seconds)
    except queue.Empty:
        return failed(check, f"nothing was said of {address.host} for {seconds:g} s", remedy)
    if isinstance(result, OSError):
        return failed(check, f"{address.host} has no address: {result.strerror or result}", remedy)
    return ok(check, f"{address.host} is {', '.join(result)}")


def check_tcp(address: Address, seconds: float) -> Finding:
    """Whether something listens there."""
    check = "connection"
    try:
        socket.create_connection((address.host, address.port), timeout=seconds).close()
    except OSError as error:
        reason = f"no answer for {seconds:g} s" if isinstance(error, TimeoutError) else error.strerror or str(error)
        remedy = "start the server, correct the port in remote_store_address (PANTS_REMOTE_STORE_ADDRESS), or open the firewall for it"
        if os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy"):
            remedy += "; Pants does not reach a cache through the proxy that HTTPS_PROXY names"
        return failed(check, f"{address.target}: {reason}", remedy)
    return ok(check, f"something listens at {address.target}")


def authorities(settings: Settings) -> bytes:
    """The certificates (PEM) of the authorities that Pants trusts.

    Raises `AutoclaveError` if remote_ca_certs_path names no such file, or this machine has none.
    """
    path = settings.remote_ca_certs_path
    if path:
        try:
            content = absolute(path).read_bytes()
        except OSError as error:
            raise AutoclaveError(f"remote_ca_certs_path: {path} cannot be read: {error.strerror}") from None
        if b"-----BEGIN CERTIFICATE-----" not in content:
            raise AutoclaveError(
                f"remote_ca_certs_path: {path} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
            )
        return content
    for candidate in (os.environ.get("SSL_CERT_FILE", ""), *AUTHORITIES):
        if candidate and Path(candidate).is_file():
            return Path(candidate).read_bytes()
    raise AutoclaveError(f"this machine trusts no authority: none of SSL_CERT_FILE, {', '.join(AUTHORITIES)} is there")


def check_tls(address: Address, settings: Settings, seconds: float, now: float) -> Finding:
    """Whether the server's certificate is one that Pants accepts. `now`: seconds since 1970."""
    check = "tls"
    try:
        trusted = authorities(settings)
        context = ssl.create_default_context(cadata=trusted.decode("ascii", errors="ignore"))
    except (AutoclaveError, ssl.SSLError) as error:
        return failed(
            check, str(error), option("remote_ca_certs_path", "FILE") + ": the server's authority, in PEM form"
        )
    context.set_alpn_protocols(["h2"])
    # Python 3.13 demands more of an authority's certificate than Pants does.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    try:
        with socket.create_connection((address.host, address.port), timeout=seconds) as plain:
            with context.wrap_socket(plain, server_hostname=address.host) as connection:
                certificate: Mapping[str, Any] = connection.getpeercert() or {}
                encoded = connection.getpeercert(binary_form=True) or b""
    except ssl.SSLCertVerificationError as error:
        return failed(
            check, f"the server's certificate is not accepted: {error.verify_message}", _remedy(error, address)
        )
    except (ssl.SSLError, ConnectionError) as error:
        return failed(
            check,
            f"the server does not speak TLS: {getattr(error, 'reason', None) or error}",
            option("remote_store_address", f"grpc://{address.target}") + ", or set TLS up on the server",
        )
    except OSError as error:
        return failed(
            check, f"no TLS for {seconds:g} s: {error}", "see whether the server still answers others; start it anew"
        )
    return _judge(check, certificate, encoded, now)


def _remedy(error: ssl.SSLCertVerificationError, address: Address) -> str:
    """What to do, by OpenSSL's number of the error (X509_V_ERR_...)."""
    if error.verify_code in (9, 10):
        return "renew the server's certificate, or set this machine's clock right (timedatectl)"
    if error.verify_code == 62:
        return f"have a certificate made with subjectAltName DNS:{address.host}, or write the name that it is for into remote_store_address"
    return f"{CA} has to name a PEM file with the authority that signed it; without the option, this machine's own authorities count"


def is_authority(encoded: bytes) -> bool:
    """Whether a certificate (DER) says of itself that it is an authority's."""
    return BASIC_CONSTRAINTS.search(encoded) is not None


def _judge(check: str, facts: Mapping[str, Any], encoded: bytes, now: float) -> Finding:
    begins, ends = (ssl.cert_time_to_seconds(str(facts[key])) for key in ("notBefore", "notAfter"))
    when = datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%d")
    names = ", ".join(value for kind, value in facts.get("subjectAltName", ()) if kind == "DNS")
    if is_authority(encoded):
        return failed(
            check,
            "the certificate is an authority's own (CA:TRUE), of which Pants makes the error CAUsedAsEndEntity",
            f"have an authority sign one that is the server's alone (CA:FALSE); {CA} names the authority's",
        )
    if not names:
        return failed(
            check,
            "the certificate has no subjectAltName of the kind DNS, which Pants demands",
            "have it made anew, with subjectAltName DNS:NAME",
        )
    if ends - now < min(EXPIRES_SOON, (ends - begins) / 10):
        return warning(check, f"the certificate for {names} ends in {duration(ends - now)}, on {when}", "renew it")
    return ok(check, f"a certificate for {names}, until {when}")


def speaks_tls(address: Address, seconds: float) -> bool:
    """Whether a server answers with TLS, whatever its certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((address.host, address.port), timeout=seconds) as plain:
            with context.wrap_socket(plain, server_hostname=address.host):
                return True
    except OSError:
        return False
