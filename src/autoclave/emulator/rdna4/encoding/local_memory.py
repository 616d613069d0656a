"""Accesses to the workgroup's memory, and exchanges between lanes, DS (the manual, "DS Instructions").

"high:" before a type: it is the upper half of the register. Flag "pair": two offsets, in units of the elements, or 64 times
that.
"""

from autoclave.emulator.rdna4.encoding.form import Form, parse

FORMS: tuple[Form, ...] = parse(
    "DS",
    """
       0 ds_add_u32                           = u32 u32
       1 ds_sub_u32                           = u32 u32
       2 ds_rsub_u32                          = u32 u32
       3 ds_inc_u32                           = u32 u32
       4 ds_dec_u32                           = u32 u32
       5 ds_min_i32                           = u32 i32
       6 ds_max_i32                           = u32 i32
       7 ds_min_u32                           = u32 u32
       8 ds_max_u32                           = u32 u32
       9 ds_and_b32                           = u32 b32
      10 ds_or_b32                            = u32 b32
      11 ds_xor_b32                           = u32 b32
      12 ds_mskor_b32                         = u32 b32 b32
      13 ds_store_b32                         = u32 b32
      14 ds_store_2addr_b32                   = u32 b32 b32 ; pair
      15 ds_store_2addr_stride64_b32          = u32 b32 b32 ; pair
      16 ds_cmpstore_b32                      = u32 b32 b32
      18 ds_min_num_f32                       = u32 f32
      19 ds_max_num_f32                       = u32 f32
      20 ds_nop ; plain
      21 ds_add_f32                           = u32 f32
      30 ds_store_b8                          = u32 b16
      31 ds_store_b16                         = u32 b16
      32 ds_add_rtn_u32                      u32 = u32 u32
      33 ds_sub_rtn_u32                      u32 = u32 u32
      34 ds_rsub_rtn_u32                     u32 = u32 u32
      35 ds_inc_rtn_u32                      u32 = u32 u32
      36 ds_dec_rtn_u32                      u32 = u32 u32
      37 ds_min_rtn_i32                      i32 = u32 i32
      38 ds_max_rtn_i32                      i32 = u32 i32
      39 ds_min_rtn_u32                      u32 = u32 u32
      40 ds_max_rtn_u32                      u32 = u32 u32
      41 ds_and_rtn_b32                      b32 = u32 b32
      42 ds_or_rtn_b32                       b32 = u32 b32
      43 ds_xor_rtn_b32                      b32 = u32 b32
      44 ds_mskor_rtn_b32                    b32 = u32 b32 b32
      45 ds_storexchg_rtn_b32                b32 = u32 b32
      46 ds_storexchg_2addr_rtn_b32          b32x2 = u32 b32 b32 ; pair
      47 ds_storexchg_2addr_stride64_rtn_b32 b32x2 = u32 b32 b32 ; pair
      48 ds_cmpstore_rtn_b32                 b32 = u32 b32 b32
      50 ds_min_num_rtn_f32                  f32 = u32 f32
      51 ds_max_num_rtn_f32                  f32 = u32 f32
      53 ds_swizzle_b32                      b32 = addr:b32
      54 ds_load_b32                         b32 = u32
      55 ds_load_2addr_b32                   b32x2 = u32 ; pair
      56 ds_load_2addr_stride64_b32          b32x2 = u32 ; pair
      57 ds_load_i8                          i32 = u32
      58 ds_load_u8                          u32 = u32
      59 ds_load_i16                         i32 = u32
      60 ds_load_u16                         u32 = u32
      61 ds_consume                          u32 = (m0)
      62 ds_append                           u32 = (m0)
      64 ds_add_u64                           = u32 u64
      65 ds_sub_u64                           = u32 u64
      66 ds_rsub_u64                          = u32 u64
      67 ds_inc_u64                           = u32 u64
      68 ds_dec_u64                           = u32 u64
      69 ds_min_i64                           = u32 i64
      70 ds_max_i64                           = u32 i64
      71 ds_min_u64                           = u32 u64
      72 ds_max_u64                           = u32 u64
      73 ds_and_b64                           = u32 b64
      74 ds_or_b64                            = u32 b64
      75 ds_xor_b64                           = u32 b64
      76 ds_mskor_b64                         = u32 b64 b64
      77 ds_store_b64                         = u32 b64
      78 ds_store_2addr_b64                   = u32 b64 b64 ; pair
      79 ds_store_2addr_stride64_b64          = u32 b64 b64 ; pair
      80 ds_cmpstore_b64                      = u32 b64 b64
      82 ds_min_num_f64                       = u32 f64
      83 ds_max_num_f64                       = u32 f64
      96 ds_add_rtn_u64                      u64 = u32 u64
      97 ds_sub_rtn_u64                      u64 = u32 u64
      98 ds_rsub_rtn_u64                     u64 = u32 u64
      99 ds_inc_rtn_u64                      u64 = u32 u64
     100 ds_dec_rtn_u64                      u64 = u32 u64
     101 ds_min_rtn_i64                      i64 = u32 i64
     102 ds_max_rtn_i64                      i64 = u32 i64
     103 ds_min_rtn_u64                      u64 = u32 u64
     104 ds_max_rtn_u64                      u64 = u32 u64
     105 ds_and_rtn_b64                      b64 = u32 b64
     106 ds_or_rtn_b64                       b64 = u32 b64
     107 ds_xor_rtn_b64                      b64 = u32 b64
     108 ds_mskor_rtn_b64                    b64 = u32 b64 b64
     109 ds_storexchg_rtn_b64                b64 = u32 b64
     110 ds_storexchg_2addr_rtn_b64          b64x2 = u32 b64 b64 ; pair
     111 ds_storexchg_2addr_stride64_rtn_b64 b64x2 = u32 b64 b64 ; pair
     112 ds_cmpstore_rtn_b64                 b64 = u32 b64 b64
     114 ds_min_num_rtn_f64                  f64 = u32 f64
     115 ds_max_num_rtn_f64                  f64 = u32 f64
     118 ds_load_b64                         b64 = u32
     119 ds_load_2addr_b64                   b64x2 = u32 ; pair
     120 ds_load_2addr_stride64_b64          b64x2 = u32 ; pair
     121 ds_add_rtn_f32                      f32 = u32 f32
     126 ds_condxchg32_rtn_b64               b64 = u32 b64
     152 ds_cond_sub_u32                      = u32 u32
     153 ds_sub_clamp_u32                     = u32 u32
     154 ds_pk_add_f16                        = u32 f16x2
     155 ds_pk_add_bf16                       = u32 bf16x2
     160 ds_store_b8_d16_hi                   = u32 high:b16
     161 ds_store_b16_d16_hi                  = u32 high:b16
     162 ds_load_u8_d16                      u16 = u32
     163 ds_load_u8_d16_hi                   high:u16 = u32
     164 ds_load_i8_d16                      i16 = u32
     165 ds_load_i8_d16_hi                   high:i16 = u32
     166 ds_load_u16_d16                     b16 = u32
     167 ds_load_u16_d16_hi                  high:b16 = u32
     168 ds_cond_sub_rtn_u32                 u32 = u32 u32
     169 ds_sub_clamp_rtn_u32                u32 = u32 u32
     170 ds_pk_add_rtn_f16                   f16x2 = u32 f16x2
     171 ds_pk_add_rtn_bf16                  bf16x2 = u32 bf16x2
     176 ds_store_addtid_b32                  = data0:b32 (m0)
     177 ds_load_addtid_b32                  b32 = (m0)
     178 ds_permute_b32                      b32 = u32 b32
     179 ds_bpermute_b32                     b32 = u32 b32
     205 ds_bpermute_fi_b32                  b32 = u32 b32
     222 ds_store_b96                         = u32 b96
     223 ds_store_b128                        = u32 b128
     254 ds_load_b96                         b96 = u32
     255 ds_load_b128                        b128 = u32
    """,
)
