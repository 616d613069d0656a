"""gfx1200 kernels as LLVM IR: one lane of a vector for each lane of a wave."""
