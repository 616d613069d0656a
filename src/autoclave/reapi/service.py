"""What a server does when it is asked as Pants asks it: capabilities, instance, rights, round trips."""

import os
import secrets
import time
from collections.abc import Iterator

from autoclave.reapi import messages as api
from autoclave.reapi.capabilities import judge_capabilities, judge_clock
from autoclave.reapi.client import ActionResult, Client, Digest, RemoteError
from autoclave.reapi.findings import Finding, failed, ok, option, skipped, warning
from autoclave.reapi.settings import MIB, Settings

LARGE = 8 * MIB
"""Bytes of the large blob: several messages, as an artifact is."""

USUAL_INSTANCES = ("", "main", "default", "remote-execution")
"""Names to try where the configured one is wrong, so that the finding can say a right one."""

NO_SERVER = ("DEADLINE_EXCEEDED", "UNAVAILABLE")
"""Status names after which asking on makes no sense."""

REFUSALS = ("INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "UNAUTHENTICATED", "PERMISSION_DENIED")
"""Status names with which servers answer for an instance that they do not have, or that the token has no right to."""

LOSES = "the server loses or changes what it is given: see its log, its disk and its quota"

NOT_NESTED = (
    "a result with a file came back; of one with a directory in a directory the server says that it has none, because Pants uploads "
    "the tree but not each directory: such results are made anew in every checkout"
)
NOTHING_TO_SET = "there is nothing to set; casd is such a server (seen with 1.4.16). Autoclave is not concerned: all of its results are flat. A plugin's may not be"

TOKEN = "remote_oauth_bearer_token_path (PANTS_REMOTE_OAUTH_BEARER_TOKEN_PATH)"
REMEDIES = {
    "UNAUTHENTICATED": f"the server wants a token that it knows and that has not ended: {TOKEN}",
    "PERMISSION_DENIED": f"give the token's subject this right in the server's access list, or use another token: {TOKEN}",
    "DEADLINE_EXCEEDED": "see whether the server is frozen or overloaded, and start it anew",
    "UNAVAILABLE": "see the server's log; start it anew",
    "UNIMPLEMENTED": "remote_store_address (PANTS_REMOTE_STORE_ADDRESS) has to lead to a server of the Remote Execution API v2",
    "RESOURCE_EXHAUSTED": "free space on the server's disk, raise its quota, or its limit of message sizes",
}
"""What to do, by a status's name."""


def remedy(error: RemoteError) -> str:
    """What to do about a failed call."""
    return REMEDIES.get(error.code, "see the server's log for this call")


def said(error: RemoteError) -> str:
    """What a failed call gave."""
    return f"{error.call}: {error.code}" + (f": {error.details}" if error.details else "")


class Service:
    """The checks of one server. Each gives findings; one that shows that nothing answers sets `gone`.

    `patience`: seconds that the large blob may take, each way.
    """

    def __init__(self, client: Client, settings: Settings, patience: float) -> None:
        self.client, self.settings, self.patience = client, settings, patience
        self.gone = False
        self.may_write = False
        self.small = f"autoclave cache-doctor {secrets.token_hex(16)}\n".encode()

    def failure(self, check: str, error: RemoteError, fix: str = "") -> Finding:
        """The finding for a failed call."""
        self.gone = self.gone or error.code in NO_SERVER
        return failed(check, said(error), fix or remedy(error))

    def capabilities(self) -> Iterator[Finding]:
        """What the server says it can, and its clock."""
        try:
            can = self.client.capabilities()
        except RemoteError as error:
            yield self._not_served("capabilities", error)
            return
        yield judge_capabilities(can, self.settings)
        yield judge_clock(can.server_time, time.time())

    def instance(self) -> Iterator[Finding]:
        """Whether the server has the instance, by the first call that Pants would make."""
        try:
            self.client.missing([Digest.of(self.small)])
        except RemoteError as error:
            yield self._not_served("instance", error)
            return
        yield ok("instance", f"the server answers for {self._instance()}")

    def _not_served(self, check: str, error: RemoteError) -> Finding:
        """The finding for a server that answers nothing: for want of a right, or because the instance is another."""
        self.gone = True
        others = []
        if error.code in REFUSALS:
            tried = (each for each in USUAL_INSTANCES if each != self.client.instance)
            others = [each for each in tried if _answers(self.client.for_instance(each))]
        if others:
            fix = f"the server answers for {others[0]!r}: {option('remote_instance_name', others[0])}"
        elif "instance" in error.details.lower():
            fix = "write the name that the server's configuration has into remote_instance_name (PANTS_REMOTE_INSTANCE_NAME)"
        else:
            return self.failure(check, error)
        return failed("instance", f"{self._instance()}: {said(error)}", fix)

    def _instance(self) -> str:
        return f"the instance {self.client.instance!r}" if self.client.instance else "no instance name"

    def reading(self) -> Iterator[Finding]:
        """Whether blobs and action results may be read, and how fast an answer comes."""
        check = "read right"
        try:
            self.client.missing([Digest.of(self.small)])
            begun = time.monotonic()
            self.client.action_result(Digest.of(self.small))
            millis = (time.monotonic() - begun) * 1000
        except RemoteError as error:
            yield self.failure(check, error)
            return
        limit = self.settings.remote_cache_rpc_timeout_millis
        seen = f"may read; an answer takes {millis:.0f} ms of the {limit} ms that Pants waits for"
        if millis > limit / 2:
            yield warning(check, seen, option("remote_cache_rpc_timeout_millis", str(max(4 * round(millis), limit))))
        else:
            yield ok(check, seen)

    def writing(self) -> Iterator[Finding]:
        """Whether blobs may be written, and whether that is what the options say."""
        check, meant = "write right", self.settings.remote_cache_write or self.settings.remote_execution
        try:
            self.client.upload([self.small])
        except RemoteError as error:
            denied = error.code in ("PERMISSION_DENIED", "UNAUTHENTICATED")
            if denied and not meant:
                yield ok(check, f"may not write ({error.code}), as is meant: remote_cache_write = false")
            elif denied:
                no = option("remote_cache_write", "false")
                yield self.failure(
                    check, error, f"who only reads sets {no}; who writes needs a token that may: {TOKEN}"
                )
            else:
                yield self.failure(check, error)
            return
        self.may_write = True
        if meant:
            yield ok(check, "may write")
        else:
            seen = "may write, though remote_cache_write = false: Pants writes nothing, but anybody with these settings could"
            yield warning(check, seen, "give those who only read a token, or a server, that only lets them read")

    def small_blob(self) -> Iterator[Finding]:
        """A blob of one call, up and down."""
        check = "small blob"
        if not self.may_write:
            yield skipped(check, "needs the right to write")
            return
        digest = Digest.of(self.small)
        try:
            missing = self.client.missing([digest])
            back = self.client.download(digest)
        except RemoteError as error:
            yield self.failure(check, error)
            return
        if missing or back != self.small:
            yield _lost(check, "does not have" if missing else "gave other bytes for", digest)
        else:
            yield ok(check, f"{digest.size} bytes went up and came back the same")

    def large_blob(self) -> Iterator[Finding]:
        """A blob of several messages, up and down."""
        check, chunk = "large blob", self.settings.remote_store_chunk_bytes
        if not (self.may_write and self._meant_to_write()):
            yield skipped(check, "needs the right to write, and remote_cache_write = true")
            return
        blob = os.urandom(LARGE)
        digest = Digest.of(blob)
        try:
            begun = time.monotonic()
            committed = self.client.stream_up(blob, max(1, chunk), self.patience)
            up = time.monotonic() - begun
            back = self.client.stream_down(digest, self.patience)
            down = time.monotonic() - begun - up
        except RemoteError as error:
            fix = f"{option('remote_store_chunk_bytes', str(MIB))}; {remedy(error)}" if chunk > MIB else ""
            yield self.failure(check, error, fix)
            return
        if committed != digest.size or back != blob:
            yield _lost(check, "gave other bytes for", digest)
        else:
            rates = f"up with {LARGE / MIB / up:.0f} MiB/s, down with {LARGE / MIB / down:.0f} MiB/s"
            yield ok(check, f"{LARGE // MIB} MiB in chunks of {chunk} bytes came back the same: {rates}")

    def action(self) -> Iterator[Finding]:
        """The results of actions that nobody else has, up and down: one with a file, one with a directory in a directory."""
        check = "action result"
        if not (self.may_write and self._meant_to_write()):
            yield skipped(check, "needs the right to write, and remote_cache_write = true")
            return
        small = Digest.of(self.small)
        inner = api.Directory(files=[{"name": small.hash, "digest": small.message()}])
        node = {"name": "inner", "digest": Digest.of(inner.SerializeToString()).message()}
        tree = api.Tree(root=api.Directory(directories=[node]), children=[inner]).SerializeToString()
        try:
            # As Pants does it: the tree, and none of its directories as a blob of its own.
            self.client.upload([tree])
            flat = self._kept(ActionResult(0, b"", (("out", small),)))
            nested = self._kept(ActionResult(0, b"", (), (("out", Digest.of(tree)),)))
        except RemoteError as error:
            yield self.failure(check, error)
            return
        if not flat:
            yield failed(check, "the server does not give back a result that it took", LOSES)
        elif not nested:
            yield warning(check, NOT_NESTED, NOTHING_TO_SET)
        else:
            yield ok(check, "went up and came back the same, with a file and with directories")

    def _kept(self, result: ActionResult) -> bool:
        """Whether the server gives back the result of an action that it has been given."""
        command = api.Command(arguments=["autoclave-cache-doctor"], output_files=["out"]).SerializeToString()
        action = api.Action(
            command_digest=Digest.of(command).message(),
            input_root_digest=Digest.of(b"").message(),
            salt=self.small + bool(result.trees).to_bytes(),
        ).SerializeToString()
        self.client.upload([command, action, b""])
        self.client.update_action_result(Digest.of(action), result)
        return self.client.action_result(Digest.of(action)) == result

    def _meant_to_write(self) -> bool:
        return self.settings.remote_cache_write or self.settings.remote_execution


def _lost(check: str, what: str, digest: Digest) -> Finding:
    return failed(check, f"the server {what} {digest.hash[:16]} ({digest.size} bytes) after it took it", LOSES)


def _answers(client: Client) -> bool:
    try:
        client.missing([Digest.of(b"\n")])
    except RemoteError:
        return False
    return True
