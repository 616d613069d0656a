"""Mesa's compiler, told that conversions to float16 are to round to nearest even, as tinygrad's other devices do.

tinygrad tells Mesa nothing, and Mesa then leaves `cov` the hardware's default, toward zero. Artifacts are compiled like that.
"""

from typing import Any

from tinygrad.renderer import nir

ROUND_FLOAT16_TO_NEAREST_EVEN = 0x8000
"""FLOAT_CONTROLS_ROUNDING_MODE_RTE_FP16 of Mesa 25.2, src/compiler/shader_enums.h."""


class IR3Renderer(nir.IR3Renderer):  # type: ignore[misc]  # named as tinygrad's, since DEV=QCOM:IR3 chooses it by name
    """tinygrad's renderer for the a630; a `cov` to float16 says (even)."""

    def prerender(self, uops: list[Any]) -> None:
        """Begin a kernel."""
        super().prerender(uops)
        self.b.shader.contents.info.float_controls_execution_mode = ROUND_FLOAT16_TO_NEAREST_EVEN
