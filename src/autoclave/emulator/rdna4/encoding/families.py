"""Which codec reads and writes which encoding."""

from collections.abc import Mapping

from autoclave.emulator.rdna4.encoding.accesses import GlobalMemory, LocalMemory, ScalarMemory
from autoclave.emulator.rdna4.encoding.codec import Codec
from autoclave.emulator.rdna4.encoding.packing import Packed
from autoclave.emulator.rdna4.encoding.pairs import Dual
from autoclave.emulator.rdna4.encoding.scalar import ScalarImmediate, ScalarOperation
from autoclave.emulator.rdna4.encoding.vector import LongVector, ShortVector
from autoclave.emulator.rdna4.instruction import Encoding

CODECS: Mapping[Encoding, Codec] = {
    "SOP1": ScalarOperation(),
    "SOP2": ScalarOperation(),
    "SOPC": ScalarOperation(),
    "SOPK": ScalarImmediate(),
    "SOPP": ScalarImmediate(),
    "SMEM": ScalarMemory(),
    "VOP1": ShortVector(),
    "VOP2": ShortVector(),
    "VOPC": ShortVector(),
    "VOP3": LongVector(),
    "VOP3SD": LongVector(),
    "VOP3P": Packed(),
    "VOPD": Dual(),
    "DS": LocalMemory(),
    "FLAT": GlobalMemory(),
    "GLOBAL": GlobalMemory(),
    "SCRATCH": GlobalMemory(),
}
