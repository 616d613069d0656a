"""How gfx1200 instructions are encoded: tables of forms, from which decoder, encoder and printer follow.

The facts are those of AMD's "RDNA4 Instruction Set Architecture Reference Guide" and of its machine-readable edition; the
description is this project's own. It covers what compute kernels use: no images, exports, interpolation or ray tracing.
"""
