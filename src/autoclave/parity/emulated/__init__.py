"""Parity of artifacts that run on the emulator: those for GPUs. Entry modules of their own, so that CPU artifacts do not depend on it."""
