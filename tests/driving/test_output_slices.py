"""`output_slices` is read as Python would unpickle it, and nothing that a pickle can do besides happens."""

import base64
import codecs
import contextlib
import io
import json
import pickle
import struct
import time
from typing import Any

import pytest

from autoclave.driving.output_slices import (
    MAX_TEXT,
    decode_output_slices,
    output_slices_from_json,
    output_slices_to_json,
)
from autoclave.driving.slice_values import MAX_OUTPUTS, OutputSlicesError
from autoclave.source.driving_model import encode_slices, output_slices, whole_widths

SLICES = {
    "plan": slice(0, 4955),
    "a long name" * 8: slice(4955, 70000),
    "Straße": slice(-(1 << 30), 5483, None),
    "hidden_state": slice(5992, None),
    "one_step": slice(1, 300, 1),
    "pad": slice(-2, None),
}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def refusal(data: bytes) -> str:
    with pytest.raises(OutputSlicesError) as caught:
        decode_output_slices(encoded(data))
    return str(caught.value)


def same(slices: dict[str, slice]) -> dict[str, tuple[int | None, int | None]]:
    return {name: (value.start, value.stop) for name, value in slices.items()}


@pytest.mark.parametrize("protocol", range(6))
def test_every_protocol_of_pickle_is_read(protocol: int) -> None:
    slices = {name: value for name, value in SLICES.items() if protocol or name.isascii()}
    read = decode_output_slices(encoded(pickle.dumps(slices, protocol)))
    assert same(read) == same(slices) and list(read) == list(slices)


def test_the_pickler_written_in_python_is_read_as_well() -> None:
    """It writes long forms that the one in C avoids, and splits large dicts into several batches."""
    many = {f"output{number}": slice(number, number + 1) for number in range(MAX_OUTPUTS)}
    for protocol in range(6):
        assert same(decode_output_slices(encoded(pickle._dumps(many, protocol)))) == same(many)


def test_line_breaks_are_allowed_as_openpilot_writes_them() -> None:
    text = codecs.encode(pickle.dumps(SLICES), "base64").decode()
    assert "\n" in text
    assert same(decode_output_slices(text)) == same(SLICES)


def test_the_slices_of_a_synthetic_model_are_read() -> None:
    slices = output_slices(whole_widths("v16"))
    assert same(decode_output_slices(encode_slices(slices))) == same(slices)


def test_an_empty_dict_is_read() -> None:
    assert decode_output_slices(encoded(pickle.dumps({}))) == {}


class RunsCommand:
    def __reduce__(self) -> Any:
        import os

        return os.system, ("exit 1",)


