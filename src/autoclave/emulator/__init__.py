"""GPU emulators: an artifact's own machine code, run without the device, bit for bit and fast.

A kernel is decoded to typed records, translated to vectorised LLVM IR with one SIMD lane per GPU thread, and compiled for this
machine; a scalar interpreter, which shares the decoder alone, checks it. `a630` has what is of Qualcomm's Adreno a630 (IR3), `rdna4`
what is of AMD's gfx1200 (RDNA4); `architectures` is where the rest, which they share, finds them.
"""
