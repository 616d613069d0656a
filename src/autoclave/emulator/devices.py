"""Which emulated GPU stands behind a device of tinygrad's, as artifacts name it in their target."""

DEVICES = {"QCOM": "a630", "AMD": "gfx1200"}
"""The GPUs' names, by the devices'."""
