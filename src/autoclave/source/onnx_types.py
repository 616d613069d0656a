"""ONNX element types: their numbers in the file, their names here, and how their data is stored.

Names are numpy's where numpy has one, else ONNX's in lower case. From onnx.proto, `TensorProto.DataType`.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type.

    `bits` is the size of an element in raw data (0: no fixed size); `typed_field` the number of the TensorProto field
    that holds the elements when they are not raw data; `typed_width` how many values of that field make one element, as
    an exact fraction: dimensions of a hostile file are beyond what a float can hold.
    """

    number: int
    name: str
    bits: int
    typed_field: int
    typed_width: Fraction = Fraction(1)


FLOAT_DATA, INT32_DATA, STRING_DATA, INT64_DATA, DOUBLE_DATA, UINT64_DATA = 4, 5, 6, 7, 10, 11

ELEMENT_TYPES: dict[int, ElementType] = {
    element.number: element
    for element in (
        ElementType(1, "float32", 32, FLOAT_DATA),
        ElementType(2, "uint8", 8, INT32_DATA),
        ElementType(3, "int8", 8, INT32_DATA),
        ElementType(4, "uint16", 16, INT32_DATA),
        ElementType(5, "int16", 16, INT32_DATA),
        ElementType(6, "int32", 32, INT32_DATA),
        ElementType(7, "int64", 64, INT64_DATA),
        ElementType(8, "string", 0, STRING_DATA),
        ElementType(9, "bool", 8, INT32_DATA),
        ElementType(10, "float16", 16, INT32_DATA),
        ElementType(11, "float64", 64, DOUBLE_DATA),
        ElementType(12, "uint32", 32, UINT64_DATA),
        ElementType(13, "uint64", 64, UINT64_DATA),
        ElementType(14, "complex64", 64, FLOAT_DATA, Fraction(2)),
        ElementType(15, "complex128", 128, DOUBLE_DATA, Fraction(2)),
        ElementType(16, "bfloat16", 16, INT32_DATA),
        ElementType(17, "float8e4m3fn", 8, INT32_DATA),
        ElementType(18, "float8e4m3fnuz", 8, INT32_DATA),
        ElementType(19, "float8e5m2", 8, INT32_DATA),
        ElementType(20, "float8e5m2fnuz", 8, INT32_DATA),
        ElementType(21, "uint4", 4, INT32_DATA, Fraction(1, 2)),
        ElementType(22, "int4", 4, INT32_DATA, Fraction(1, 2)),
        ElementType(23, "float4e2m1", 4, INT32_DATA, Fraction(1, 2)),
        ElementType(24, "float8e8m0", 8, INT32_DATA),
        ElementType(25, "uint2", 2, INT32_DATA, Fraction(1, 4)),
        ElementType(26, "int2", 2, INT32_DATA, Fraction(1, 4)),
    )
}
