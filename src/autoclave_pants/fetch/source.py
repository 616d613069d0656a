"""Fetch one declared ONNX file: `python source.py request.json`.

A standalone script for any Python from 3.9 on, with the standard library only: Pants runs it with its own interpreter,
as the only action of a model's build that has the network. It writes the declared file or nothing: size and sha256 are
verified while the bytes stream into a temporary file, which is renamed at the end.

The request is a JSON object:

    target      address of the target, for messages
    sha256      hex digest of the whole file
    size        its length in bytes; never more is read
    url         https://, hf://, file://, or absent for mirrors alone; http:// only for this machine or with `allow_http`
    mirrors     folders, or http(s)://, hf:// and file:// prefixes, in which files are named by their sha256
    chunks      true if the address is stored in pieces beside `<address>.chunkmanifest`; a number if that is missing
    lfs         Git LFS endpoint, or a list of them; default: derived from the address
    output      where to write the file
    allow_http, deadline_seconds, timeout_seconds, attempts, retry_seconds     optional

Order: each mirror, those that the variable AUTOCLAVE_MIRRORS names (separated by commas), then the address. The
environment may hold HF_TOKEN, HF_ENDPOINT, SSL_CERT_FILE and the usual proxy variables. HF_TOKEN goes to the host of
HF_ENDPOINT and nowhere else. Exit code 2 with one message if there is no having the file.
"""

from __future__ import annotations

import configparser
import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

HF_ENDPOINT = "https://huggingface.co"
OPENPILOT_LFS = "commaai/openpilot-lfs"
"""The Hugging Face repository that holds the LFS objects of openpilot and most of its forks."""

LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
BLOCK_BYTES = 1 << 18
HEAD_BYTES = 1024
"""A Git LFS pointer is shorter than this; its specification says so."""
MAX_CHUNKS = 999
MAX_ANSWER_BYTES = 1 << 20
PROGRESS_SECONDS = 5.0
MAX_WAIT_SECONDS = 30.0
TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}
CERTIFICATE_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems keep their certificates; an interpreter built elsewhere may not know."""

LFS_POINTER = re.compile(
    rb"\Aversion https://(?:git-lfs|hawser)\.[^\n]+\n(?:[^\n]*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d{1,18})\s*\Z"
)
LFS_MEDIA_TYPE = "application/vnd.git-lfs+json"

LOOKS_LIKE = (
    (rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|head|body)", "an HTML page (of a login or an overview), not a file"),
    (rb"\s*(?:\xef\xbb\xbf)?\s*<\?xml", "an XML answer of a storage server, not a file"),
    (rb"\s*\{\s*\"", "JSON text, not a file"),
    (rb"PK\x03\x04", "a zip archive"),
    (rb"\x80[\x02-\x05]", "a Python pickle"),
)
"""Beginnings of answers that are no model, and what they are."""

HF_ADDRESS = re.compile(
    r"hf://(?:(?P<kind>models|datasets|spaces|buckets)/)?(?P<id>[^/@]+/[^/@]+)"
    r"(?:@(?P<revision>refs/(?:pr/\d+|convert/[^/]+)|[^/]+))?/(?P<path>.+)"
)

LFS_HOSTS = (
    (r"https://raw\.githubusercontent\.com/(?P<repo>[^/]+/[^/]+)/", "https://github.com/{repo}"),
    (r"(?P<base>https://github\.com)/(?P<repo>[^/]+/[^/]+)/(?:raw|blob|media)/", "{base}/{repo}"),
    (r"(?P<base>https?://[^/]+)/(?P<repo>(?:[^/]+/)+[^/]+)/-/(?:raw|blob)/", "{base}/{repo}"),
    (r"(?P<base>https?://[^/]+)/(?P<repo>(?:datasets/|spaces/)?[^/]+/[^/]+)/(?:resolve|raw|blob)/", "{base}/{repo}"),
)
"""Addresses of files in Git repositories -> the repository; its LFS endpoint is `<repository>.git/info/lfs`."""

REVISION_ROOTS = (
    r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[^/]+/",
    r"https://github\.com/[^/]+/[^/]+/raw/[^/]+/",
    r"https?://[^/]+/(?:[^/]+/)+-/raw/[^/]+/",
    r"https?://[^/]+/(?:datasets/|spaces/)?[^/]+/[^/]+/(?:resolve|raw)/[^/]+/",
)
"""Addresses of files in Git repositories -> the part that stands for the repository's top folder at one revision."""


