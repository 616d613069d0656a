"""Rung 3: all lanes of a wave take part in its products of matrices.

Such an operation reads the registers of lanes that are off, too. What these hold is then chance, and no other gate tells: every
implementation computes the same from it.
"""

from collections.abc import Sequence

from autoclave.parity.emulated.inspection import InspectedKernel
from autoclave.parity.gates import REPLAY, GateResult

GATE = "matrices"
_SHOWN = 3
"""Program counters of one kernel that a report lists."""


def matrix_results(kernels: Sequence[InspectedKernel]) -> list[GateResult]:
    """A warning for each kernel with products that lanes may not all reach; one result for those of all other kernels, if there are any."""
    used = [kernel for kernel in kernels if kernel.matrices is not None and kernel.matrices.products]
    whole = [kernel for kernel in used if kernel.matrices is not None and not kernel.matrices.partial]
    warnings = [
        _warning(kernel, kernel.matrices.partial) for kernel in used if kernel.matrices and kernel.matrices.partial
    ]
    return [*([_agreement(whole)] if whole else []), *warnings]


def _agreement(kernels: Sequence[InspectedKernel]) -> GateResult:
    products = sum(kernel.matrices.products for kernel in kernels if kernel.matrices is not None)
    message = f"all lanes reach their {products} products of matrices"
    return GateResult(REPLAY, GATE, f"{len(kernels)} kernels", "passed", message, {"products": float(products)})


def _warning(kernel: InspectedKernel, partial: tuple[int, ...]) -> GateResult:
    shown = ", ".join(map(str, partial[:_SHOWN])) + (
        f" and {len(partial) - _SHOWN} more" if len(partial) > _SHOWN else ""
    )
    message = (
        f"lanes may not all reach its products of matrices (v_wmma) at pc {shown}, which read all lanes' registers: those of lanes that "
        f"are off may hold anything. Compilers move products behind branches by mistake: trust this kernel only as far as the reference "
        f"(rung 4) agrees, and compile it with a renderer that keeps them in place (docs/toolchains.md, Matrix operations behind a branch)"
    )
    return GateResult(
        REPLAY, GATE, f"kernel {kernel.number} {kernel.name}", "warning", message, {"partial": float(len(partial))}
    )
