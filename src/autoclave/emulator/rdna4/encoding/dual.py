"""The halves of VOPD, two operations in one instruction (the manual, "VOPD Instructions")."""

from autoclave.emulator.rdna4.encoding.form import Form, parse

LAST_OF_FIRST = 13
"""Opcodes above are only for the second operation: the first one's field has 4 bits."""

FORMS: tuple[Form, ...] = parse(
    "VOPD",
    """
     0 v_dual_fmac_f32          f32 = f32 f32 (old)
     1 v_dual_fmaak_f32         f32 = f32 f32 literal:f32
     2 v_dual_fmamk_f32         f32 = f32 literal:f32 f32
     3 v_dual_mul_f32           f32 = f32 f32
     4 v_dual_add_f32           f32 = f32 f32
     5 v_dual_sub_f32           f32 = f32 f32
     6 v_dual_subrev_f32        f32 = f32 f32
     7 v_dual_mul_dx9_zero_f32  f32 = f32 f32
     8 v_dual_mov_b32           b32 = b32
     9 v_dual_cndmask_b32       b32 = b32 b32 (vcc)
    10 v_dual_max_num_f32       f32 = f32 f32
    11 v_dual_min_num_f32       f32 = f32 f32
    12 v_dual_dot2acc_f32_f16   f32 = f16x2 f16x2 (old)
    13 v_dual_dot2acc_f32_bf16  f32 = bf16x2 bf16x2 (old)
    16 v_dual_add_nc_u32        u32 = u32 u32
    17 v_dual_lshlrev_b32       u32 = u32 u32
    18 v_dual_and_b32           u32 = u32 u32
    """,
)
