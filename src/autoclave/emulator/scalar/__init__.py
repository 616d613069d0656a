"""Exact scalar arithmetic on bit patterns, in plain Python: what `vector` does, one value at a time.

Modules are the interface: `single.add(a, b)`. Patterns are unsigned Python integers; integers are Python's, signed.

    single, half: add, multiply, multiply_add (not fused), maximum, minimum, saturate, negate, absolute, identity (absneg.f),
        sign, floor, ceiling, truncate, round_even, less, less_equal, equal; rcp, rsq, sqrt, exp2, log2, sin, cos (the half ones
        through f32, then toward zero)
    conversion: half_to_single; single_to_half_ROUNDING (cov); narrow_toward_zero (f32 result to a half destination),
        narrow_nearest_even (f16 result taken in f32); single_to_integer_ROUNDING(a, lowest, highest);
        integer_to_single_ROUNDING(value), integer_to_half_ROUNDING(value); ROUNDING: toward_zero, nearest_even,
        toward_positive, toward_negative
    patterns: value32, round32, value16, round16, flush32, canonical32, ... and the constants NAN32, NAN16, ...

A (neg) or (abs) on a source is `negate` or `absolute` of the pattern before the operation. A half destination of a full
operation takes `conversion.narrow_toward_zero`; a full destination of a half operation `conversion.half_to_single`; (sat)
comes before either.
"""

from autoclave.emulator.scalar import conversion, half, patterns, single

__all__ = ["conversion", "half", "patterns", "single"]
