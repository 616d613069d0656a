"""The bearer token: whether it is there, and what a JWT says of itself. Nothing here verifies a signature."""

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Any

from autoclave.errors import AutoclaveError
from autoclave.reapi.findings import Finding, failed, ok, option, warning
from autoclave.reapi.settings import Settings, absolute

CHECK = "token"
SOON = 1800
"""Seconds: a token that ends sooner may end in the middle of a build."""

NEW = "get a new token, and write it to the file that remote_oauth_bearer_token_path (PANTS_REMOTE_OAUTH_BEARER_TOKEN_PATH) names"


def read_token(settings: Settings) -> str:
    """The token of the settings, empty if none is configured.

    Raises `AutoclaveError` if the file cannot be read or is not one line, of which Pants makes an error before any build.
    """
    path = settings.remote_oauth_bearer_token_path
    if not path:
        return _in_headers(settings)
    where = f"the token file {path}"
    try:
        text = absolute(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise AutoclaveError(f"{where} cannot be read: {reason}") from None
    if not text or len(text.split()) != 1:
        raise AutoclaveError(f"{where} holds {'nothing' if not text else 'more than one word'}, not one token")
    return text


def _in_headers(settings: Settings) -> str:
    for key, value in settings.remote_store_headers.items():
        if key.lower() == "authorization" and value.startswith("Bearer "):
            return value.removeprefix("Bearer ")
    return ""


def claims(token: str) -> dict[str, Any] | None:
    """What a JWT claims, unverified; None for a token of another kind."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        found = json.loads(base64.urlsafe_b64decode(padded))
    except (binascii.Error, ValueError):
        return None
    return found if isinstance(found, dict) else None


def duration(seconds: float) -> str:
    """A time span for people, for example "2 h"."""
    for length, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def judge_token(token: str, now: float) -> Finding:
    """What the token says of itself. `now`: seconds since 1970."""
    if not token:
        return ok(CHECK, "none: the server is asked without a name")
    found = claims(token)
    if found is None:
        return ok(CHECK, "there is one, not a JWT, so that nothing shows when it ends")
    who = f"a JWT for {found['sub']}" if isinstance(found.get("sub"), str) else "a JWT that names no subject"
    ends = found.get("exp")
    if not isinstance(ends, int | float):
        return warning(CHECK, f"{who} without `exp`, which BuildGrid refuses", "have tokens issued with an end (`exp`)")
    when = datetime.fromtimestamp(ends, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if ends <= now:
        return failed(CHECK, f"{who} that ended at {when}, {duration(now - ends)} ago", NEW)
    begins = max((found[key] for key in ("nbf", "iat") if isinstance(found.get(key), int | float)), default=0)
    if begins > now:
        return warning(
            CHECK,
            f"{who} that begins {duration(begins - now)} from now, by this machine's clock",
            "set the clock right (timedatectl), or wait",
        )
    if ends - now < SOON:
        return warning(
            CHECK, f"{who} that ends in {duration(ends - now)}, at {when}: maybe in the middle of a build", NEW
        )
    return ok(CHECK, f"{who} that ends in {duration(ends - now)}, at {when}")


def missing_token(error: AutoclaveError) -> Finding:
    """The finding for a token that cannot be read."""
    remedy = (
        option("remote_oauth_bearer_token_path", "FILE") + " names a file of one line; without it, no token is sent"
    )
    return failed(CHECK, str(error), remedy)
