"""BuildGrid in front of a casd, which is its storage and action cache.

As a shared cache it has what casd lacks: TLS, bearer tokens, and rights for each subject and call. As an execution
server (`autoclave.servers.farm`) it hands actions to workers.
"""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from autoclave.servers.errors import ServerError
from autoclave.servers.running import HOST, RunningServer, ServerCommand, answers, free_port

INSTANCE = "main"
PUBLIC = "public"
"""The instance from which anybody may read what `INSTANCE` has."""

CACHE_CONFIGURATION = """\
description: a shared cache with TLS and rights, over casd's storage
server:
  - !channel
    address: "{host}:{port}"
    insecure-mode: false
    credentials:
      tls-server-key: {folder}/server.key
      tls-server-cert: {folder}/server.pem
authorization:
  method: jwt
  algorithm: hs256
  secret: {folder}/jwt.secret
  acl-config: {folder}/acl.yml
  allow-unauthenticated-instances: [{public}]
storages:
  - !remote-storage &storage
    url: {casd}
    instance-name: {instance}
caches:
  - !remote-action-cache &cache
    url: {casd}
    instance-name: {instance}
instances:
  - name: {instance}
    services: &services
      - !action-cache
        cache: *cache
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
  - name: {public}
    services: *services
thread-pool-size: 40
"""

RIGHTS = """\
{instance}:
  allow:
    # CI: everything.
    - subject: "^ci$"
    # Developers: read only.
    - subject: "^dev$"
      requests: &reading [GetCapabilities, GetActionResult, FindMissingBlobs, BatchReadBlobs, GetTree, Read, QueryWriteStatus]
{public}:
  allow:
    # Anybody, without a token: read only.
    - requests: *reading
"""


@dataclass
class BuildGrid:
    """A running BuildGrid with TLS and rights: subject `ci` may do everything, `dev` read; anybody may read by the instance `PUBLIC`.

    `ca` is the certificate that its own is signed by (PEM), `casd` keeps what it serves.
    """

    server: RunningServer
    ca: Path
    casd: RunningServer

    def token(self, subject: str, seconds: int = 3600) -> Path:
        """A file with a bearer token of `subject`, good for so many seconds from now (negative: expired)."""
        secret = (self.server.data / "jwt.secret").read_bytes()
        path = self.server.data / f"{subject}-{seconds}.token"
        path.write_text(bearer_token(secret, subject, int(time.time()) + seconds))
        path.chmod(0o600)
        return path

    def stop(self) -> None:
        """Stop the server and its storage."""
        self.server.stop()
        self.casd.stop()


def bearer_token(secret: bytes, subject: str, expires: int) -> str:
    """A JSON Web Token (RFC 7519) for `subject`, signed by HMAC-SHA256; `expires` is in seconds since 1970."""

    def encoded(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": subject, "exp": expires}]
    signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def install_buildgrid(python: str, lock: Path, place: Path) -> Path:
    """Install BuildGrid's locked wheels into the new virtual environment `place`, and return its `bgd` command.

    `python` is a CPython of the version that the lock is for. Raises `ServerError` with pip's words if that fails.
    """
    run_quietly([python, "-m", "venv", str(place)], "make BuildGrid's virtual environment")
    options = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--no-compile", "-r", str(lock)]
    run_quietly([str(place / "bin/python"), "-m", "pip", "install", "-q", *options], "install BuildGrid")
    return place / "bin/bgd"


def run_quietly(command: list[str], purpose: str) -> None:
    """Run a command to its end. Raises `ServerError` with what it printed if it fails."""
    result = subprocess.run(command, env=own_python(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode != 0:
        raise ServerError(f"could not {purpose}: {' '.join(command)}\n{(result.stdout + result.stderr).strip()}")


def own_python() -> dict[str, str]:
    """This process' environment without what makes another Python see this one's packages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PEX", "VIRTUAL_ENV"))}
    # A constraint in a machine-wide pip configuration breaks locked installs.
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def start_buildgrid(bgd: Path, folder: Path, casd: RunningServer, port: int = 0) -> BuildGrid:
    """Start BuildGrid as a shared cache with TLS and rights; its keys and configuration go to the new `folder`.

    Raises `ServerError` if it does not serve.
    """
    port = port or free_port()
    folder = folder.absolute()
    folder.mkdir(parents=True)
    make_certificates(bgd, folder)
    (folder / "jwt.secret").write_text(os.urandom(32).hex())
    (folder / "acl.yml").write_text(RIGHTS.format(instance=INSTANCE, public=PUBLIC))
    words = {"host": HOST, "port": port, "folder": folder, "casd": casd.address.replace("grpc:", "http:")}
    text = CACHE_CONFIGURATION.format(**words, instance=INSTANCE, public=PUBLIC)
    server = buildgrid_server(bgd, folder, text, f"grpcs://localhost:{port}", folder / "ca.pem")
    return BuildGrid(server.start(), folder / "ca.pem", casd)


def buildgrid_server(bgd: Path, folder: Path, configuration: str, address: str, ca: Path | None) -> RunningServer:
    """A BuildGrid that serves `address` by the text of a configuration, yet to be started; its log is in `folder`."""
    (folder / "buildgrid.yml").write_text(configuration)
    arguments = (bgd, "server", "start", folder / "buildgrid.yml")
    command = ServerCommand("BuildGrid", arguments, folder / "buildgrid.log", own_python())
    port = int(address.rpartition(":")[2])
    return RunningServer(address, INSTANCE, folder, command, serves=lambda _: answers(port, ca))


def make_certificates(bgd: Path, folder: Path) -> None:
    """Write ca.pem, and server.pem with server.key for localhost that it signed, by the library BuildGrid brings."""
    script = Path(__file__).with_name("certificates.py")
    run_quietly([str(bgd.with_name("python")), "-I", str(script), str(folder)], "make certificates")
