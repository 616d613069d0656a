"""Kernels as instructions. Each instruction set has a module; the libraries they lean on are optional. gfx1200's is the emulator's."""
