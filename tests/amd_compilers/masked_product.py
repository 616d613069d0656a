"""Compiles a kernel whose matrix product is stored by some lanes alone, twice: as tinygrad has comgr do it, and as Autoclave does.

Prints, for each, whether the product comes after the first instruction that turns lanes off.
"""

import json

from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import profile_for
from autoclave.compiler.renderers.hip import keep_matrix_products_whole, start_under_loader

NAME = "product"
SOURCE = """
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef float float8 __attribute__((ext_vector_type(8)));
extern "C" __attribute__((device, const)) unsigned long __ockl_get_local_id(unsigned int);
extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(1, 32))) product(float8* c, half8* a, half8* b) {
  int lane = __ockl_get_local_id(0);
  float8 sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a[lane], b[lane], (float8)(0.0f));
  if (lane < 8) c[lane] = sum;
}
"""


def product_is_masked() -> bool:
    """Whether comgr, as it is set up now, puts the product where lanes are off."""
    from tinygrad.runtime.support.compiler_amd import compile_hip

    from autoclave.emulator.rdna4.disassembly import decode

    (instructions,) = decode([(NAME, compile_hip(SOURCE, "gfx1200"))])
    names = [instruction.text.split()[0] for instruction in instructions]
    product = next(index for index, name in enumerate(names) if "wmma" in name)
    masked = [index for index, name in enumerate(names) if "saveexec" in name or name.startswith("v_cmpx")]
    return bool(masked) and masked[0] < product


if __name__ == "__main__":
    start_under_loader()
    prepare_environment(profile_for("chestnut", "hip"))
    before = product_is_masked()
    keep_matrix_products_whole()
    print(json.dumps([before, product_is_masked()]))