T = TypeVar("T")


class FetchError(Exception):
    """The file cannot be had from here, and trying again will not help."""


class TransientError(FetchError):
    """The file could not be had this time; trying again may help, after `retry_after` seconds if the server said so."""

    def __init__(self, problem: str, retry_after: float | None = None) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class AbsentError(FetchError):
    """There is no such file at this place."""


@dataclass(frozen=True)
class LfsPointer:
    """What a Git LFS pointer file says: the object's sha256 (hex) and size in bytes."""

    oid: str
    size: int


class PointerFound(Exception):
    """A Git LFS pointer came where content was expected."""

    def __init__(self, pointer: LfsPointer) -> None:
        super().__init__(f"a Git LFS pointer to sha256:{pointer.oid}, size {pointer.size}")
        self.pointer = pointer


@dataclass(frozen=True)
class Declaration:
    """What is wanted, and how hard to try."""

    target: str
    sha256: str
    size: int
    url: str | None
    mirrors: tuple[str, ...]
    output: Path
    chunks: bool | int = False
    lfs: tuple[str, ...] = ()
    allow_http: bool = False
    deadline_seconds: float = 3600.0
    timeout_seconds: float = 30.0
    attempts: int = 4
    retry_seconds: float = 1.0

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> Declaration:
        """Read a request; raises `FetchError` for one that makes no sense."""
        sha256, size = str(request.get("sha256", "")).lower(), request.get("size")
        target = str(request.get("target", "(unnamed)"))
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise FetchError(f"{target}: `sha256` is {sha256!r}, expected 64 hexadecimal digits")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise FetchError(f"{target}: `size` is {size!r}, expected the file's length in bytes")
        lfs = request.get("lfs") or ()
        optional = {name: request[name] for name in _OPTIONAL if request.get(name) is not None}
        return cls(
            target=target,
            sha256=sha256,
            size=size,
            url=request.get("url") or None,
            mirrors=tuple(request.get("mirrors") or ()),
            output=Path(request["output"]),
            chunks=request.get("chunks") or False,
            lfs=(lfs,) if isinstance(lfs, str) else tuple(lfs),
            **optional,
        )

    @property
    def expected(self) -> str:
        """The declared identity in words."""
        return f"{self.size} bytes with sha256 {self.sha256}"


_OPTIONAL = ("allow_http", "deadline_seconds", "timeout_seconds", "attempts", "retry_seconds")


# ---- from a request to a file ----


def fetch(declaration: Declaration, environment: Mapping[str, str]) -> str:
    """Bring the declared file to its output; returns where it came from.

    Raises `FetchError` with one message that names the target, the address, what was expected, what came, and what to
    do.
    """
    web = Web(declaration, environment)
    tried = []
    for mirror in declaration.mirrors:
        address = f"{mirror.rstrip('/')}/{declaration.sha256}"
        try:
            _download(declaration, web, address, [_mirrored(web, address)])
            return address
        except AbsentError:
            tried.append(f"{shown(address)}: not there")
        except (FetchError, PointerFound) as error:
            tried.append(f"{shown(address)}: {error}")
            say(f"mirror passed over: {tried[-1]}")
    try:
        if declaration.url is None:
            raise FetchError("no address is declared")
        _download(declaration, web, declaration.url, _pieces(declaration, web, declaration.url))
        return declaration.url
    except (FetchError, PointerFound) as error:
        raise FetchError(_failure_message(declaration, error, tried)) from error


