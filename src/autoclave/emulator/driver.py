"""Runs prepared launches one after the other in native code, on one or several host threads.

    i32 run(ptr steps, i64 count, ptr thread, ptr shared, i64 threads)

Every host thread calls it with a thread block of its own (`translator.frame`). For each step the threads take pieces of its
workgroups, in order, until none is left, and wait for one another. Status and number of a step that fails go to the thread
block; no thread begins another piece then. MXCSR is set to round to nearest, flush denormals and raise nothing, and restored.

A step, 64 bytes:   0 function, 8 launch block, 16 workgroups, 24 workgroups of a piece, 32 next workgroup, 40 instructions left
Shared, 256 bytes:  0 threads that have arrived, 64 times that all have, 128 one more than the step that failed, or 0, 192 function that yields the processor
"""

from functools import cache

from autoclave.emulator.jit import HostTarget, compile_object
from autoclave.emulator.translator.frame import LEFT_AT, STATUS_AT, STEP_AT
from autoclave.native.elf import load_object
from autoclave.native.memory import CodeMemory

STEP_BYTES = 64
FUNCTION_AT, LAUNCH_AT, GROUPS_AT, PIECE_AT, NEXT_AT, STEP_LEFT_AT = range(0, 48, 8)
SHARED_BYTES = 256
ARRIVED_AT, ROUNDS_AT, FAILED_AT, YIELD_AT = range(0, 256, 64)

COPY_UNIT = 1 << 16
"""Bytes of a copy that count as one workgroup."""

_SPINS = 250
"""Turns of waiting, of some 140 cycles each, before the processor is yielded, for each turn from then on."""

_MODE = "{mode}"
"""Stands in the text for MXCSR."""

_RUN = f"""
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @llvm.x86.sse2.pause()

define i32 @run(ptr %steps, i64 %count, ptr %thread, ptr %shared, i64 %threads) nounwind "no-builtins" {{
entry:
  %before = alloca i32, align 4
  %mode = alloca i32, align 4
  %left.at = getelementptr i8, ptr %thread, i64 {LEFT_AT}
  %status.at = getelementptr i8, ptr %thread, i64 {STATUS_AT}
  %number.at = getelementptr i8, ptr %thread, i64 {STEP_AT}
  %rounds.at = getelementptr i8, ptr %shared, i64 {ROUNDS_AT}
  %failed.at = getelementptr i8, ptr %shared, i64 {FAILED_AT}
  %yield.at = getelementptr i8, ptr %shared, i64 {YIELD_AT}
  %yield = load ptr, ptr %yield.at, align 8
  store i32 0, ptr %status.at, align 4
  store i32 {_MODE}, ptr %mode, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %before)
  call void @llvm.x86.sse.ldmxcsr(ptr %mode)
  br label %steps.head

steps.head:
  %number = phi i64 [ 0, %entry ], [ %following, %step.next ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %step, label %done

step:
  %offset = mul i64 %number, {STEP_BYTES}
  %step.at = getelementptr i8, ptr %steps, i64 %offset
  %function = load ptr, ptr %step.at, align 8
  %launch.at = getelementptr i8, ptr %step.at, i64 {LAUNCH_AT}
  %launch = load ptr, ptr %launch.at, align 8
  %groups.at = getelementptr i8, ptr %step.at, i64 {GROUPS_AT}
  %groups = load i64, ptr %groups.at, align 8
  %piece.at = getelementptr i8, ptr %step.at, i64 {PIECE_AT}
  %piece = load i64, ptr %piece.at, align 8
  %next.at = getelementptr i8, ptr %step.at, i64 {NEXT_AT}
  %budget.at = getelementptr i8, ptr %step.at, i64 {STEP_LEFT_AT}
  br label %claim

claim:
  %stopped = load atomic i64, ptr %failed.at acquire, align 8
  %go = icmp eq i64 %stopped, 0
  br i1 %go, label %take, label %step.done

take:
  %first = atomicrmw add ptr %next.at, i64 %piece acq_rel
  %some = icmp ult i64 %first, %groups
  br i1 %some, label %work, label %step.done

work:
  %end = add i64 %first, %piece
  %short = icmp ult i64 %groups, %end
  %last = select i1 %short, i64 %groups, i64 %end
  %granted = load atomic i64, ptr %budget.at monotonic, align 8
  store i64 %granted, ptr %left.at, align 8
  %status = call i32 %function(ptr %launch, ptr %thread, i64 %first, i64 %last)
  %remaining = load i64, ptr %left.at, align 8
  %used = sub i64 %granted, %remaining
  %budget = atomicrmw sub ptr %budget.at, i64 %used acq_rel
  %after = sub i64 %budget, %used
  %over = icmp slt i64 %after, 0
  %fine = icmp eq i32 %status, 0
  %exhausted = select i1 %over, i32 2, i32 0
  %result = select i1 %fine, i32 %exhausted, i32 %status
  %failed = icmp ne i32 %result, 0
  br i1 %failed, label %fail, label %claim

fail:
  %number32 = trunc i64 %number to i32
  store i32 %number32, ptr %number.at, align 4
  store i32 %result, ptr %status.at, align 4
  %failure = add i64 %number, 1
  store atomic i64 %failure, ptr %failed.at release, align 8
  br label %step.done

step.done:
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %check, label %arrive

arrive:
  %round = load atomic i64, ptr %rounds.at acquire, align 8
  %others = atomicrmw add ptr %shared, i64 1 acq_rel
  %here = add i64 %others, 1
  %complete = icmp eq i64 %here, %threads
  br i1 %complete, label %release, label %wait

release:
  store atomic i64 0, ptr %shared monotonic, align 8
  atomicrmw add ptr %rounds.at, i64 1 acq_rel
  br label %check

wait:
  %spins = phi i64 [ 0, %arrive ], [ %turns, %again ]
  %now = load atomic i64, ptr %rounds.at acquire, align 8
  %free = icmp ne i64 %now, %round
  br i1 %free, label %check, label %spin

spin:
  call void @llvm.x86.sse2.pause()
  %turns = add i64 %spins, 1
  %patient = icmp ult i64 %turns, {_SPINS}
  br i1 %patient, label %again, label %sleep

sleep:
  %ignored = call i32 %yield()
  br label %again

again:
  br label %wait

check:
  ; A thread that is late here may see the failure of the next step already. It has to go on to it, as the others wait there.
  %bad = load atomic i64, ptr %failed.at acquire, align 8
  %following = add i64 %number, 1
  %none = icmp eq i64 %bad, 0
  %later = icmp ugt i64 %bad, %following
  %good = or i1 %none, %later
  br i1 %good, label %step.next, label %done

step.next:
  br label %steps.head

done:
  call void @llvm.x86.sse.ldmxcsr(ptr %before)
  %final = load i32, ptr %status.at, align 4
  ret i32 %final
}}
"""

