"""Mutations of a valid artifact: bytes, lengths, offsets, header fields, and headers made to blow up when parsed."""

import copy
import json
import random
import struct
from collections.abc import Iterator
from typing import Any

from artifact.sample_artifacts import HEADER_AT, join_file, split_file

from autoclave.artifact.codec import parse_budget, parse_cost

EXTREMES: tuple[Any, ...] = (
    -1,
    0,
    1,
    2,
    255,
    256,
    4096,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    (1 << 53) - 1,
    1 << 53,
    (1 << 63) - 1,
    1 << 64,
    10**40,
    -(1 << 31),
    True,
    False,
    None,
    1.5,
    1e300,
    "",
    "x",
    "\x1b[2J",
    "é" * 100,
    [],
    [0],
    [[], []],
    {},
    {"a": {}},
)
"""What a field of a header may be replaced with."""

_OFFSETS = (
    0,
    1,
    28,
    255,
    256,
    4095,
    4096,
    4097,
    4352,
    1 << 31,
    (1 << 32) - 1,
    1 << 53,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
)


def mutations(valid: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """`count` mutations of the artifact `valid`, the same for one seed: a name for messages, and the file's bytes."""
    chance = random.Random(seed)
    for number in range(count):
        mutate = chance.choice(_MUTATIONS)
        yield f"{number} {mutate.__name__.strip('_')} (seed {seed})", mutate(valid, chance)


def _flipped_bits(valid: bytes, chance: random.Random) -> bytes:
    data = bytearray(valid)
    for _ in range(chance.randint(1, 8)):
        data[chance.choice((chance.randrange(64), chance.randrange(len(data))))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _flipped_header_bytes(valid: bytes, chance: random.Random) -> bytes:
    data = bytearray(valid)
    offset, length = HEADER_AT.unpack_from(valid, 12)
    for _ in range(chance.randint(1, 4)):
        data[offset + chance.randrange(length)] = chance.randrange(256)
    return bytes(data)


def _cut_short(valid: bytes, chance: random.Random) -> bytes:
    return valid[: chance.choice((chance.randrange(4200), chance.randrange(len(valid))))]


def _lengthened(valid: bytes, chance: random.Random) -> bytes:
    return valid + chance.randbytes(chance.choice((1, 256, 4096, 100_000)))


def _extreme_preamble(valid: bytes, chance: random.Random) -> bytes:
    data = bytearray(valid)
    offset, length = HEADER_AT.unpack_from(valid, 12)
    near = (offset, length, offset + length, len(valid))
    values = [
        chance.choice((*_OFFSETS, *near, *(value + chance.choice((-256, -1, 1, 256)) for value in near))) for _ in "ol"
    ]
    if chance.random() < 0.5:
        values[chance.randrange(2)] = (offset, length)[chance.randrange(2)]
    struct.pack_into("<QQ", data, 12, *values)
    if chance.random() < 0.2:
        struct.pack_into("<I", data, 8, chance.choice((0, 2, 1 << 31, (1 << 32) - 1)))
    return bytes(data)


def _changed_fields(valid: bytes, chance: random.Random) -> bytes:
    sections, header = split_file(valid)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        _change(header, chance)
    return join_file(sections, _spelled(header).encode())


def _change(header: Any, chance: random.Random) -> None:
    holder, key = chance.choice(list(_places(header)))
    kind = chance.randrange(6)
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[chance.choice(("kind", "x", "", "offset", "__class__"))] = copy.deepcopy(chance.choice(EXTREMES))
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[chance.randrange(len(holder))]))
    elif kind == 3 and type(holder[key]) is int:
        holder[key] += chance.choice((-4096, -256, -2, -1, 1, 2, 256, 4096))
    elif kind == 4 and isinstance(holder[key], list):
        holder[key] = [copy.deepcopy(item) for _ in range(chance.choice((0, 2, 100))) for item in holder[key]]
    else:
        holder[key] = copy.deepcopy(chance.choice(EXTREMES))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _swollen(valid: bytes, chance: random.Random) -> bytes:
    """A header of up to some megabytes of small values, which take many times their text in memory."""
    item = chance.choice(SWELLING)
    count = chance.choice((1000, 10_000, 50_000, 200_000, 2_000_000)) // len(item)
    if chance.random() < 0.5:
        return join_file(valid[:4096], f"[{','.join([item] * count)}]".encode())
    return _with_metadata(valid, item, count)


