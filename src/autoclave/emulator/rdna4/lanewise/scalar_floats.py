"""Scalar float operations: those of one lane, on scalars."""

from typing import Final

from autoclave.emulator.rdna4.lanewise.conversions import CONVERSIONS
from autoclave.emulator.rdna4.lanewise.elementary import SCALAR_ELEMENTARY
from autoclave.emulator.rdna4.lanewise.floats import FLOATS
from autoclave.emulator.rdna4.lanewise.formats import F16, F32
from autoclave.emulator.rdna4.lanewise.integral import INTEGRAL
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation, ScalarOperation
from autoclave.emulator.rdna4.lanewise.ordering import ORDERING, RELATIONS, comparison
from autoclave.emulator.rdna4.lanewise.scalars import condition, plain

_SHARED: Final = (
    *(f"{name}_{form}" for form in ("f16", "f32") for name in ("add", "sub", "mul", "fmac")),
    "fmamk_f32",
    "fmaak_f32",
    *(f"{name}_{form}" for form in ("f16", "f32") for name in ("min_num", "max_num", "minimum", "maximum")),
    *(f"{name}_{form}" for form in ("f16", "f32") for name in ("ceil", "floor", "trunc", "rndne")),
    *("cvt_f32_i32", "cvt_f32_u32", "cvt_i32_f32", "cvt_u32_f32", "cvt_f16_f32", "cvt_f32_f16", "cvt_pk_rtz_f16_f32"),
)
"""s_NAME is v_NAME."""


def _on_scalars(operation: LaneOperation) -> ScalarOperation:
    def compute(scc: int, *sources: int) -> tuple[tuple[int, ...], None]:
        result = operation.compute(*sources)
        return (result if isinstance(result, tuple) else (result,)), None

    return ScalarOperation(compute)


_VECTOR: Final = FLOATS | ORDERING | INTEGRAL | CONVERSIONS

SCALAR_FLOATS: Final[dict[str, ScalarOperation]] = {
    **{f"s_{name}": _on_scalars(_VECTOR[f"v_{name}"]) for name in _SHARED},
    **{name: plain(compute) for name, compute in SCALAR_ELEMENTARY.items()},
    "s_cvt_hi_f32_f16": plain(lambda a: F32.rounded(F16.value(a >> 16))),
    **{
        f"s_cmp_{name}_{form.name}": condition(comparison(form, holds))
        for form in (F16, F32)
        for name, holds in RELATIONS.items()
    },
}
"""By name. s_cvt_hi_f32_f16 takes the whole word."""
