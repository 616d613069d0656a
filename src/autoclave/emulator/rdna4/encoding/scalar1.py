"""Scalar operations of one source, SOP1 (the manual, "SOP1 Instructions")."""

from autoclave.emulator.rdna4.encoding.form import Form, parse

FORMS: tuple[Form, ...] = parse(
    "SOP1",
    """
       0 s_mov_b32                b32 = b32
       1 s_mov_b64                b64 = b64
       2 s_cmov_b32               b32 = b32 (old)
       3 s_cmov_b64               b64 = b64 (old)
       4 s_brev_b32               u32 = u32
       5 s_brev_b64               u64 = u64
       8 s_ctz_i32_b32            i32 = u32
       9 s_ctz_i32_b64            i32 = u64
      10 s_clz_i32_u32            i32 = u32
      11 s_clz_i32_u64            i32 = u64
      12 s_cls_i32                i32 = i32
      13 s_cls_i32_i64            i32 = i64
      14 s_sext_i32_i8            i32 = i32
      15 s_sext_i32_i16           i32 = i32
      16 s_bitset0_b32            b32 = u32 (old)
      17 s_bitset0_b64            b64 = u32 (old)
      18 s_bitset1_b32            b32 = u32 (old)
      19 s_bitset1_b64            b64 = u32 (old)
      20 s_bitreplicate_b64_b32   u64 = u32
      21 s_abs_i32                i32 = i32
      22 s_bcnt0_i32_b32          i32 = u32
      23 s_bcnt0_i32_b64          i32 = u64
      24 s_bcnt1_i32_b32          i32 = u32
      25 s_bcnt1_i32_b64          i32 = u64
      26 s_quadmask_b32           u32 = u32
      27 s_quadmask_b64           u64 = u64
      28 s_wqm_b32                u32 = u32
      29 s_wqm_b64                u64 = u64
      30 s_not_b32                u32 = u32
      31 s_not_b64                u64 = u64
      32 s_and_saveexec_b32       u32 = u32
      33 s_and_saveexec_b64       u64 = u64
      34 s_or_saveexec_b32        u32 = u32
      35 s_or_saveexec_b64        u64 = u64
      36 s_xor_saveexec_b32       u32 = u32
      37 s_xor_saveexec_b64       u64 = u64
      38 s_nand_saveexec_b32      u32 = u32
      39 s_nand_saveexec_b64      u64 = u64
      40 s_nor_saveexec_b32       u32 = u32
      41 s_nor_saveexec_b64       u64 = u64
      42 s_xnor_saveexec_b32      u32 = u32
      43 s_xnor_saveexec_b64      u64 = u64
      44 s_and_not0_saveexec_b32  u32 = u32
      45 s_and_not0_saveexec_b64  u64 = u64
      46 s_or_not0_saveexec_b32   u32 = u32
      47 s_or_not0_saveexec_b64   u64 = u64
      48 s_and_not1_saveexec_b32  u32 = u32
      49 s_and_not1_saveexec_b64  u64 = u64
      50 s_or_not1_saveexec_b32   u32 = u32
      51 s_or_not1_saveexec_b64   u64 = u64
      52 s_and_not0_wrexec_b32    u32 = u32
      53 s_and_not0_wrexec_b64    u64 = u64
      54 s_and_not1_wrexec_b32    u32 = u32
      55 s_and_not1_wrexec_b64    u64 = u64
      64 s_movrels_b32            b32 = s:b32 (m0)
      65 s_movrels_b64            b64 = s:b64 (m0)
      66 s_movreld_b32            b32 = b32 (m0)
      67 s_movreld_b64            b64 = b64 (m0)
      68 s_movrelsd_2_b32         b32 = s:b32 (m0)
      71 s_getpc_b64              b64
      72 s_setpc_b64               = s:b64
      73 s_swappc_b64             b64 = s:b64
      76 s_sendmsg_rtn_b32        b32 = ; message
      77 s_sendmsg_rtn_b64        b64 = ; message
      78 s_barrier_signal          = i:b32
      79 s_barrier_signal_isfirst  = i:b32
      80 s_get_barrier_state      b32 = i:b32
      81 s_barrier_init            = i:b32
      82 s_barrier_join            = i:b32
      88 s_sleep_var               = b32
      96 s_ceil_f32               f32 = f32
      97 s_floor_f32              f32 = f32
      98 s_trunc_f32              f32 = f32
      99 s_rndne_f32              f32 = f32
     100 s_cvt_f32_i32            f32 = i32
     101 s_cvt_f32_u32            f32 = u32
     102 s_cvt_i32_f32            i32 = f32
     103 s_cvt_u32_f32            u32 = f32
     104 s_cvt_f16_f32            f16 = f32
     105 s_cvt_f32_f16            f32 = f16
     106 s_cvt_hi_f32_f16         f32 = f16x2
     107 s_ceil_f16               f16 = f16
     108 s_floor_f16              f16 = f16
     109 s_trunc_f16              f16 = f16
     110 s_rndne_f16              f16 = f16
    """,
)
