"""Autoclave: reproducible, content-addressed artifacts of driving models, built without the hardware they run on."""

__version__ = "0.1.0"
