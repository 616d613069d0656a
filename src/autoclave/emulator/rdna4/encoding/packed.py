"""Packed operations, dot products, mixed precision and matrices, VOP3P (the manual, "VOP3P Instructions")."""

from autoclave.emulator.rdna4.encoding.form import Form, parse

FORMS: tuple[Form, ...] = parse(
    "VOP3P",
    """
       0 v_pk_mad_i16                i16x2 = i16x2 i16x2 i16x2
       1 v_pk_mul_lo_u16             u16x2 = u16x2 u16x2
       2 v_pk_add_i16                i16x2 = i16x2 i16x2
       3 v_pk_sub_i16                i16x2 = i16x2 i16x2
       4 v_pk_lshlrev_b16            u16x2 = u16x2 u16x2
       5 v_pk_lshrrev_b16            u16x2 = u16x2 u16x2
       6 v_pk_ashrrev_i16            i16x2 = u16x2 i16x2
       7 v_pk_max_i16                i16x2 = i16x2 i16x2
       8 v_pk_min_i16                i16x2 = i16x2 i16x2
       9 v_pk_mad_u16                u16x2 = u16x2 u16x2 u16x2
      10 v_pk_add_u16                u16x2 = u16x2 u16x2
      11 v_pk_sub_u16                u16x2 = u16x2 u16x2
      12 v_pk_max_u16                u16x2 = u16x2 u16x2
      13 v_pk_min_u16                u16x2 = u16x2 u16x2
      14 v_pk_fma_f16                f16x2 = f16x2 f16x2 f16x2
      15 v_pk_add_f16                f16x2 = f16x2 f16x2
      16 v_pk_mul_f16                f16x2 = f16x2 f16x2
      19 v_dot2_f32_f16              f32 = f16x2 f16x2 f32 ; dpp
      22 v_dot4_i32_iu8              i32 = iu8x4 iu8x4 i32
      23 v_dot4_u32_u8               u32 = u8x4 u8x4 u32
      24 v_dot8_i32_iu4              i32 = iu4x8 iu4x8 i32
      25 v_dot8_u32_u4               u32 = u4x8 u4x8 u32
      26 v_dot2_f32_bf16             f32 = bf16x2 bf16x2 f32
      27 v_pk_min_num_f16            f16x2 = f16x2 f16x2
      28 v_pk_max_num_f16            f16x2 = f16x2 f16x2
      29 v_pk_minimum_f16            f16x2 = f16x2 f16x2
      30 v_pk_maximum_f16            f16x2 = f16x2 f16x2
      32 v_fma_mix_f32               f32 = f32 f32 f32 ; mix dpp
      33 v_fma_mixlo_f16             f16 = f32 f32 f32 ; mix dpp
      34 v_fma_mixhi_f16             f16 = f32 f32 f32 ; mix dpp
      36 v_dot4_f32_fp8_bf8          f32 = fp8x4 bf8x4 f32 ; dpp bare
      37 v_dot4_f32_bf8_fp8          f32 = bf8x4 fp8x4 f32 ; dpp bare
      38 v_dot4_f32_fp8_fp8          f32 = fp8x4 fp8x4 f32 ; dpp bare
      39 v_dot4_f32_bf8_bf8          f32 = bf8x4 bf8x4 f32 ; dpp bare
      64 v_wmma_f32_16x16x16_f16     f32x8 = v:f16x8 v:f16x8 i:f32x8 ; bare
      65 v_wmma_f32_16x16x16_bf16    f32x8 = v:bf16x8 v:bf16x8 i:f32x8 ; bare
      66 v_wmma_f16_16x16x16_f16     f16x8 = v:f16x8 v:f16x8 i:f16x8 ; bare
      67 v_wmma_bf16_16x16x16_bf16   bf16x8 = v:bf16x8 v:bf16x8 i:bf16x8 ; bare
      68 v_wmma_i32_16x16x16_iu8     i32x8 = v:iu8x8 v:iu8x8 i:i32x8
      69 v_wmma_i32_16x16x16_iu4     i32x8 = v:iu4x8 v:iu4x8 i:i32x8
      70 v_wmma_f32_16x16x16_fp8_fp8 f32x8 = v:fp8x8 v:fp8x8 i:f32x8 ; bare
      71 v_wmma_f32_16x16x16_fp8_bf8 f32x8 = v:fp8x8 v:bf8x8 i:f32x8 ; bare
      72 v_wmma_f32_16x16x16_bf8_fp8 f32x8 = v:bf8x8 v:fp8x8 i:f32x8 ; bare
      73 v_wmma_f32_16x16x16_bf8_bf8 f32x8 = v:bf8x8 v:bf8x8 i:f32x8 ; bare
      74 v_wmma_i32_16x16x32_iu4     i32x8 = v:iu4x16 v:iu4x16 i:i32x8
    """,
)
