"""Where each output lies in a driving model's output tensor: `output_slices`, as ONNX metadata and as plain JSON.

openpilot's ONNX files hold it as the base64 of a pickle of a dict from names to slices, which is read without
unpickling. In our own metadata the same is JSON: `{"plan": [917, 1907], "pad": [-2, null]}`.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from autoclave.driving.pickled_slices import read_pickled_slices
from autoclave.driving.slice_values import MAX_OUTPUTS, OutputSlicesError, check_name, checked_slice, shown

MAX_TEXT = 256 << 10
"""Characters of base64; that of a real model has some 800."""


def decode_output_slices(text: str) -> dict[str, slice]:
    """Read the value of the metadata property `output_slices` of an ONNX file: base64, line breaks allowed.

    The slices are as the file says, so bounds may be negative or `None`; steps other than 1 are refused. Raises
    `OutputSlicesError` that names the byte, and the opcode or global that has no place here.
    """
    if len(text) > MAX_TEXT:
        raise OutputSlicesError(f"output_slices: {len(text)} characters; at most {MAX_TEXT} are read")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise OutputSlicesError(f"output_slices is not base64: {error}") from None
    return read_pickled_slices(data)


def output_slices_to_json(slices: Mapping[str, slice]) -> dict[str, list[int | None]]:
    """The slices as `{name: [start, stop]}`, for JSON."""
    return {name: [value.start, value.stop] for name, value in slices.items()}


def output_slices_from_json(value: Any) -> dict[str, slice]:
    """Read what `output_slices_to_json` wrote. Raises `OutputSlicesError`."""
    if not isinstance(value, dict):
        raise OutputSlicesError(f"output_slices is {shown(value)}; expected an object from names to [start, stop]")
    if len(value) > MAX_OUTPUTS:
        raise OutputSlicesError(f"output_slices: {len(value)} names; at most {MAX_OUTPUTS} are read")
    slices = {}
    for name, bounds in value.items():
        check_name(name, "output_slices")
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise OutputSlicesError(f"output_slices: {name} is {shown(bounds)}; expected [start, stop]")
        slices[name] = checked_slice((*bounds, None), f"output_slices: {name}")
    return slices
