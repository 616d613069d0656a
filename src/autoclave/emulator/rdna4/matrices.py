"""Products of matrices that not all lanes reach.

v_wmma reads the registers of all 32 lanes, whatever EXEC says. A compiler that moves one behind a branch moves what fills the operands
with it, so that lanes which are off contribute what their registers happen to hold.

Which lanes are on is what the translator's analysis of EXEC says (`translator.execution`): there is no second one. A product that it
cannot prove all lanes to reach is told of. Were it wrong in taking all for on, the product would go untold, and translated code would
write lanes that are off, too: only a comparison with the interpreter, which has EXEC itself, would show that.
"""

from collections.abc import Sequence

from autoclave.emulator.interpretation import MatrixUse
from autoclave.emulator.launch import Launch, thread_count
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.machine import WAVE
from autoclave.emulator.rdna4.translator.execution import analyse_execution
from autoclave.emulator.rdna4.translator.flow import find_blocks

_PRODUCTS = ("v_wmma_", "v_swmmac_")


def matrix_use(launch: Launch, instructions: Sequence[Instruction]) -> MatrixUse:
    """The products of matrices of a launch's kernel, and which of them lanes may not all reach, if only because they hold no thread."""
    if not any(instruction.name.startswith(_PRODUCTS) for instruction in instructions):
        return MatrixUse(0, ())
    blocks = find_blocks(instructions, launch.kernel.name)
    execution = analyse_execution(blocks, all_on=thread_count(launch) % WAVE == 0)
    found = {
        instruction.pc: full
        for block in blocks
        for instruction, full in zip(block.instructions, execution.full[block.number], strict=False)
        if instruction.name.startswith(_PRODUCTS)
    }
    return MatrixUse(len(found), tuple(sorted(pc for pc, full in found.items() if not full)))
