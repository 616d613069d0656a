"""Kernels as instructions. Each instruction set has a module; the libraries they lean on are optional."""
