"""Keeps matrix operations of a wave out of code that only some of its lanes run.

v_wmma_* takes its operands from all lanes of a wave, switched off or not, and LLVM's intrinsic is `convergent` for that reason.
LLVM 20 forgets it where it chooses instructions: the pass that moves instructions next to their uses moves a v_wmma
past the branch of a store that only some lanes make. What the other lanes then hold in its operands' registers is left over from
something else, and enters every sum.

So each result is used once more at the end of its own block, by an inline assembly of no instruction, which does not move.
"""

import re

_LABEL = re.compile(r'([\w.$-]+|"[^"]+"):')
_MATRIX_OPERATION = re.compile(r"\s+(%[\w.$-]+) = (?:\w+ )*call (?:\w+ )*(<\d+ x \w+>) @llvm\.amdgcn\.s?wmmac?\.")
_CHOICE = re.compile(r"\s+(?:br i1|switch) ")


def pinned_matrices(text: str) -> str | None:
    """Optimised IR with the results of matrix operations used where they are computed; None if there is nothing to add.

    Only blocks that end in a choice matter: nothing leaves the others. A loop of one block keeps what it computes, too.
    """
    lines: list[str] = []
    results: list[tuple[str, str]] = []
    label, added = "", False
    for line in text.splitlines():
        if found := _LABEL.match(line):
            label, results = found[1], []
        elif found := _MATRIX_OPERATION.match(line):
            results.append((found[1], found[2]))
        elif (
            results
            and _CHOICE.match(line)
            and not re.search(rf"label %{re.escape(label)}[,\s]|label %{re.escape(label)}$", line)
        ):
            lines += [f'  call void asm sideeffect "", "v"({type_} {name})' for name, type_ in results]
            added = True
        lines.append(line)
    return "\n".join([*lines, ""]) if added else None
