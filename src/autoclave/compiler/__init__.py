"""The compiler: an ONNX model and a hardware name become an artifact, on a machine that has none of the hardware.

The way of a model: `request` says what to compile, `profiles` says for which hardware and with which settings,
`environment` makes the process independent of the machine, an adapter (`adapters`) lets tinygrad schedule and compile the
kernels, and `lowering` turns what was captured into the artifact's sections and header.
"""
