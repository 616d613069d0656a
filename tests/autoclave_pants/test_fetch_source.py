"""Fetching a declared file, against a real HTTP server on this machine; the script runs as a process, as Pants runs it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from autoclave_pants.fetch import source

SCRIPT = Path(source.__file__).resolve()
"""Absolute: the first releases of Python 3.9 leave `__file__` relative when the search path is."""
CONTENT = bytes(range(8, 256)) * 1200
"""Begins like an ONNX model (field 1, a varint) and is longer than one block."""
SHA256 = hashlib.sha256(CONTENT).hexdigest()
TOKEN = "hf_secretsecretsecret"
TARGET = "models:sample-onnx"
HTML = b"<!DOCTYPE html><html><title>Sign in</title>" + b"x" * 4000


def pointer_to(content: bytes) -> bytes:
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n".encode()


def label(value: str | bytes) -> str:
    """A test's name shows the start of a long parameter only."""
    return repr(value[:30])


class Server:
    """An HTTP server whose answers are functions by path; it keeps what it was asked."""

    def __init__(self) -> None:
        self.routes: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                outer.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
                outer.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                outer.routes.get(self.path, status(404))(self)

            do_GET = do_POST = answer

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.requests]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def body(
    content: bytes, declared_length: int | None = None, **headers: str
) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer 200 with `content`; a larger `declared_length` makes the answer break off."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content) if declared_length is None else declared_length))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def ranged(content: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """Answer with the rest of `content` from the requested byte on."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        start = int(handler.headers["Range"][len("bytes=") : -1])
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start:])

    return answer


