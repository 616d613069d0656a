"""Accesses to memory by vector addresses: FLAT, GLOBAL and SCRATCH (the manual, chapters of these names).

The three share their opcodes. "high:" before a type: it is the upper half of the register.
"""

from autoclave.emulator.rdna4.encoding.form import Form, parse
from autoclave.emulator.rdna4.instruction import Encoding

_LOADS_AND_STORES = """
      16 load_u8              u32 =
      17 load_i8              i32 =
      18 load_u16             u32 =
      19 load_i16             i32 =
      20 load_b32             b32 =
      21 load_b64             b64 =
      22 load_b96             b96 =
      23 load_b128            b128 =
      24 store_b8             = b16
      25 store_b16            = b16
      26 store_b32            = b32
      27 store_b64            = b64
      28 store_b96            = b96
      29 store_b128           = b128
      30 load_d16_u8          u16 =
      31 load_d16_i8          i16 =
      32 load_d16_b16         b16 =
      33 load_d16_hi_u8       high:u16 =
      34 load_d16_hi_i8       high:i16 =
      35 load_d16_hi_b16      high:b16 =
      36 store_d16_hi_b8      = high:b16
      37 store_d16_hi_b16     = high:b16
    """

_ATOMICS = """
      51 atomic_swap_b32      b32 = b32 ; atomic
      52 atomic_cmpswap_b32   b32 = b32x2 ; atomic
      53 atomic_add_u32       u32 = u32 ; atomic
      54 atomic_sub_u32       u32 = u32 ; atomic
      55 atomic_sub_clamp_u32 u32 = u32 ; atomic
      56 atomic_min_i32       i32 = i32 ; atomic
      57 atomic_min_u32       u32 = u32 ; atomic
      58 atomic_max_i32       i32 = i32 ; atomic
      59 atomic_max_u32       u32 = u32 ; atomic
      60 atomic_and_b32       b32 = b32 ; atomic
      61 atomic_or_b32        b32 = b32 ; atomic
      62 atomic_xor_b32       b32 = b32 ; atomic
      63 atomic_inc_u32       u32 = u32 ; atomic
      64 atomic_dec_u32       u32 = u32 ; atomic
      65 atomic_swap_b64      b64 = b64 ; atomic
      66 atomic_cmpswap_b64   b64 = b64x2 ; atomic
      67 atomic_add_u64       u64 = u64 ; atomic
      68 atomic_sub_u64       u64 = u64 ; atomic
      69 atomic_min_i64       i64 = i64 ; atomic
      70 atomic_min_u64       u64 = u64 ; atomic
      71 atomic_max_i64       i64 = i64 ; atomic
      72 atomic_max_u64       u64 = u64 ; atomic
      73 atomic_and_b64       b64 = b64 ; atomic
      74 atomic_or_b64        b64 = b64 ; atomic
      75 atomic_xor_b64       b64 = b64 ; atomic
      76 atomic_inc_u64       u64 = u64 ; atomic
      77 atomic_dec_u64       u64 = u64 ; atomic
      80 atomic_cond_sub_u32  u32 = u32 ; atomic
      81 atomic_min_num_f32   f32 = f32 ; atomic
      82 atomic_max_num_f32   f32 = f32 ; atomic
      86 atomic_add_f32       f32 = f32 ; atomic
      89 atomic_pk_add_f16    f16x2 = f16x2 ; atomic
      90 atomic_pk_add_bf16   bf16x2 = bf16x2 ; atomic
    """

_GLOBAL = """
      40 load_addtid_b32      b32 = ; thread
      41 store_addtid_b32     = b32 ; thread
      43 inv ; plain
      44 wb ; plain
      79 wbinv ; plain
      87 load_tr_b128         b128 =
      88 load_tr_b64          b64 =
    """

_ENCODINGS: tuple[tuple[Encoding, str], ...] = (
    ("FLAT", _LOADS_AND_STORES + _ATOMICS),
    ("GLOBAL", _LOADS_AND_STORES + _ATOMICS + _GLOBAL),
    ("SCRATCH", _LOADS_AND_STORES),
)

FORMS: tuple[Form, ...] = tuple(
    form for encoding, rows in _ENCODINGS for form in parse(encoding, rows, f"{encoding.lower()}_")
)
