"""Rung 3: what a report says of products of matrices."""

from autoclave.emulator.interpretation import MatrixUse
from autoclave.parity.emulated.inspection import InspectedKernel
from autoclave.parity.emulated.matrices import matrix_results

WHOLE = InspectedKernel(0, "r_16", None, {}, matrices=MatrixUse(8, ()))
PARTIAL = InspectedKernel(3, "r_8", None, {}, matrices=MatrixUse(6, (64, 128, 192, 256, 320)))
NONE = InspectedKernel(4, "E_8", None, {}, matrices=MatrixUse(0, ()))
NO_MATRICES = InspectedKernel(0, "E_8", None, {})
"""Of a GPU that has none."""


def test_products_that_all_lanes_reach_pass() -> None:
    (result,) = matrix_results([WHOLE, NONE, WHOLE])

    assert (result.rung, result.gate, result.subject, result.status) == (3, "matrices", "2 kernels", "passed")
    assert result.message == "all lanes reach their 16 products of matrices"


def test_products_that_lanes_may_not_all_reach_are_a_warning_by_kernel() -> None:
    whole, partial = matrix_results([WHOLE, PARTIAL])

    assert whole.figures == {"products": 8.0}
    assert (partial.subject, partial.status, partial.figures) == ("kernel 3 r_8", "warning", {"partial": 5.0})
    assert "at pc 64, 128, 192 and 2 more" in partial.message


def test_nothing_is_said_where_there_are_none() -> None:
    assert matrix_results([NONE, NO_MATRICES]) == []
