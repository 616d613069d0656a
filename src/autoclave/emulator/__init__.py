"""GPU emulators: an artifact's own machine code, run without the device, bit for bit and fast.

`a630` runs Qualcomm Adreno a630 code (IR3). A kernel is decoded to typed records, translated to vectorised LLVM IR with
one SIMD lane per GPU thread, and compiled for this machine; a scalar interpreter, which shares the decoder alone, checks it.
"""