class Builds:
    """Pickles as a call of `function`."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_a_command_is_refused_by_its_name(protocol: int) -> None:
    assert "asks for the global 'posix.system'; only slice is known" in refusal(
        pickle.dumps({"plan": RunsCommand()}, protocol)
    )


@pytest.mark.parametrize(
    ("function", "name"), [(eval, "eval"), (getattr, "getattr"), (__import__, "__import__"), (range, "range")]
)
def test_other_builtins_are_refused_by_their_names(function: Any, name: str) -> None:
    assert f"asks for the global 'builtins.{name}';" in refusal(pickle.dumps({"plan": Builds(function, 1, 2)}))


def test_an_attribute_of_slice_is_no_slice() -> None:
    assert "builtins.slice.__class__" in refusal(b"\x80\x04\x8c\x08builtins\x8c\x0fslice.__class__\x93.")


@pytest.mark.parametrize(
    ("value", "opcode"),
    [
        ([slice(0, 1)], "EMPTY_LIST"),
        (1.5, "BINFLOAT"),
        (b"bytes", "SHORT_BINBYTES"),
        (True, "NEWTRUE"),
        ((1, 2), "TUPLE2"),
        ({1, 2}, "EMPTY_SET"),
        (bytearray(3), "BYTEARRAY8"),
    ],
)
def test_other_types_are_refused_by_the_name_of_their_opcode(value: Any, opcode: str) -> None:
    assert f"opcode {opcode} has no place in a dict of slices" in refusal(pickle.dumps({"plan": value}, 5))


@pytest.mark.parametrize(
    ("opcodes", "name"),
    [
        (b"\x82\x01.", "EXT1"),
        (b"(o.", "OBJ"),
        (b"(iposix\nsystem\n.", "INST"),
        (b"}b.", "BUILD"),
        (b"Pname\n.", "PERSID"),
        (b"NQ.", "BINPERSID"),
        (b"}(\x81.", "NEWOBJ"),
        (b"\x97.", "NEXT_BUFFER"),
        (b"\xff.", "0xff"),
    ],
)
def test_opcodes_that_reach_outside_are_refused_by_name(opcodes: bytes, name: str) -> None:
    assert f"opcode {name} has no place" in refusal(opcodes)


@pytest.mark.parametrize("protocol", range(6))
def test_a_truncated_pickle_is_refused_wherever_it_ends(protocol: int) -> None:
    slices = {name: value for name, value in SLICES.items() if name.isascii()}
    data = pickle.dumps(slices, protocol)
    for length in range(len(data)):
        with pytest.raises(OutputSlicesError):
            decode_output_slices(encoded(data[:length]))


def test_bytes_after_the_end_are_refused() -> None:
    assert "3 bytes follow the end" in refusal(pickle.dumps({}) + b"abc")


NAME = b"\x8c\x04plan"
SLICE = b"cbuiltins\nslice\nNK\x05N\x87R"


def test_a_name_that_occurs_twice_is_refused() -> None:
    assert decode_output_slices(encoded(b"}(" + NAME + SLICE + b"u."))  # once is well
    assert "'plan' occurs twice" in refusal(b"}(" + 2 * (NAME + SLICE) + b"u.")
    assert "'plan' occurs twice" in refusal(b"}" + 2 * (NAME + SLICE + b"s") + b".")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"N.", "the pickle is no dict"),
        (b"}}.", "the pickle is no dict"),
        (NAME + b".", "the pickle is no dict"),
        (b"}(" + NAME + b"u.", "a name lacks its slice"),
        (b"}" + NAME + b"K\x05s.", "'plan' is 5; expected a slice"),
        (b"}" + NAME + b"}s.", "'plan' is a dict; expected a slice"),
        (b"}q\x00" + NAME + b"h\x00s.", "'plan' is a dict; expected a slice"),
        (b"}K\x05" + SLICE + b"s.", "a name is 5; expected a string"),
        (b"}\x8c\x00" + SLICE + b"s.", "'' is no name"),
        (b"}\x8c\x02a\x1b" + SLICE + b"s.", "'a\\x1b' is no name"),
        (b"}\x8c\x01\xff" + SLICE + b"s.", "a string is not UTF-8"),
        (b"}\x8c\x05slice\x93.", "asks for the global '{}.slice'"),
        (b"s.", "needs a value, but none is there"),
        (b"(s.", "needs a value, but none is there"),
        (b"u.", "needs a mark, but none is there"),
        (b"N(u.", "sets items, but not of a dict"),
        (b"K\x01NNN\x87R.", "calls 1; only slice is known"),
        (b"cbuiltins\nslice\nNR.", "calls slice with None"),
        (b"(NNt.", "a tuple of None, None; expected start, stop and step"),
        (b"(NNNNt.", "expected start, stop and step"),
        (b"NNN\x87NN\x87.", "expected start, stop and step"),
        (b"cbuiltins\nslice\nNNK\x02\x87R.", "a step of 2"),
        (b"cbuiltins\nslice\nNN" + NAME + b"\x87R.", "expected start, stop and step"),
        (b"cbuiltins\nslice\nNN\x8a\x08" + bytes(7) + b"\x01\x87R.", "a bound is 72057594037927936"),
        (b"\x8a\x09" + bytes(9) + b".", "an integer of 9 bytes"),
        (b"I01\n.", "'01' is no integer"),
        (b"I--1\n.", "'--1' is no integer"),
        (b"I\n.", "'' is no integer"),
        (b"V\\u0041\n.", "a string with an escape"),
        (b"I" + b"1" * 100 + b"\n.", "is no integer"),
        (b"L\xb2\n.", "a line of text is not ASCII"),
        (b"V" + b"a" * 300 + b"\n.", "a line of text does not end within 256 bytes"),
        (b"X\xff\xff\xff\x7fabc.", "a string of 2147483647 bytes"),
        (b"h\x00.", "memo 0 is empty"),
        (b"g-1\n.", "memo -1 is empty"),
        (b"Nr\xff\xff\xff\xff.", "memo 4294967295; 0 to 4095 are kept"),
        (b"Np-1\n.", "memo -1; 0 to 4095 are kept"),
        (b"\x80\x06}.", "pickle protocol 6"),
        (b"", "the pickle is truncated"),
    ],
)
def test_misuse_of_known_opcodes_is_refused(data: bytes, what: str) -> None:
    assert what in refusal(data)


def test_what_waits_what_is_kept_and_what_is_named_are_bounded() -> None:
    assert "more than 1024 values wait" in refusal(b"N" * 100_000)
    assert "memo 4096; 0 to 4095 are kept" in refusal(b"N" + b"\x94" * 100_000)
    names = b"".join(b"\x8c\x04" + b"%04d" % number + SLICE for number in range(200))
    others = names.replace(b"\x8c\x040", b"\x8c\x041")
    assert "more than 256 names" in refusal(b"}(" + names + b"u(" + others + b"u.")


@pytest.mark.parametrize("repeated", [b"q\x00", b"(u", b"\x95" + bytes(8), b"\x80\x04"])
def test_a_pickle_that_does_as_much_as_one_can_is_soon_read(repeated: bytes) -> None:
    most = MAX_TEXT // 4 * 3 // len(repeated) - 1
    begin = time.perf_counter()
    assert decode_output_slices(encoded(b"}" + repeated * most + b".")) == {}
    assert time.perf_counter() - begin < 5


class OnlySlices(pickle.Unpickler):
    """Python's own reader, which can find nothing but `slice`."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in (("builtins", "slice"), ("__builtin__", "slice")):
            raise pickle.UnpicklingError(f"{module}.{name}")
        return slice


