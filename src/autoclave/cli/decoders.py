"""The decoders of instruction sets that lie in the emulators, for `autoclave.artifact.disassembly`, which imports none."""

from autoclave.artifact.disassembly.disassemble import Decoder, Decoders


def _gfx1200() -> Decoder:
    from autoclave.emulator.rdna4.disassembly import decode

    return decode


DECODERS: Decoders = {"gfx12": _gfx1200}
"""By how the architecture's name starts."""
