"""Parity of a630 artifacts (QCOM), which run on the emulator. Entry modules of their own, so that CPU artifacts do not depend on it."""
