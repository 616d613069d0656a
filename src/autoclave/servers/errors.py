"""What goes wrong with servers that a person or a test starts."""

from autoclave.errors import AutoclaveError


class ServerError(AutoclaveError):
    """A server's programs cannot be had, or it does not start or serve."""


class ProgramsUnavailable(ServerError):
    """This machine cannot have the programs: no Debian package client, no archive, no network."""
