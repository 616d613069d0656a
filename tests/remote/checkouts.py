"""Checkouts that share a server."""

from __future__ import annotations

from pathlib import Path

from e2e.workspaces import Workspace, copy_checkout, without_models

from autoclave.servers.buildgrid import PUBLIC, BuildGrid
from autoclave.servers.running import RunningServer


class Checkout(Workspace):
    """A copy of the checkout that knows how to name a server to its ./pants."""

    def options(
        self,
        server: RunningServer | BuildGrid,
        *,
        read: bool = True,
        write: bool = True,
        subject: str = "ci",
        token: Path | None = None,
    ) -> tuple[str, ...]:
        """Options of ./pants that make `server` its cache; `subject` or a `token` file count for BuildGrid only.

        Without a subject, no token is sent, and the instance is the one for anybody.
        """
        running = server.server if isinstance(server, BuildGrid) else server
        anybody = isinstance(server, BuildGrid) and not subject
        options = [
            f"--remote-cache-read={str(read).lower()}",
            f"--remote-cache-write={str(write).lower()}",
            f"--remote-store-address={running.address}",
            f"--remote-instance-name={PUBLIC if anybody else running.instance}",
        ]
        if isinstance(server, BuildGrid):
            options.append(f"--remote-ca-certs-path={server.ca}")
            if not anybody:
                options.append(f"--remote-oauth-bearer-token-path={token or server.token(subject)}")
        return tuple(options)


def new_checkout(place: Path, store: Path, models: bool = False) -> Checkout:
    """A fresh copy of the checkout in the new folder `place`; without its `models` unless they are asked for."""
    workspace = copy_checkout(place, store)
    if not models:
        without_models(workspace)
    return Checkout(workspace.root, workspace.store)
