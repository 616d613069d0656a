"""tinygrad's device AMD: kernels that LLVM compiles for gfx1200, launched as on the device."""