def endless(handler: BaseHTTPRequestHandler) -> None:
    """Send without end and without saying how much."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(CONTENT)
    except OSError:
        pass


def status(code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def in_turn(*answers: Callable[[BaseHTTPRequestHandler], None]) -> Callable[[BaseHTTPRequestHandler], None]:
    left = list(answers)
    return lambda handler: left.pop(0)(handler)


def lfs_batch(href: str, **header: str) -> Callable[[BaseHTTPRequestHandler], None]:
    return body(json.dumps({"objects": [{"actions": {"download": {"href": href, "header": header}}}]}).encode())


@pytest.fixture()
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture()
def other() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


class Fetching:
    """Runs the script in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "out" / "model.onnx"

    def run(self, url: str | None, environment: dict[str, str] | None = None, **request: Any) -> tuple[int, str]:
        """Exit code and what was said."""
        wanted = {
            "target": TARGET,
            "sha256": SHA256,
            "size": len(CONTENT),
            "url": url,
            "output": "out/model.onnx",
            "retry_seconds": 0.01,
            **request,
        }
        path = self.folder / "request.json"
        path.write_text(json.dumps(wanted))
        process = subprocess.run(
            [sys.executable, "-I", SCRIPT, "request.json"],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in process.stdout, process.stdout
        return process.returncode, process.stdout

    def succeeds(self, url: str | None, environment: dict[str, str] | None = None, **request: Any) -> str:
        code, said = self.run(url, environment, **request)
        assert code == 0, said
        assert self.output.read_bytes() == CONTENT
        assert [path.name for path in self.output.parent.iterdir()] == ["model.onnx"]
        return said

    def fails(self, url: str | None, environment: dict[str, str] | None = None, **request: Any) -> str:
        """The one error message; nothing was written."""
        code, said = self.run(url, environment, **request)
        assert code == 2, said
        assert not self.output.parent.exists() or not list(self.output.parent.iterdir())
        (message,) = [line for line in said.splitlines() if line.startswith("error: ")]
        return message


@pytest.fixture()
def fetching(tmp_path: Path) -> Fetching:
    folder = tmp_path / "action"
    folder.mkdir()
    return Fetching(folder)


# ---- addresses ----


def test_a_web_address_is_fetched(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = body(CONTENT)
    assert f"{len(CONTENT)} bytes from {server.address}/model.onnx" in fetching.succeeds(f"{server.address}/model.onnx")


def test_a_file_address_is_fetched(fetching: Fetching, tmp_path: Path) -> None:
    path = tmp_path / "a model.onnx"
    path.write_bytes(CONTENT)
    fetching.succeeds(path.as_uri())


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("hf://datasets/who/what@v1.2/a/model.onnx", "/datasets/who/what/resolve/v1.2/a/model.onnx"),
        ("hf://datasets/who/what/model.onnx", "/datasets/who/what/resolve/main/model.onnx"),
        ("hf://datasets/who/what@refs/pr/3/model.onnx", "/datasets/who/what/resolve/refs%2Fpr%2F3/model.onnx"),
        ("hf://buckets/who/what/onnx/a model.onnx", "/buckets/who/what/resolve/onnx/a%20model.onnx"),
        ("hf://who/what@main/model.onnx", "/who/what/resolve/main/model.onnx"),
        ("hf://models/who/what/model.onnx", "/who/what/resolve/main/model.onnx"),
    ],
)
def test_hub_addresses_are_resolved_with_the_token(fetching: Fetching, server: Server, address: str, path: str) -> None:
    server.routes[path] = body(CONTENT)
    said = fetching.succeeds(address, {"HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN})
    assert server.requests[0][2]["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in said


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("hf://datasets/only-one-part", "expected hf://datasets/NAMESPACE/NAME@REVISION/PATH"),
        ("hf://buckets/who/what@v1/model.onnx", "buckets have no revisions, remove @v1"),
        ("http://example.com/model.onnx", "is not encrypted: use https://"),
        ("ftp://example.com/model.onnx", "unknown kind: expected https://"),
        ("file://fileserver/share/model.onnx", "unknown kind: expected https://"),
        ("models/model.onnx", "is no address: expected https://"),
        ("https://user:secret@[::1/model.onnx", "[::1/model.onnx is no address: Invalid IPv6 URL"),
        ("https://example.com/m\u00fcller.onnx", "cannot be asked for"),
    ],
)
def test_an_address_that_is_none_of_the_kinds_is_refused(fetching: Fetching, address: str, reason: str) -> None:
    message = fetching.fails(address)
    assert reason in message
    assert TARGET in message
    assert "secret" not in message


def test_a_missing_file_names_target_address_and_status(fetching: Fetching, server: Server) -> None:
    message = fetching.fails(f"{server.address}/gone.onnx")
    assert TARGET in message
    assert f"{server.address}/gone.onnx" in message
    assert "HTTP 404" in message
    assert f"{len(CONTENT)} bytes with sha256 {SHA256}" in message


def test_a_refused_hub_address_without_token_says_how_to_give_one(fetching: Fetching, server: Server) -> None:
    server.routes["/datasets/a/b/resolve/main/m.onnx"] = status(401)
    message = fetching.fails("hf://datasets/a/b/m.onnx", {"HF_ENDPOINT": server.address})
    assert "set HF_TOKEN to a token that may read it" in message


def test_secrets_in_an_address_are_not_shown(fetching: Fetching, server: Server) -> None:
    host = server.address.replace("http://", "http://user:password@")
    message = fetching.fails(f"{server.address}/gone.onnx?signature=topsecret")
    assert "topsecret" not in message
    assert "password" not in fetching.fails(f"{host}/gone.onnx")


# ---- what comes is not what was declared ----


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (HTML, "came an HTML page"),
        (HTML + CONTENT * 2, "came an HTML page"),
        (b'{"error": "Repository not found"}', "came JSON text"),
        (b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", "came an XML answer"),
        (b"PK\x03\x04" + CONTENT[4:], "came a zip archive"),
        (b"", "came 0 bytes"),
        (CONTENT[:-1], f"came {len(CONTENT) - 1} bytes"),
        (CONTENT + b"x", f"come {len(CONTENT) + 1} bytes"),
        (CONTENT[:-1] + b"x", "came sha256 " + hashlib.sha256(CONTENT[:-1] + b"x").hexdigest()),
    ],
    ids=label,
)
def test_an_answer_that_is_not_the_file_is_named(
    fetching: Fetching, server: Server, content: bytes, reason: str
) -> None:
    server.routes["/model.onnx"] = body(content)
    message = fetching.fails(f"{server.address}/model.onnx")
    assert reason in message
    assert f"{len(CONTENT)} bytes with sha256 {SHA256}" in message
    assert server.paths() == ["/model.onnx"]