@pytest.mark.parametrize("protocol", range(6))
def test_random_changes_are_refused_or_read_as_python_reads_them(protocol: int) -> None:
    data = pickle.dumps({name: value for name, value in SLICES.items() if name.isascii()}, protocol)
    agreed = 0
    for place in range(len(data)):
        for value in (0, 1, 0x28, 0x2E, 0x31, 0x52, 0x73, 0x80, 0x94, 0xFF, data[place] ^ 0x10):
            changed = data[:place] + bytes([value]) + data[place + 1 :]
            try:
                read = decode_output_slices(encoded(changed))
            except OutputSlicesError:
                continue
            assert all(type(name) is str and type(each) is slice for name, each in read.items())
            # Frames only help Python to read ahead; of a damaged one it complains, and this reader does not.
            with contextlib.suppress(pickle.UnpicklingError, UnicodeDecodeError, OverflowError):
                assert same(OnlySlices(io.BytesIO(changed)).load()) == same(read)
                agreed += 1
    assert agreed > 700


@pytest.mark.parametrize("text", ["%%%%", "gAR9", "gAR9Li", "é", "gAR9Lg==gAR9Lg=="])
def test_what_is_not_base64_is_refused(text: str) -> None:
    with pytest.raises(OutputSlicesError, match="output_slices"):
        decode_output_slices(text)


def test_a_text_of_any_length_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(OutputSlicesError, match="400000 characters; at most 262144"):
        decode_output_slices("A" * 400_000)


def test_json_holds_the_same() -> None:
    written = json.loads(json.dumps(output_slices_to_json(SLICES)))
    assert written["pad"] == [-2, None] and written["plan"] == [0, 4955]
    assert same(output_slices_from_json(written)) == same(SLICES)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([], "output_slices is a list"),
        ({"plan": [0]}, r"plan is a list; expected \[start, stop\]"),
        ({"plan": "0:5"}, "plan is '0:5'"),
        ({"plan": [0, 5, 1]}, "plan is a list"),
        ({"plan": [0, 1.5]}, "plan: a bound is a float"),
        ({"plan": [True, 5]}, "plan: a bound is True"),
        ({"plan": [0, 10**5000]}, "plan: a bound is a int"),
        ({"plan": [0, None, 2]}, "plan is a list"),
        ({"": [0, 5]}, "'' is no name"),
        ({str(number): [0, 1] for number in range(257)}, "257 names; at most 256"),
    ],
)
def test_other_json_is_refused_with_what_is_wrong(value: Any, what: str) -> None:
    with pytest.raises(OutputSlicesError, match=what):
        output_slices_from_json(value)


def test_the_size_of_a_pickled_length_costs_nothing() -> None:
    assert "a string of" in refusal(b"\x8d" + struct.pack("<Q", 1 << 62) + b"abc")
