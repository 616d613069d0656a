"""ONNX files: reading their structure, verifying them against what was declared, and making synthetic ones.

`onnx_scanner`, `preflight` and `check` need the standard library only. `synthetic` and `upcast` also need the `onnx`
and numpy packages, which are toolchain components.
"""