def _failure_message(declaration: Declaration, error: Exception, tried: Sequence[str]) -> str:
    address = shown(declaration.url) if declaration.url else "its mirrors"
    mirrors = f" Mirrors: {'; '.join(tried)}." if tried else ""
    return (
        f"{declaration.target}: cannot fetch {address}: expected {declaration.expected}; {error}.{mirrors} "
        f"Or put the file into a mirror folder ([autoclave].mirrors) under the name {declaration.sha256}."
    )


@dataclass(frozen=True)
class Piece:
    """A stretch of the wanted file that one address holds.

    `pointer` is set if the address's content is known by hash and size, as an LFS object's is.
    """

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)
    pointer: LfsPointer | None = None
    follow_pointers: bool = True
    attempts: int | None = None


def _mirrored(web: Web, address: str) -> Piece:
    """The whole file in a mirror: there is a next place to look, so a dead one is not tried for long."""
    return Piece(web.resolve(address, mirror=True), follow_pointers=False, attempts=2)


def _pieces(declaration: Declaration, web: Web, address: str) -> list[Piece]:
    """The pieces of a declared address: one, or those that its chunk manifest counts."""
    suffix = ".chunkmanifest"
    if not declaration.chunks and not address.endswith(suffix):
        return [Piece(web.resolve(address))]
    base = address[: -len(suffix)] if address.endswith(suffix) else address
    count = declaration.chunks
    if count is True or not count:
        count = _read_manifest(web, base + suffix)
    if not 1 <= count <= MAX_CHUNKS:
        raise FetchError(f"it is said to have {count} chunks, expected 1 to {MAX_CHUNKS}")
    return [Piece(web.resolve(f"{base}.chunk{number:02d}of{count:02d}")) for number in range(1, count + 1)]


def _read_manifest(web: Web, address: str) -> int:
    content = web.read_small(web.resolve(address))
    if not re.fullmatch(rb"\s*\d{1,4}\s*", content):
        raise FetchError(f"{shown(address)}: expected the number of chunks, came {content[:60]!r}")
    return int(content)


def _download(declaration: Declaration, web: Web, origin: str, pieces: Iterable[Piece]) -> None:
    """Stream the pieces, one after another, into the output; verify; rename."""
    output = declaration.output
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            sink = Sink(file, declaration)
            for piece in pieces:
                _receive(declaration, web, origin, piece, sink)
            sink.finish()
            file.flush()
            os.fsync(file.fileno())
        os.replace(str(temporary), str(output))
    except OSError as error:
        raise FetchError(f"{output} cannot be written: {error.strerror}") from error
    finally:
        if temporary.exists():
            temporary.unlink()


def _receive(declaration: Declaration, web: Web, origin: str, piece: Piece, sink: Sink) -> None:
    """Stream one piece into the sink, through the LFS server if a pointer came."""
    try:
        _receive_with_retries(web, piece, sink)
    except PointerFound as found:
        if not piece.follow_pointers:
            raise
        _check_pointer(declaration, found.pointer)
        _receive_object(declaration, web, origin, found.pointer, sink)


def _receive_with_retries(web: Web, piece: Piece, sink: Sink) -> None:
    mark = sink.mark()
    web.with_retries(piece.address, lambda: _receive_once(web, piece, sink, mark), piece.attempts)


def _receive_once(web: Web, piece: Piece, sink: Sink, mark: SinkMark) -> None:
    """One attempt, which continues where the last one broke off if the server can."""
    received = sink.total - mark.total
    with closing(web.open(piece.address, piece.headers, start=received)) as answer:
        if not answer.partial:
            sink.rewind(mark)
        for block in answer.blocks() if answer.partial else _inspected(answer.blocks()):
            sink.expect(mark, answer.length)
            sink.write(block)
        received = sink.total - mark.total
        if answer.length is not None and received < answer.length:
            raise TransientError(f"the connection ended after {received} of {answer.length} bytes")
    if piece.pointer and received != piece.pointer.size:
        raise FetchError(
            f"the LFS object {piece.pointer.oid} came with {received} bytes, expected {piece.pointer.size}"
        )


