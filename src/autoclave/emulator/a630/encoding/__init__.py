"""How a630 instructions are encoded: one table, from which decoder, encoder and printer follow.

The facts are those of Mesa 25.2, src/freedreno/isa/ir3-*.xml (isaspec); the description is this project's own.
"""
