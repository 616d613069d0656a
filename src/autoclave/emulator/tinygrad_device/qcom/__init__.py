"""tinygrad's device QCOM: kernels that Mesa compiles for the a630, launched as on the device."""