def test_a_server_without_end_is_read_no_further_than_the_declared_size(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = endless
    assert f"came more than {len(CONTENT)} bytes" in fetching.fails(f"{server.address}/model.onnx")


def test_a_request_without_hash_or_size_is_refused(fetching: Fetching) -> None:
    assert "`sha256` is 'abc'" in fetching.fails("https://example.com/m.onnx", sha256="abc")
    assert "`size` is None" in fetching.fails("https://example.com/m.onnx", size=None)
    assert "has no `output`" in fetching.fails("https://example.com/m.onnx", output=None)


# ---- trouble on the way ----


def test_server_errors_are_tried_again(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = in_turn(status(503), status(502), body(CONTENT))
    assert "trying again (3 of 4)" in fetching.succeeds(f"{server.address}/model.onnx")


def test_after_the_last_attempt_the_last_status_is_named(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = status(503)
    message = fetching.fails(f"{server.address}/model.onnx", attempts=3)
    assert "HTTP 503" in message
    assert "at the last of 3 attempts" in message
    assert len(server.requests) == 3


def test_a_broken_download_continues_where_it_broke(fetching: Fetching, server: Server) -> None:
    half = len(CONTENT) // 2
    server.routes["/model.onnx"] = in_turn(body(CONTENT[:half], len(CONTENT)), ranged(CONTENT))
    fetching.succeeds(f"{server.address}/model.onnx")
    assert server.requests[1][2]["range"] == f"bytes={half}-"


def test_a_broken_download_begins_anew_if_the_server_knows_no_ranges(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = in_turn(body(CONTENT[:70000], len(CONTENT)), body(CONTENT))
    fetching.succeeds(f"{server.address}/model.onnx")


def test_a_download_that_always_breaks_fails_with_the_figures(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = lambda handler: body(CONTENT[:5000], len(CONTENT))(handler)
    message = fetching.fails(f"{server.address}/model.onnx", attempts=2)
    assert f"the connection ended after 5000 of {len(CONTENT)} bytes" in message


def test_no_server_is_one_message(fetching: Fetching, server: Server) -> None:
    address = server.address
    server.close()
    server.close = lambda: None  # type: ignore[method-assign]
    assert "no connection" in fetching.fails(f"{address}/model.onnx", attempts=2)


def test_a_silent_server_times_out(fetching: Fetching, server: Server) -> None:
    release = threading.Event()
    server.routes["/model.onnx"] = lambda handler: (release.wait(20), None)[1]
    try:
        message = fetching.fails(f"{server.address}/model.onnx", attempts=1, timeout_seconds=0.2)
    finally:
        release.set()
    assert "timed out" in message


def test_the_deadline_ends_the_attempts(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = status(503)
    message = fetching.fails(f"{server.address}/model.onnx", retry_seconds=100, deadline_seconds=5)
    assert "the deadline leaves no time" in message


# ---- redirects and credentials ----


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_leaves_the_token_behind(
    fetching: Fetching, server: Server, other: Server, code: int
) -> None:
    server.routes["/datasets/a/b/resolve/main/m.onnx"] = status(code, Location=f"{other.address}/blob?signature=1")
    other.routes["/blob?signature=1"] = body(CONTENT)
    fetching.succeeds("hf://datasets/a/b/m.onnx", {"HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN})
    assert "authorization" in server.requests[0][2]
    assert "authorization" not in other.requests[0][2]


def test_a_redirect_within_the_hub_keeps_the_token(fetching: Fetching, server: Server) -> None:
    server.routes["/datasets/old/b/resolve/main/m.onnx"] = status(307, Location="/datasets/new/b/resolve/main/m.onnx")
    server.routes["/datasets/new/b/resolve/main/m.onnx"] = body(CONTENT)
    fetching.succeeds("hf://datasets/old/b/m.onnx", {"HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN})
    assert server.requests[1][2]["authorization"] == f"Bearer {TOKEN}"


def test_another_host_is_never_sent_the_token(fetching: Fetching, server: Server, other: Server) -> None:
    other.routes["/model.onnx"] = body(CONTENT)
    fetching.succeeds(f"{other.address}/model.onnx", {"HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN})
    assert "authorization" not in other.requests[0][2]


def unreadable_numbers(handler: BaseHTTPRequestHandler) -> None:
    """A length that looks like a digit to Python's isdigit and is no number to its int."""
    handler.send_response(503)
    handler.send_header("Retry-After", "\u00b2")
    handler.send_header("Content-Length", "\u00b2")
    handler.end_headers()


@pytest.mark.parametrize(
    ("answer", "reason"), [(unreadable_numbers, "HTTP 503"), (status(302, Location="https://[::1"), "Invalid IPv6 URL")]
)
def test_headers_that_make_no_sense_are_one_message(
    fetching: Fetching, server: Server, answer: Callable[[BaseHTTPRequestHandler], None], reason: str
) -> None:
    server.routes["/m.onnx"] = answer
    assert reason in fetching.fails(f"{server.address}/m.onnx", attempts=1)


def test_a_mirror_that_makes_no_sense_is_passed_over(fetching: Fetching, server: Server) -> None:
    server.routes["/m.onnx"] = body(CONTENT)
    said = fetching.succeeds(f"{server.address}/m.onnx", mirrors=["https://[::1"])
    assert "mirror passed over" in said and "Invalid IPv6 URL" in said


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.com/x", "http://example.invalid/x"])
def test_a_redirect_out_of_the_web_is_refused(fetching: Fetching, server: Server, location: str) -> None:
    server.routes["/datasets/a/b/resolve/main/m.onnx"] = status(302, Location=location)
    fetching.fails("hf://datasets/a/b/m.onnx", {"HF_ENDPOINT": server.address}, attempts=1)


def test_a_circle_of_redirects_ends(fetching: Fetching, server: Server) -> None:
    server.routes["/model.onnx"] = status(302, Location="/model.onnx")
    assert "HTTP 302" in fetching.fails(f"{server.address}/model.onnx")


def test_an_encrypted_address_does_not_redirect_to_an_open_one() -> None:
    web = source.Web(declaration(url="https://example.com/m.onnx"), {})
    with pytest.raises(source.FetchError, match="not encrypted"):
        web.allowed("http://example.com/m.onnx", coming_from="https://example.com/m.onnx")


@pytest.mark.parametrize(
    ("endpoint", "address", "sent"),
    [
        ("https://huggingface.co", "https://huggingface.co/a/b/resolve/main/c", True),
        ("https://huggingface.co", "http://huggingface.co/a/b/resolve/main/c", False),
        ("https://huggingface.co", "https://huggingface.co.example.com/c", False),
        ("https://huggingface.co", "https://huggingface.co@example.com/c", False),
        ("https://huggingface.co", "https://example.com/?https://huggingface.co/c", False),
        ("https://huggingface.co", "https://huggingface.co:8443/c", False),
        ("http://hub.example.com", "http://hub.example.com/c", False),
    ],
)
def test_the_token_goes_to_the_hub_alone_and_only_encrypted(endpoint: str, address: str, sent: bool) -> None:
    web = source.Web(declaration(), {"HF_ENDPOINT": endpoint, "HF_TOKEN": TOKEN})
    assert bool(web.credentials(address)) is sent


# ---- mirrors ----


def test_a_mirror_folder_that_has_the_file_saves_the_request(
    fetching: Fetching, server: Server, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / SHA256).write_bytes(CONTENT)
    server.routes["/model.onnx"] = body(CONTENT)
    assert str(mirror) in fetching.succeeds(f"{server.address}/model.onnx", mirrors=[str(mirror)])
    assert server.requests == []


def test_a_web_mirror_is_asked_by_hash(fetching: Fetching, server: Server, other: Server) -> None:
    server.routes["/model.onnx"] = body(CONTENT)
    other.routes[f"/base/{SHA256}"] = body(CONTENT)
    fetching.succeeds(f"{server.address}/model.onnx", mirrors=[f"{other.address}/base/"])
    assert (server.paths(), other.paths()) == ([], [f"/base/{SHA256}"])


def test_mirrors_without_the_file_are_passed_over_in_order(fetching: Fetching, server: Server, tmp_path: Path) -> None:
    server.routes["/model.onnx"] = body(CONTENT)
    fetching.succeeds(f"{server.address}/model.onnx", mirrors=[str(tmp_path / "no"), server.address])
    assert server.paths() == [f"/{SHA256}", "/model.onnx"]


@pytest.mark.parametrize(
    ("held", "said"),
    [(CONTENT[:-1] + b"x", "came sha256"), (HTML, "HTML page"), (pointer_to(CONTENT), "LFS pointer")],
    ids=label,
)
def test_a_mirror_that_holds_something_else_is_passed_over_aloud(
    fetching: Fetching, server: Server, tmp_path: Path, held: bytes, said: str
) -> None:
    (tmp_path / SHA256).write_bytes(held)
    server.routes["/model.onnx"] = body(CONTENT)
    output = fetching.succeeds(f"{server.address}/model.onnx", mirrors=[str(tmp_path)])
    assert "mirror passed over" in output
    assert said in output


def test_without_an_address_only_mirrors_count(fetching: Fetching, tmp_path: Path) -> None:
    message = fetching.fails(None, mirrors=[str(tmp_path)])
    assert "no address is declared" in message
    assert f"{tmp_path}/{SHA256}: not there" in message


# ---- Git LFS ----


def test_a_pointer_is_resolved_by_its_own_repository(fetching: Fetching, server: Server, other: Server) -> None:
    server.routes["/datasets/a/b/raw/main/m.onnx"] = body(pointer_to(CONTENT))
    server.routes["/datasets/a/b.git/info/lfs/objects/batch"] = lfs_batch(f"{other.address}/object", **{"X-Key": "1"})
    other.routes["/object"] = body(CONTENT)
    environment = {"HF_ENDPOINT": server.address, "HF_TOKEN": TOKEN}
    fetching.succeeds(f"{server.address}/datasets/a/b/raw/main/m.onnx", environment)
    question = json.loads(server.bodies[-1])
    assert question["objects"] == [{"oid": SHA256, "size": len(CONTENT)}]
    assert question["operation"] == "download"
    assert "authorization" in server.requests[-1][2]
    assert other.requests[0][2]["x-key"] == "1"
    assert "authorization" not in other.requests[0][2]


def test_the_lfs_configuration_of_the_repository_comes_first(fetching: Fetching, server: Server, other: Server) -> None:
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(CONTENT))
    server.routes["/a/b/raw/v1/.lfsconfig"] = body(f"[lfs]\n\turl = {other.address}/lfs\n".encode())
    other.routes["/lfs/objects/batch"] = lfs_batch(f"{other.address}/object")
    other.routes["/object"] = body(CONTENT)
    fetching.succeeds(f"{server.address}/a/b/raw/v1/m.onnx", {"HF_ENDPOINT": server.address})
    assert "/a/b.git/info/lfs/objects/batch" not in server.paths()


def test_openpilot_s_shared_store_is_asked_last(fetching: Fetching, server: Server) -> None:
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(CONTENT))
    server.routes["/commaai/openpilot-lfs.git/info/lfs/objects/batch"] = lfs_batch(f"{server.address}/object")
    server.routes["/object"] = body(CONTENT)
    fetching.succeeds(f"{server.address}/a/b/raw/v1/m.onnx", {"HF_ENDPOINT": server.address})


def test_a_declared_lfs_endpoint_replaces_the_guesses(fetching: Fetching, server: Server, other: Server) -> None:
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(CONTENT))
    other.routes["/store/objects/batch"] = lfs_batch(f"{other.address}/object")
    other.routes["/object"] = body(CONTENT)
    fetching.succeeds(f"{server.address}/a/b/raw/v1/m.onnx", lfs=f"{other.address}/store")
    assert server.paths() == ["/a/b/raw/v1/m.onnx"]


def test_a_pointer_to_another_file_is_refused_with_oid_and_size(fetching: Fetching, server: Server) -> None:
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(b"another model"))
    message = fetching.fails(f"{server.address}/a/b/raw/v1/m.onnx")
    assert hashlib.sha256(b"another model").hexdigest() in message
    assert "size 13" in message
    assert len(server.requests) == 1


def test_a_pointer_that_nobody_can_resolve_says_who_was_asked(fetching: Fetching, server: Server) -> None:
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(CONTENT))
    gone = {"objects": [{"oid": SHA256, "error": {"code": 404, "message": "Object does not exist"}}]}
    server.routes["/a/b.git/info/lfs/objects/batch"] = body(json.dumps(gone).encode())
    message = fetching.fails(f"{server.address}/a/b/raw/v1/m.onnx", {"HF_ENDPOINT": server.address})
    assert "404: Object does not exist" in message
    assert f"{server.address}/commaai/openpilot-lfs.git/info/lfs" in message
    assert "`lfs=`" in message


@pytest.mark.parametrize(
    "answer", [b"no json", b"{}", b'{"objects": []}', b'{"objects": [{}]}', b'{"objects": [7]}', b"[]"]
)
def test_an_lfs_server_that_talks_nonsense_is_one_message(fetching: Fetching, server: Server, answer: bytes) -> None:
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(CONTENT))
    server.routes["/store/objects/batch"] = body(answer)
    message = fetching.fails(f"{server.address}/a/b/raw/v1/m.onnx", lfs=f"{server.address}/store")
    assert "answer makes no sense" in message


def test_an_lfs_server_cannot_send_to_a_local_file(fetching: Fetching, server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(CONTENT)
    server.routes["/a/b/raw/v1/m.onnx"] = body(pointer_to(CONTENT))
    server.routes["/store/objects/batch"] = lfs_batch((tmp_path / "secret").as_uri())
    message = fetching.fails(f"{server.address}/a/b/raw/v1/m.onnx", lfs=f"{server.address}/store")
    assert "sends to a local file, which is refused" in message


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        (
            "https://raw.githubusercontent.com/commaai/openpilot/abc/selfdrive/m.onnx",
            "https://github.com/commaai/openpilot.git/info/lfs",
        ),
        ("https://github.com/who/what/raw/abc/m.onnx", "https://github.com/who/what.git/info/lfs"),
        ("https://gitlab.com/group/sub/what/-/raw/abc/m.onnx", "https://gitlab.com/group/sub/what.git/info/lfs"),
        ("https://huggingface.co/who/what/raw/main/m.onnx", "https://huggingface.co/who/what.git/info/lfs"),
        (
            "https://huggingface.co/datasets/who/what/resolve/main/m.onnx",
            "https://huggingface.co/datasets/who/what.git/info/lfs",
        ),
        ("https://example.com/m.onnx", None),
    ],
)
def test_the_lfs_endpoint_follows_from_the_address(address: str, endpoint: str | None) -> None:
    assert source.own_lfs_endpoint(address) == endpoint


@pytest.mark.parametrize(
    ("content", "url"),
    [
        (
            b"[lfs]\n\turl = https://gitlab.com/a/b.git/info/lfs\n\tpushurl = ssh://git@gitlab.com/a/b.git\n",
            "https://gitlab.com/a/b.git/info/lfs",
        ),
        (b"[lfs]\nurl=ssh://git@example.com/a\n", None),
        (b"[core]\nx=1\n", None),
        (b"\xff\x00nonsense", None),
    ],
)
def test_the_lfs_configuration_is_read(content: bytes, url: str | None) -> None:
    assert source.parse_lfsconfig(content) == url


# ---- chunks ----


def chunk_routes(server: Server, pieces: list[bytes], wrap: Callable[[bytes], bytes] = bytes) -> None:
    for number, piece in enumerate(pieces, 1):
        server.routes[f"/big.onnx.chunk{number:02d}of{len(pieces):02d}"] = body(wrap(piece))


def test_chunks_are_joined_and_trailing_ones_may_be_empty(fetching: Fetching, server: Server) -> None:
    chunk_routes(server, [CONTENT[:100000], CONTENT[100000:200000], CONTENT[200000:], b""])
    server.routes["/big.onnx.chunkmanifest"] = body(b"4")
    fetching.succeeds(f"{server.address}/big.onnx", chunks=True)
    fetching.succeeds(f"{server.address}/big.onnx.chunkmanifest")


def test_a_declared_number_of_chunks_needs_no_manifest(fetching: Fetching, server: Server) -> None:
    chunk_routes(server, [CONTENT[:9], CONTENT[9:]])
    fetching.succeeds(f"{server.address}/big.onnx", chunks=2)


def test_chunks_in_a_local_folder_are_joined(fetching: Fetching, tmp_path: Path) -> None:
    (tmp_path / "big.onnx.chunkmanifest").write_text("2\n")
    (tmp_path / "big.onnx.chunk01of02").write_bytes(CONTENT[:1000])
    (tmp_path / "big.onnx.chunk02of02").write_bytes(CONTENT[1000:])
    fetching.succeeds((tmp_path / "big.onnx").as_uri(), chunks=True)


def test_chunks_that_are_pointers_are_resolved(fetching: Fetching, server: Server) -> None:
    pieces = [CONTENT[:100000], CONTENT[100000:]]
    chunk_routes(server, pieces, pointer_to)
    server.routes["/big.onnx.chunkmanifest"] = body(b"2")
    server.routes["/store/objects/batch"] = in_turn(*(lfs_batch(f"{server.address}/{n}") for n in range(2)))
    server.routes.update({f"/{n}": body(piece) for n, piece in enumerate(pieces)})
    fetching.succeeds(f"{server.address}/big.onnx", chunks=True, lfs=[f"{server.address}/store"])


def test_a_chunk_that_breaks_off_is_fetched_again_alone(fetching: Fetching, server: Server) -> None:
    server.routes["/big.onnx.chunk01of02"] = body(CONTENT[:100000])
    rest = CONTENT[100000:]
    server.routes["/big.onnx.chunk02of02"] = in_turn(body(rest[:50], len(rest)), body(rest))
    fetching.succeeds(f"{server.address}/big.onnx", chunks=2)
    assert server.paths().count("/big.onnx.chunk01of02") == 1


@pytest.mark.parametrize("manifest", [b"", b"zero", b"0", b"1000", b"-1", b"9" * 5000], ids=label)
def test_a_senseless_manifest_is_refused(fetching: Fetching, server: Server, manifest: bytes) -> None:
    server.routes["/big.onnx.chunkmanifest"] = body(manifest)
    assert "chunks" in fetching.fails(f"{server.address}/big.onnx", chunks=True)


def test_a_missing_chunk_is_refused(fetching: Fetching, server: Server) -> None:
    chunk_routes(server, [CONTENT[:9], CONTENT[9:]])
    del server.routes["/big.onnx.chunk02of02"]
    assert "HTTP 404" in fetching.fails(f"{server.address}/big.onnx", chunks=2)


def declaration(**fields: Any) -> source.Declaration:
    request = {"target": TARGET, "sha256": SHA256, "size": len(CONTENT), "url": None, "output": "model.onnx", **fields}
    return source.Declaration.from_request(request)
