"""Loads into scalar registers, SMEM (the manual, "SMEM Instructions").

The base is two registers, or, of a buffer, four with its descriptor.
"""

from autoclave.emulator.rdna4.encoding.form import Form, parse

FORMS: tuple[Form, ...] = parse(
    "SMEM",
    """
     0 s_load_b32              b32  = u64
     1 s_load_b64              b64  = u64
     2 s_load_b128             b128 = u64
     3 s_load_b256             b256 = u64
     4 s_load_b512             b512 = u64
     5 s_load_b96              b96  = u64
     8 s_load_i8               i32  = u64
     9 s_load_u8               u32  = u64
    10 s_load_i16              i32  = u64
    11 s_load_u16              u32  = u64
    16 s_buffer_load_b32       b32  = b128
    17 s_buffer_load_b64       b64  = b128
    18 s_buffer_load_b128      b128 = b128
    19 s_buffer_load_b256      b256 = b128
    20 s_buffer_load_b512      b512 = b128
    21 s_buffer_load_b96       b96  = b128
    24 s_buffer_load_i8        i32  = b128
    25 s_buffer_load_u8        u32  = b128
    26 s_buffer_load_i16       i32  = b128
    27 s_buffer_load_u16       u32  = b128
    33 s_dcache_inv                           ; plain
    36 s_prefetch_inst              = u64     ; prefetch
    37 s_prefetch_inst_pc_rel                 ; prefetch
    38 s_prefetch_data              = u64     ; prefetch
    39 s_buffer_prefetch_data       = b128    ; prefetch
    40 s_prefetch_data_pc_rel                 ; prefetch
    """,
)
