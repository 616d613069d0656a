"""Renderers that tinygrad does not have: LLVM 20 through llvmlite, and Mesa's IR3 output as plain fields."""
