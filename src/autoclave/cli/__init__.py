"""The `autoclave` command: one module per command, named after it.

A command module defines NAME, HELP (one line), `configure(parser)` and `run(args) -> int`; heavy imports belong into
`run`.
"""

COMMANDS = ("inspect", "disasm", "diff", "verify", "run", "parity", "profile", "trace", "lock")
"""The commands' modules, in the order in which the help shows them."""