def _inspected(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Pass blocks through, but look at the first `HEAD_BYTES` before any of them."""
    head: bytes | None = b""
    for block in blocks:
        if head is None:
            yield block
            continue
        head += block
        if len(head) >= HEAD_BYTES:
            _inspect_head(head)
            yield head
            head = None
    if head:
        _inspect_head(head, complete=True)
        yield head


def _inspect_head(head: bytes, complete: bool = False) -> None:
    """Refuse what evidently is no model; raises `PointerFound` or `FetchError`."""
    pointer = parse_pointer(head) if complete else None
    if pointer:
        raise PointerFound(pointer)
    for pattern, kind in LOOKS_LIKE:
        if re.match(pattern, head, re.IGNORECASE):
            raise FetchError(f"came {kind}; it begins with {head[:60]!r}")


@dataclass(frozen=True)
class SinkMark:
    """A place in a sink to which it can go back."""

    total: int
    digest: Any


class Sink:
    """The temporary file: counts, hashes, and never takes more than the declared size."""

    def __init__(self, file: BinaryIO, declaration: Declaration) -> None:
        self.total = 0
        self._file = file
        self._declaration = declaration
        self._digest = hashlib.sha256()
        self._said = time.monotonic()

    def write(self, block: bytes) -> None:
        """Take a block. Raises `FetchError` once there is more than was declared."""
        size = self._declaration.size
        if self.total + len(block) > size:
            raise FetchError(f"came more than {size} bytes: another version of the file, or not the file")
        self._file.write(block)
        self._digest.update(block)
        self.total += len(block)
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            say(f"{self._declaration.target}: {self.total >> 20} of {size >> 20} MiB")

    def expect(self, mark: SinkMark, length: int | None) -> None:
        """Refuse a piece that began at `mark` and says to have more bytes than are declared."""
        if length is not None and mark.total + length > self._declaration.size:
            raise FetchError(f"come {mark.total + length} bytes or more: another version of the file, or not the file")

    def mark(self) -> SinkMark:
        """Remember the present place."""
        return SinkMark(self.total, self._digest.copy())

    def rewind(self, mark: SinkMark) -> None:
        """Go back to `mark`, forgetting what came after."""
        self._file.seek(mark.total)
        self._file.truncate()
        self.total, self._digest = mark.total, mark.digest.copy()

    def finish(self) -> None:
        """Raises `FetchError` unless what came is what was declared."""
        size, sha256 = self._declaration.size, self._declaration.sha256
        if self.total != size:
            raise FetchError(f"came {self.total} bytes: the file there is truncated, or another version")
        if self._digest.hexdigest() != sha256:
            raise FetchError(
                f"came sha256 {self._digest.hexdigest()}: the file there was changed, or the hash is wrong"
            )


# ---- Git LFS (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md) ----


def parse_pointer(content: bytes) -> LfsPointer | None:
    """What a Git LFS pointer file says, or `None` if `content` is none."""
    match = LFS_POINTER.match(content)
    return LfsPointer(match[1].decode(), int(match[2])) if match else None


def _check_pointer(declaration: Declaration, pointer: LfsPointer) -> None:
    """A pointer to the whole file must be to the declared one; a chunk's hash is not declared."""
    is_whole = not declaration.chunks and not str(declaration.url).endswith(".chunkmanifest")
    declared = LfsPointer(declaration.sha256, declaration.size)
    if pointer.size > declaration.size or (is_whole and pointer != declared):
        raise FetchError(
            f"came a Git LFS pointer to another file (oid sha256:{pointer.oid}, size {pointer.size}): "
            "correct `sha256=` and `size=`, or the revision in the address"
        )


def _receive_object(declaration: Declaration, web: Web, origin: str, pointer: LfsPointer, sink: Sink) -> None:
    """Stream an LFS object from the first endpoint that has it."""
    endpoints = declaration.lfs or tuple(lfs_endpoints(web, web.resolve(origin)))
    problems = []
    for endpoint in endpoints:
        mark = sink.mark()
        try:
            _receive_with_retries(web, _lfs_piece(web, endpoint, pointer), sink)
            return
        except FetchError as error:
            sink.rewind(mark)
            problems.append(f"{shown(endpoint)}: {error}")
    tried = "; ".join(problems) or "no LFS server is known for this address"
    raise FetchError(
        f"came a Git LFS pointer (oid sha256:{pointer.oid}, size {pointer.size}), and its object cannot be had ({tried}): "
        "name the LFS endpoint in `lfs=`"
    )


def lfs_endpoints(web: Web, address: str) -> Iterator[str]:
    """The LFS endpoints that may have the object of a pointer at `address`, the likeliest first.

    What the repository's .lfsconfig says, the repository's own, and the one that openpilot's family shares.
    """
    seen = set()
    for endpoint in (_configured_endpoint(web, address), own_lfs_endpoint(address), web.openpilot_lfs):
        if endpoint and endpoint not in seen and web.allows(endpoint):
            seen.add(endpoint)
            yield endpoint


def own_lfs_endpoint(address: str) -> str | None:
    """The LFS endpoint of the Git repository that a file's address belongs to, if it can be told."""
    for pattern, repository in LFS_HOSTS:
        match = re.match(pattern, address)
        if match:
            return repository.format(**match.groupdict()) + ".git/info/lfs"
    return None


def _configured_endpoint(web: Web, address: str) -> str | None:
    """What .lfsconfig of the address's repository and revision names as LFS server."""
    for pattern in REVISION_ROOTS:
        match = re.match(pattern, address)
        if not match:
            continue
        try:
            return parse_lfsconfig(web.read_small(match[0] + ".lfsconfig"))
        except FetchError:
            return None
    return None


def parse_lfsconfig(content: bytes) -> str | None:
    """The address of the LFS server in a .lfsconfig file, if it is one of http(s)."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    try:
        parser.read_string("\n".join(lines))
        url = parser.get("lfs", "url", fallback=None)
    except configparser.Error:
        return None
    return url.rstrip("/") if url and re.match(r"https?://", url) else None


def _lfs_piece(web: Web, endpoint: str, pointer: LfsPointer) -> Piece:
    """Ask an LFS server where an object is."""
    question = {
        "operation": "download",
        "transfers": ["basic"],
        "objects": [{"oid": pointer.oid, "size": pointer.size}],
        "hash_algo": "sha256",
    }
    batch = web.allowed(endpoint.rstrip("/") + "/objects/batch")
    answer = web.read_small(batch, json.dumps(question).encode(), LFS_MEDIA_TYPE)
    try:
        item = json.loads(answer)["objects"][0]
        if "error" in item:
            raise FetchError(f"the LFS server says {item['error'].get('code')}: {item['error'].get('message')}")
        action = item["actions"]["download"]
        headers = {str(name): str(value) for name, value in (action.get("header") or {}).items()}
        return Piece(web.allowed(str(action["href"]), coming_from=endpoint), headers, pointer)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise FetchError(f"the LFS server's answer makes no sense: {answer[:120]!r}") from None


# ---- the network ----


class Answer:
    """What came for an address: its length in bytes if known, and its blocks.

    `partial` says that the blocks begin where they were asked to, not at the beginning; `length` counts from the
    beginning.
    """

    def __init__(self, stream: Any, left: int | None, start: int, deadline: float) -> None:
        self.length = None if left is None else start + left
        self.partial = start > 0
        self._left = left
        self._stream = stream
        self._deadline = deadline

    def blocks(self) -> Iterator[bytes]:
        """Yield the content. Raises `TransientError` if the connection breaks, `FetchError` past the deadline."""
        left = self._left
        while left is None or left > 0:
            if time.monotonic() > self._deadline:
                raise FetchError("the deadline passed while it was being received")
            try:
                block = self._stream.read1(BLOCK_BYTES if left is None else min(left, BLOCK_BYTES))
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise TransientError(f"the connection broke: {_reason(error)}") from error
            if not block:
                return
            left = None if left is None else left - len(block)
            yield block

    def close(self) -> None:
        """Give the connection back."""
        self._stream.close()


class Redirects(HTTPRedirectHandler):
    """Follow redirects to http(s) only; headers that the first server was sent for itself alone stay behind."""

    max_redirections = 8
    http_error_308 = HTTPRedirectHandler.http_error_302  # unknown to Python before 3.11

    def __init__(self, web: Web) -> None:
        self._web = web

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        """The next request: without the first one's credentials, with those of the new host."""
        self._web.allowed(newurl, coming_from=req.full_url)
        following = super().redirect_request(req, fp, 307 if code == 308 else code, msg, headers, newurl)
        if following is not None:
            for name, value in self._web.credentials(newurl).items():
                following.add_unredirected_header(name, value)
        return following


class Web:
    """Opens addresses within the rules: which schemes, which credentials for whom, how often, how long."""

    def __init__(self, declaration: Declaration, environment: Mapping[str, str]) -> None:
        self._declaration = declaration
        self._token = environment.get("HF_TOKEN", "").strip()
        self._endpoint = (environment.get("HF_ENDPOINT") or HF_ENDPOINT).rstrip("/")
        self._deadline = time.monotonic() + declaration.deadline_seconds
        self._opener: OpenerDirector | None = None

    @property
    def openpilot_lfs(self) -> str:
        """The LFS endpoint that openpilot's family shares."""
        return f"{self._endpoint}/{OPENPILOT_LFS}.git/info/lfs"

    def resolve(self, address: str, mirror: bool = False) -> str:
        """Turn a declared address into one that can be opened: http(s):// or file://.

        Raises `FetchError` for an address of no known kind, or one that would go unencrypted over a network. A mirror
        may: whoever configures one has said so, and the hash is checked all the same.
        """
        if address.startswith("hf://"):
            return self.allowed(resolve_hf(address, self._endpoint))
        if "://" not in address:
            if not mirror:
                raise FetchError(f"{address!r} is no address: expected https://, hf:// or file://")
            return Path(address).absolute().as_uri()
        return address if mirror and address.startswith("http://") else self.allowed(address)

    def allows(self, address: str) -> bool:
        """Whether `allowed` would let `address` pass."""
        try:
            return bool(self.allowed(address))
        except FetchError:
            return False

    def allowed(self, address: str, coming_from: str = "") -> str:
        """Return `address` if its scheme is one of those that may be opened, else raise `FetchError`."""
        try:
            parts = urlsplit(address)
        except ValueError as error:
            raise FetchError(f"{shown(address)} is no address: {error}") from None
        local = parts.hostname in LOCAL_HOSTS
        if parts.scheme == "file" and coming_from:
            raise FetchError(f"{shown(coming_from)} sends to a local file, which is refused")
        if parts.scheme == "https" or (parts.scheme == "file" and (local or not parts.netloc)):
            return address
        if parts.scheme == "http":
            if local or self._declaration.allow_http or coming_from.startswith("http://"):
                return address
            raise FetchError(f"{shown(address)} is not encrypted: use https://, or set allow_http")
        raise FetchError(f"{shown(address)} is of an unknown kind: expected https://, hf:// or file://")

    def credentials(self, address: str) -> dict[str, str]:
        """The headers that prove to `address` who asks: HF_TOKEN for the host of HF_ENDPOINT, encrypted or local."""
        parts, endpoint = urlsplit(address), urlsplit(self._endpoint)
        safe = parts.scheme == "https" or parts.hostname in LOCAL_HOSTS
        same = (parts.scheme, parts.netloc) == (endpoint.scheme, endpoint.netloc)
        return {"Authorization": f"Bearer {self._token}"} if self._token and safe and same else {}

    def open(
        self,
        address: str,
        headers: Mapping[str, str] | None = None,
        start: int = 0,
        body: bytes | None = None,
        media_type: str | None = None,
    ) -> Answer:
        """Open an address, from byte `start` on if the server can; raises `AbsentError`, `TransientError`, `FetchError`."""
        if address.startswith("file:"):
            return self._open_file(address)
        request = Request(address, data=body, method="POST" if body else "GET")
        request.add_header("User-Agent", "autoclave")
        request.add_header("Accept-Encoding", "identity")
        if start:
            request.add_header("Range", f"bytes={start}-")
        if media_type:
            request.add_header("Accept", media_type)
            request.add_header("Content-Type", media_type)
        for name, value in {**self.credentials(address), **(headers or {})}.items():
            request.add_unredirected_header(name, value)
        return self._answer(request, start)

    def _answer(self, request: Request, start: int) -> Answer:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise FetchError("the deadline passed")
        if self._opener is None:
            self._opener = build_opener(HTTPSHandler(context=_tls_context()), Redirects(self))
        try:
            response = self._opener.open(request, timeout=min(self._declaration.timeout_seconds, left))
        except HTTPError as error:
            raise self._status_error(error, request) from error
        except (URLError, OSError, http.client.HTTPException) as error:
            raise _connection_error(error) from error
        except ValueError as error:  # of an address or a header that cannot be sent
            raise FetchError(f"{shown(request.full_url)} cannot be asked for: {error}") from error
        partial = response.status == 206 and _content_start(response) == start
        length = response.headers.get("Content-Length", "")
        return Answer(response, int(length) if length.isdecimal() else None, start if partial else 0, self._deadline)

    def _open_file(self, address: str) -> Answer:
        path = Path(unquote(urlsplit(address).path))
        try:
            file = path.open("rb")
            return Answer(file, os.fstat(file.fileno()).st_size, 0, self._deadline)
        except FileNotFoundError:
            raise AbsentError(f"there is no file {path}") from None
        except OSError as error:
            raise FetchError(f"{path} cannot be read: {error.strerror}") from error

    def _status_error(self, error: HTTPError, request: Request) -> FetchError:
        status = error.code
        place = f"HTTP {status} {error.reason} from {urlsplit(error.url or request.full_url).netloc}"
        error.close()
        if status in TRANSIENT_STATUS:
            return TransientError(f"came {place}", _seconds(error.headers.get("Retry-After")))
        if status in (401, 403):
            is_hf = urlsplit(request.full_url).netloc == urlsplit(self._endpoint).netloc
            cure = "set HF_TOKEN to a token that may read it" if is_hf and not self._token else "access is refused"
            return FetchError(f"came {place}: {cure}")
        if status in (404, 410):
            return AbsentError(f"came {place}: there is no such file, check the address and its revision")
        return FetchError(f"came {place}")

    def read_small(self, address: str, body: bytes | None = None, media_type: str | None = None) -> bytes:
        """The whole content of a small answer; raises `FetchError` if it is not small."""

        def attempt() -> bytes:
            with closing(self.open(address, body=body, media_type=media_type)) as answer:
                content = b""
                for block in answer.blocks():
                    content += block
                    if len(content) > MAX_ANSWER_BYTES:
                        raise FetchError(
                            f"{shown(address)} has more than {MAX_ANSWER_BYTES} bytes, expected a short text"
                        )
                return content

        return self.with_retries(address, attempt)

    def with_retries(self, address: str, attempt: Callable[[], T], limit: int | None = None) -> T:
        """Call `attempt` until it succeeds, fails for good, or has failed as often as declared, or `limit` times."""
        attempts = max(1, min(limit or self._declaration.attempts, self._declaration.attempts))
        for number in range(1, attempts + 1):
            try:
                return attempt()
            except TransientError as error:
                wait = error.retry_after or self._declaration.retry_seconds * 2 ** (number - 1)
                if number == attempts:
                    raise FetchError(f"{error}, at the last of {attempts} attempts") from error
                if time.monotonic() + wait > self._deadline:
                    raise FetchError(f"{error}, and the deadline leaves no time for another attempt") from error
                say(f"{shown(address)}: {error}; trying again ({number + 1} of {attempts})")
                time.sleep(min(wait, MAX_WAIT_SECONDS))
        raise AssertionError("unreachable")


def resolve_hf(address: str, endpoint: str) -> str:
    """The web address of `hf://[models/|datasets/|spaces/|buckets/]NAMESPACE/NAME[@REVISION]/PATH`.

    The revision defaults to main; buckets have none. Raises `FetchError` for anything else.
    """
    match = HF_ADDRESS.fullmatch(address)
    if not match:
        raise FetchError(
            f"{address!r}: expected hf://datasets/NAMESPACE/NAME@REVISION/PATH, "
            "hf://buckets/NAMESPACE/NAME/PATH or hf://NAMESPACE/NAME/PATH"
        )
    kind, revision = match["kind"] or "models", match["revision"]
    identity, path = quote(match["id"]), quote(match["path"])
    if kind == "buckets":
        if revision:
            raise FetchError(f"{address!r}: buckets have no revisions, remove @{revision}")
        return f"{endpoint}/buckets/{identity}/resolve/{path}"
    prefix = "" if kind == "models" else f"{kind}/"
    return f"{endpoint}/{prefix}{identity}/resolve/{quote(unquote(revision or 'main'), safe='')}/{path}"


def shown(address: str) -> str:
    """An address as messages show it: without user, password and query, which may hold secrets."""
    if "://" not in address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.partition("?")[0].rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _tls_context() -> ssl.SSLContext:
    """The default context; with the system's certificates where the interpreter does not know where they are."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if paths.cafile is None and paths.capath is None:
        for bundle in CERTIFICATE_BUNDLES:
            if os.path.exists(bundle):
                context.load_verify_locations(bundle)
                break
    return context


def _connection_error(error: Exception) -> FetchError:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return FetchError(f"the server's certificate is not trusted ({reason.verify_message}): set SSL_CERT_FILE")
    return TransientError(f"no connection: {_reason(error)}")


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    if isinstance(reason, (socket.timeout, TimeoutError)):
        return "it timed out"
    return str(reason) or type(reason).__name__


def _content_start(response: Any) -> int | None:
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range") or "")
    return int(match[1]) if match else None


def _seconds(text: str | None) -> float | None:
    return min(float(text), MAX_WAIT_SECONDS) if text and text.isdecimal() else None


def say(message: str) -> None:
    """Tell the user how it goes."""
    print(message, file=sys.stderr, flush=True)


def _read_declaration(path: Path) -> Declaration:
    try:
        request = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FetchError(f"{path}: the request is not JSON: {error}") from error
    if not isinstance(request, dict) or not request.get("output"):
        raise FetchError(f"{path}: the request has no `output`")
    return Declaration.from_request(request)


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the script; returns its exit code."""
    if len(arguments) != 1:
        say("usage: source.py REQUEST.json")
        return 2
    try:
        declaration = _read_declaration(Path(arguments[0]))
        extra = filter(None, environment.get("AUTOCLAVE_MIRRORS", "").split(","))
        declaration = replace(declaration, mirrors=(*declaration.mirrors, *extra))
        origin = fetch(declaration, environment)
    except (FetchError, OSError) as error:
        token = environment.get("HF_TOKEN", "").strip()
        message = f"error: {error}"
        say(message.replace(token, "***") if token else message)
        return 2
    say(f"{declaration.target}: {declaration.size} bytes from {shown(origin)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
