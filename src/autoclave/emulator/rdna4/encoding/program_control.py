"""Scalar operations with an immediate, SOPK, and what steers the program, SOPP (the manual, chapters of these names)."""

from autoclave.emulator.rdna4.encoding.form import Form, parse

FORMS: tuple[Form, ...] = parse(
    "SOPK",
    """
     0 s_movk_i32          i32              ; signed
     1 s_version
     2 s_cmovk_i32         i32 = (old)      ; signed
    15 s_addk_co_i32       i32 = (old)      ; signed
    16 s_mulk_i32          i32 = (old)      ; signed
    17 s_getreg_b32        b32
    18 s_setreg_b32        = sdst:b32
    19 s_setreg_imm32_b32  = literal:b32
    20 s_call_b64          b64              ; target
    """,
) + parse(
    "SOPP",
    """
     0 s_nop
     1 s_setkill
     2 s_sethalt
     3 s_sleep
     5 s_clause
     7 s_delay_alu
     8 s_wait_alu
    10 s_wait_idle            ; plain
    11 s_wait_event
    16 s_trap
    17 s_round_mode
    18 s_denorm_mode
    20 s_barrier_wait         ; signed
    21 s_barrier_leave        ; plain
    31 s_code_end             ; plain
    32 s_branch               ; target
    33 s_cbranch_scc0         ; target
    34 s_cbranch_scc1         ; target
    35 s_cbranch_vccz         ; target
    36 s_cbranch_vccnz        ; target
    37 s_cbranch_execz        ; target
    38 s_cbranch_execnz       ; target
    48 s_endpgm               ; plain
    49 s_endpgm_saved         ; plain
    52 s_wakeup               ; plain
    53 s_setprio
    54 s_sendmsg
    55 s_sendmsghalt
    56 s_incperflevel
    57 s_decperflevel
    58 s_ttracedata           ; plain
    59 s_ttracedata_imm
    60 s_icache_inv           ; plain
    64 s_wait_loadcnt
    65 s_wait_storecnt
    66 s_wait_samplecnt
    67 s_wait_bvhcnt
    68 s_wait_expcnt
    70 s_wait_dscnt
    71 s_wait_kmcnt
    72 s_wait_loadcnt_dscnt
    73 s_wait_storecnt_dscnt
    """,
)
