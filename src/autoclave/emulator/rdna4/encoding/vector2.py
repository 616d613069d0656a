"""Vector operations of two sources, VOP2 (the manual, "VOP2 Instructions")."""

from autoclave.emulator.rdna4.encoding.form import Form, parse

FORMS: tuple[Form, ...] = parse(
    "VOP2",
    """
       1 v_cndmask_b32        b32 = b32 b32 vcc ; signs
       2 v_add_f64            f64 = f64 f64
       3 v_add_f32            f32 = f32 f32
       4 v_sub_f32            f32 = f32 f32
       5 v_subrev_f32         f32 = f32 f32
       6 v_mul_f64            f64 = f64 f64
       7 v_mul_dx9_zero_f32   f32 = f32 f32
       8 v_mul_f32            f32 = f32 f32
       9 v_mul_i32_i24        i32 = i32 i32 ; clamp
      10 v_mul_hi_i32_i24     i32 = i32 i32
      11 v_mul_u32_u24        u32 = u32 u32 ; clamp
      12 v_mul_hi_u32_u24     u32 = u32 u32
      13 v_min_num_f64        f64 = f64 f64
      14 v_max_num_f64        f64 = f64 f64
      17 v_min_i32            i32 = i32 i32
      18 v_max_i32            i32 = i32 i32
      19 v_min_u32            u32 = u32 u32
      20 v_max_u32            u32 = u32 u32
      21 v_min_num_f32        f32 = f32 f32
      22 v_max_num_f32        f32 = f32 f32
      24 v_lshlrev_b32        u32 = u32 u32
      25 v_lshrrev_b32        u32 = u32 u32
      26 v_ashrrev_i32        i32 = u32 i32
      27 v_and_b32            u32 = u32 u32
      28 v_or_b32             u32 = u32 u32
      29 v_xor_b32            u32 = u32 u32
      30 v_xnor_b32           u32 = u32 u32
      31 v_lshlrev_b64        u64 = u32 u64
      32 v_add_co_ci_u32      u32 vcc = u32 u32 vcc ; clamp
      33 v_sub_co_ci_u32      u32 vcc = u32 u32 vcc ; clamp
      34 v_subrev_co_ci_u32   u32 vcc = u32 u32 vcc ; clamp
      37 v_add_nc_u32         u32 = u32 u32 ; clamp
      38 v_sub_nc_u32         u32 = u32 u32 ; clamp
      39 v_subrev_nc_u32      u32 = u32 u32 ; clamp
      43 v_fmac_f32           f32 = f32 f32 (old)
      44 v_fmamk_f32          f32 = f32 literal:f32 f32
      45 v_fmaak_f32          f32 = f32 f32 literal:f32
      47 v_cvt_pk_rtz_f16_f32 f16x2 = f32 f32
      48 v_min_num_f16        f16 = f16 f16
      49 v_max_num_f16        f16 = f16 f16
      50 v_add_f16            f16 = f16 f16
      51 v_sub_f16            f16 = f16 f16
      52 v_subrev_f16         f16 = f16 f16
      53 v_mul_f16            f16 = f16 f16
      54 v_fmac_f16           f16 = f16 f16 (old)
      55 v_fmamk_f16          f16 = f16 literal:f16 f16
      56 v_fmaak_f16          f16 = f16 f16 literal:f16
      59 v_ldexp_f16          f16 = f16 i16
      60 v_pk_fmac_f16        f16x2 = f16x2 f16x2 (old)
    """,
)
