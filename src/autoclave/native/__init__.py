"""Running CPU artifacts without tinygrad: an ELF object loader, executable memory, and the launch list.

A CPU artifact is native code. Run it inside the sandbox only; `autoclave run` does.
"""
