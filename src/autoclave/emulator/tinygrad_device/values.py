"""The values that a launch hands to a kernel besides its buffers, as words behind the buffers' addresses."""

import struct
from collections.abc import Sequence

from tinygrad.device import TinyELF
from tinygrad.dtype import DType

# tinygrad publishes no types.


def value_words(variables: Sequence[DType], values: Sequence[int], addresses: int) -> tuple[int, ...]:
    """The scalar parameters' `values`, of dtypes `variables`, as they follow that many `addresses` of 8 bytes.

    Each is aligned to its size; words are signed, of 32 bits.
    """
    block = bytearray(8 * addresses)
    start = len(block)
    for (offset, dtype), value in zip(TinyELF.iter_sig(_as_signature(variables), start), values, strict=True):
        block.extend(bytes(offset - len(block)))
        block.extend(struct.pack(f"<{dtype.fmt}", value))
    block.extend(bytes(-len(block) % 4))
    return struct.unpack(f"<{(len(block) - start) // 4}i", block[start:])


def _as_signature(variables: Sequence[DType]) -> tuple[tuple[None, int, DType, tuple[int, ...]], ...]:
    return tuple((None, slot, dtype, ()) for slot, dtype in enumerate(variables))