def swell_to_the_limit(valid: bytes, item: str) -> bytes:
    """The artifact with as many of `item` in its metadata as the reader's own estimate lets pass."""
    low, high = 1, 4_000_000 // len(item)
    while low < high:
        middle = (low + high + 1) // 2
        data = _with_metadata(valid, item, middle)
        offset, _ = HEADER_AT.unpack_from(data, 12)
        low, high = (middle, high) if parse_cost(data[offset:]) <= parse_budget(len(data)) else (low, middle - 1)
    return _with_metadata(valid, item, low)


def _with_metadata(valid: bytes, item: str, count: int) -> bytes:
    return _with_spelled_metadata(valid, f"[{','.join([item] * count)}]")


def _with_spelled_metadata(valid: bytes, text: str) -> bytes:
    sections, header = split_file(valid)
    header["metadata"] = "MARK"
    return join_file(sections, _spelled(header).replace('"MARK"', f'{{"x":{text}}}').encode())


def _spelled(header: Any) -> str:
    return json.dumps(header, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


SWELLING = (
    "[]",
    "{}",
    "[[]]",
    '{"":0}',
    '{"":{}}',
    '[{"":[]}]',
    "[[[[[[[[1]]]]]]]]",
    "300",
    "1e9",
    "0.1",
    "12345678901234567890",
    '"ab"',
    '"é"',
    '"\U0001f600"',
    '"' + "a" * 200 + '\U0001f600"',
    '"' + "a" * 200 + '\u4e2d"',
    "null",
    "0",
    '{"a":0,"b":1,"c":2}',
    '{"a":[],"b":[],"c":[],"d":[],"e":[],"f":[]}',
)
"""Texts of small JSON values that take much memory."""


def _long_strings(valid: bytes, chance: random.Random) -> bytes:
    sections, header = split_file(valid)
    holder, key = chance.choice([place for place in _places(header) if isinstance(place[0][place[1]], str)])
    holder[key] = chance.choice(("a", "é", "\U0001f600", "a" * 63 + "\U0001f600")) * chance.choice(
        (1000, 10_000, 100_000)
    )
    return join_file(sections, header)


def _nested(valid: bytes, chance: random.Random) -> bytes:
    depth = chance.choice((10, 31, 32, 33, 100, 900, 1000, 5000, 100_000, 300_000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}")))
    middle = "" if opening == "[" else "0"
    text = opening * depth + middle + closing * chance.choice((depth, depth, 0))
    return join_file(valid[:4096], text.encode()) if chance.random() < 0.5 else _with_spelled_metadata(valid, text)


def _repeated_records(valid: bytes, chance: random.Random) -> bytes:
    """Well-formed lists of very many records: the work per record must stay small."""
    sections, header = split_file(valid)
    holder, key = chance.choice([place for place in _places(header) if isinstance(place[0][place[1]], list)])
    items = holder[key] or [0]
    holder[key] = items * (chance.choice((1000, 10_000, 50_000)) // len(items))
    return join_file(sections, header)


def _sparse(valid: bytes, chance: random.Random) -> bytes:
    """The header moved behind zeros: a larger file may ask for more memory, but not for more than its share."""
    sections, header = split_file(valid)
    return join_file(sections + bytes(256 * chance.choice((1, 400, 4000))), header)


def _swollen_and_padded(valid: bytes, chance: random.Random) -> bytes:
    data = _swollen(valid, chance)
    offset, length = HEADER_AT.unpack_from(data, 12)
    return join_file(data[:offset] + bytes(256 * chance.choice((400, 4000, 8000))), data[offset:])


_MUTATIONS = (
    _flipped_bits,
    _flipped_header_bytes,
    _cut_short,
    _lengthened,
    _extreme_preamble,
    _extreme_preamble,
    _changed_fields,
    _changed_fields,
    _changed_fields,
    _changed_fields,
    _changed_fields,
    _changed_fields,
    _swollen,
    _long_strings,
    _nested,
    _repeated_records,
    _sparse,
    _swollen_and_padded,
)
