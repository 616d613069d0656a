"""What Pants makes of its options for a remote cache before any rule runs, with two changes.

While `./pants cache-doctor` runs, Pants itself uses no remote cache: what the doctor examines must neither slow it down nor keep
Pants from starting, as a token file that cannot be read does. And where such a file keeps a build from starting, the error names
the option instead of being a traceback. Without this module Pants works the same, but for that.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from pants.option.errors import OptionsError
from pants.option.global_options import DynamicRemoteOptions

DOCTOR = "cache-doctor"
"""The goal's name."""


def guard_remote_options() -> None:
    """Make the two changes. Calling this again changes nothing."""
    _wrap(DynamicRemoteOptions, "from_options", off_for_the_doctor)


def _wrap(owner: object, name: str, wrapper: Callable[..., Any]) -> None:
    method = getattr(owner, name)
    if not hasattr(method, "__wrapped__"):
        setattr(owner, name, classmethod(wrapper(method)))


def off_for_the_doctor(load: Callable[..., Any]) -> Callable[..., Any]:
    """`load`, which is `DynamicRemoteOptions.from_options`, with the remote cache off for the doctor."""

    @wraps(load)
    def loading(cls: type[DynamicRemoteOptions], full_options: Any, *args: Any, **kwargs: Any) -> Any:
        if DOCTOR in full_options.goals:
            return cls.disabled(), None
        try:
            return load(full_options, *args, **kwargs)
        except OSError as error:
            path = full_options.bootstrap_option_values().remote_oauth_bearer_token_path
            raise OptionsError(
                f"The file {path} of [GLOBAL].remote_oauth_bearer_token_path (PANTS_REMOTE_OAUTH_BEARER_TOKEN_PATH) cannot be read: "
                f"{error.strerror}. Write the token there, or set neither the option nor the variable. `./pants {DOCTOR}` checks it."
            ) from None

    return loading
