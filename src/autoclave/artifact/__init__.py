"""The artifact: a plain file of weights, kernels and a launch list. Nothing in it is executed by loading it."""