_COPY = f"""
define i32 @copy(ptr noalias %launch, ptr %thread, i64 %first, i64 %last) nounwind "no-builtins" {{
entry:
  %target = load ptr, ptr %launch, align 8
  %source.at = getelementptr i8, ptr %launch, i64 8
  %source = load ptr, ptr %source.at, align 8
  %size.at = getelementptr i8, ptr %launch, i64 16
  %size = load i64, ptr %size.at, align 8
  %from = mul i64 %first, {COPY_UNIT}
  %to = mul i64 %last, {COPY_UNIT}
  %short = icmp ult i64 %size, %to
  %end = select i1 %short, i64 %size, i64 %to
  br label %wide

wide:
  %at = phi i64 [ %from, %entry ], [ %wide.next, %wide.body ]
  %wide.next = add i64 %at, 64
  %room = icmp ule i64 %wide.next, %end
  br i1 %room, label %wide.body, label %narrow

wide.body:
  %wide.from = getelementptr i8, ptr %source, i64 %at
  %wide.to = getelementptr i8, ptr %target, i64 %at
  %block = load <16 x i32>, ptr %wide.from, align 1
  store <16 x i32> %block, ptr %wide.to, align 1
  br label %wide

narrow:
  %one = phi i64 [ %at, %wide ], [ %one.next, %narrow.body ]
  %left = icmp ult i64 %one, %end
  br i1 %left, label %narrow.body, label %done

narrow.body:
  %narrow.from = getelementptr i8, ptr %source, i64 %one
  %narrow.to = getelementptr i8, ptr %target, i64 %one
  %byte = load i8, ptr %narrow.from, align 1
  store i8 %byte, ptr %narrow.to, align 1
  %one.next = add i64 %one, 1
  br label %narrow

done:
  ret i32 0
}}
"""


@cache
def driver_code(target: HostTarget, mode: int) -> CodeMemory:
    """`run` and `copy`, loaded; their addresses are its first and second entry. mode: MXCSR while launches run."""
    texts = (_RUN.replace(_MODE, str(mode)), _COPY)
    return CodeMemory([load_object(compile_object(text, target), "driver") for text in texts])
