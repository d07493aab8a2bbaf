"""Decoders in Verilog against the golden model: every pair of scale byte and code, for all formats, destinations and
profiles; and planted bugs.
"""

import re
import shutil
import subprocess
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mxcast
from mxcast.hdl import BlockDecoder, DecoderArchitecture, Lane, Structure, decoder_config, emit, supports, verilog
from mxcast.hdl.decode import element as element_decoder
from mxcast.hdl.decode import table_factor
from mxcast.hdl.decode import word as decoded_word
from mxcast.hdl.emission.emit import TABLE_WAIVER, WAIVER
from mxcast.hdl.emission.modules import convert_all
from mxcast.hdl.primitives import known, rounding
from mxcast.models import quantize
from mxcast.models.arrays.source import DTYPES
from mxcast.models.fast.decode import decode_blocks
from mxcast.sim.check.self_checking import bench
from mxcast.sim.check.verification import verify
from mxcast.sim.decode.simulation import DecodeSimulation
from mxcast.sim.run.verilator.driver import Driver, build
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.spec import BLOCKS, DECODERS, DecodedNan, Kind, Role, Rounding, ScaleReading, block_format, decoding

from ...configurations import in_turn

DESTINATIONS = ["fp32", "bf16", "fp16"]
LANES = 2


def rules_of(width: int, destination: str):
    """All profiles of the formats of so many bits, and for each of these formats other rules in turn."""
    blocks = [block.resized(LANES) for block in BLOCKS.values() if block.element.bits == width]
    found = [decoding(block, profile, destination=destination) for block in blocks for profile in DECODERS]
    for number, block in enumerate(blocks):
        for turn, (reading, nan) in enumerate(zip(ScaleReading, [*DecodedNan, DecodedNan.PAYLOAD])):
            found.append(
                decoding(
                    block,
                    destination=destination,
                    scale_reading=reading,
                    rounding=["rna", "rtz", "rne"][(turn + number) % 3],
                    overflow=["inf", "saturate"][turn % 2],
                    subnormals=["exact", "flush"][turn // 2],
                    nan=nan,
                )
            )
    return list(dict.fromkeys(found))


def by_tables(width: int, destination: str):
    """Rules that tables support, of formats of so many bits: all of `rules_of`, and every fifth of the others, also of
    formats without a standard.
    """
    others = {4: (), 6: ("e4m1",), 8: ("e4m3_ieee",)}[width]
    elements = [block.element.name for block in BLOCKS.values() if block.element.bits == width]
    found = rules_of(width, destination)
    for number, block in enumerate(block_format(name).resized(LANES) for name in (*elements, *others)):
        rules = list(product(["e8m0", "power", "signed"], DecodedNan, ["inf", "saturate"], ["exact", "flush"]))
        for turn, (reading, nan, overflow, subnormals) in list(enumerate(rules))[number % 5 :: 5]:
            found.append(
                decoding(
                    block,
                    destination=destination,
                    scale_reading=reading,
                    nan=nan,
                    overflow=overflow,
                    subnormals=subnormals,
                    zero=["signed", "positive"][(turn + number) % 2],
                )
            )
    return [rules for rules in dict.fromkeys(found) if supports(Lane.TABLES, (rules,))]


def side_by_side(family, **hardware) -> Driver:
    """Decoders on one input, each with its own output, in one Verilated design."""
    tops = {f"d{number}": decoder_config(rules, **hardware) for number, rules in enumerate(family)}
    text = convert_all({top: BlockDecoder(config) for top, config in tops.items()})
    *entering, leaving = family[0].ports
    ports = [*entering, *(replace(leaving, name=f"y{number}") for number in range(len(family)))]
    declared = ", ".join(f"{port.direction} [{port.width - 1}:0] {port.name}" for port in ports)
    lines = [f"module side_by_side({declared});"]
    lines += [f"  {top} u{top} (.p(p), .scale(scale), .y(y{top[1:]}));" for top in tops]
    whole = "\n".join([WAIVER, TABLE_WAIVER, *lines, "endmodule", *text.values()])
    return Driver(build(whole, "side_by_side", ports), ports)


def pairs_compared(family, **hardware) -> int:
    """Compare decoders with the model for every pair of scale byte and code; returns the number of numbers."""
    design, compared = side_by_side(family, **hardware), 0
    for blocks in DecodeSimulation(family[0]).pairs():
        codes, scales = blocks[Role.CODES], blocks[Role.SCALE]
        shape = codes.shape
        made = {f"y{number}": np.empty(shape, f"u{family[0].destination.bits // 8}") for number in range(len(family))}
        design.fill({"p": codes, "scale": scales}, made)
        for number, rules in enumerate(family):
            y = np.empty(shape, DTYPES[rules.destination.name])
            decode_blocks(scales[:, 0], codes, rules, y)
            np.testing.assert_array_equal(made[f"y{number}"], y.view(f"u{y.itemsize}"), str(rules.by_name()))
            compared += y.size
    return compared


@pytest.mark.sampled(2)
@pytest.mark.parametrize("width, destination", in_turn([4, 6, 8], DESTINATIONS))
def test_every_pair_of_every_profile(width, destination, record_property):
    family = rules_of(width, destination)
    record_property("comparisons", compared := pairs_compared(family))
    assert compared == len(family) * LANES * (256 << width)


@pytest.mark.parametrize(
    "destination, structure", [("fp32", "kept"), pytest.param("bf16", "flat", marks=pytest.mark.slow)]
)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", [4, 6, 8])
def test_every_pair_by_tables(width, destination, structure, record_property):
    family = by_tables(width, destination)
    record_property("comparisons", compared := pairs_compared(family, lane="tables", structure=structure))
    assert len(family) >= 10 and compared == len(family) * LANES * (256 << width)


def test_where_tables_stand_in():
    """The target chooses tables if they support the rules, and the shifted lane otherwise."""
    assert decoder_config("e4m3", target="xcu").microarchitecture == DecoderArchitecture(
        lane=Lane.TABLES, structure=Structure.KEPT
    )
    for fields in ({"destination": "fp16"}, {"rounding": "sr"}, {"profile": "te"}, {"overflow": "saturate"}):
        profile = fields.pop("profile", None)
        assert decoder_config("e4m3", profile, target="xcu", **fields).microarchitecture == DecoderArchitecture()
        with pytest.raises(ValueError, match="^tables decode elements of one to three fraction bits .*leave lane as"):
            decoder_config("e4m3", profile, lane="tables", **fields)
    assert decoder_config("int8", target="xcu").microarchitecture.lane is Lane.SHIFT
    lanes = [decoder_config(name, target="asic").microarchitecture.lane for name in ("e2m1", "e3m2", "e4m3")]
    assert lanes == [Lane.SHIFT, Lane.TABLES, Lane.TABLES]


WHOLE = [
    ("e4m3", "ocp", {}),
    ("e5m2", "ocp", {"destination": "fp16", "rounding": "sr", "random_bits": 5}),
    ("e5m10", "ocp", {"destination": "bf16", "block_size": 3}),
    ("int16", "ocp", {"destination": "bf16", "rounding": "sr", "random_bits": 16, "block_size": 4}),
    ("e2m1", "gpt_oss", {"rounding": "sr", "destination": "fp16"}),
    ("e5m2", "idma", {"registered_after": "scale,sum"}),
    ("int8", "torchao", {"registered_after": "input,scale,read,sum,shifted,output"}),
    ("e2m3", "ocp", {"registered_after": "shifted", "rounding": "sr", "destination": "fp16"}),
    ("e5m2", "ocp", {"registered_after": "scale,read,sum,shifted", "lane": "tables"}),
    ("e4m3", "ocp", {"registered_after": "input,scale,read,sum,shifted,output", "target": "xcu"}),
    ("e2m3", "ocp", {"registered_after": "shifted", "lane": "tables"}),
    ("e5m2", "idma", {"registered_after": "sum", "target": "xcu"}),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("rules", WHOLE, ids=str)
def test_whole_decoders(rules):
    """Decoders of 32 lanes, with wide elements, random bits, and registers with gaps on both sides."""
    name, profile, fields = rules
    result = verify(decoder_config(name, profile, **fields), blocks=5000, seed=3)
    assert result.passed, result.report
    assert result.counts["pairs"] >= 4096 and result.counts["random"] == 5000


def wrong_reference(monkeypatch):
    right = element_decoder._reference
    monkeypatch.setattr(element_decoder, "_reference", lambda element: right(element) + 1)


def unshifted_subnormals(monkeypatch):
    def significand(m, exponent, fraction, is_small, rules, limits):
        places = rules.destination.man_bits - len(fraction)
        return element_decoder.Cat(element_decoder.Const(0, places), fraction), 0

    monkeypatch.setattr(element_decoder, "_significand", significand)


def changed_reader(kind, change):
    def plant(monkeypatch):
        right = element_decoder.READERS[kind]
        monkeypatch.setitem(element_decoder.READERS, kind, lambda element, p: change(*right(element, p)))

    return plant


def wrong_entry(monkeypatch):
    right = known.Tables.of

    def of(tables, name, function):
        entry = 5 if name == "fraction20" else None
        return right(tables, name, function if entry is None else replace(function, table=function.table ^ 1 << entry))

    monkeypatch.setattr(known.Tables, "of", of)


def other_nan(monkeypatch):
    monkeypatch.setitem(decoded_word.NANS, DecodedNan.CANONICAL, decoded_word.NANS[DecodedNan.ALL_ONES])


def without_scale_nan(monkeypatch):
    monkeypatch.setitem(element_decoder.FLAGS, ScaleReading.E8M0, {})


BUGS = {
    "the bias is off by one": ("e4m3", wrong_reference),
    "a subnormal result is not shifted": ("e5m2", unshifted_subnormals),
    "-0 is lost": ("e2m1", changed_reader(Kind.FLOAT, lambda s, f, m, k: (s & ~k["is_zero"], f, m, k))),
    "a scale of NaN is ignored": ("e3m2", without_scale_nan),
    "Inf is NaN": (
        "e5m2",
        changed_reader(Kind.FLOAT, lambda s, f, m, k: (s, f, m, {**k, "is_nan": f.all(), "is_inf": f[0] & 0})),
    ),
    "the sign of INT8 is inverted": ("int8", changed_reader(Kind.FIXED, lambda s, f, m, k: (~s, f, m, k))),
}


BUGS_OF_TABLES = {
    "one entry of a table is wrong": ("e4m3", wrong_entry),
    "NaN has another fraction": ("e5m2", other_nan),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("bug", [*BUGS, *BUGS_OF_TABLES])
def test_a_planted_bug_is_found(bug, monkeypatch):
    name, plant = {**BUGS, **BUGS_OF_TABLES}[bug]
    plant(monkeypatch)
    result = verify(
        decoder_config(name, block_size=2, lane="tables" if bug in BUGS_OF_TABLES else "shift"), stimuli="pairs"
    )
    assert not result.passed and result.mismatched_blocks
    assert re.search(
        r"pairs block \d+: scale 0x..\n    element \d: code 0x\w+, expected 0x\w{8}, got 0x", result.report
    )


def test_tables_that_contradict_the_sums_are_refused(monkeypatch):
    right = table_factor.FactorPlan.first_beyond
    monkeypatch.setattr(table_factor.FactorPlan, "first_beyond", lambda plan, byte: right(plan, byte) + 1)
    with pytest.raises(ValueError, match="^the inputs of a table do not decide it$"):
        verilog(decoder_config("e4m3", lane="tables"))


def test_the_tie_is_rounded_to_even_and_a_carry_goes_on(monkeypatch):
    """A bug in a rounding is found too."""
    monkeypatch.setitem(rounding.ROUNDINGS, Rounding.RNE, lambda last, below, sticky, random: below)
    assert not verify(decoder_config("e5m2", destination="fp16", block_size=2), stimuli="pairs").passed


def test_registers_that_move_when_they_should_not_are_found():
    config = decoder_config("e2m1", registered_after="scale,sum")
    text = verilog(config, "dut")
    assert verify(config, blocks=2000, design=driver_of(text, "dut", config, lint=False)).passed
    for right, wrong, said in (
        ("if (i_ready) base <= ", "base <= ", "expected 0x"),
        ("else if (i_ready) o_valid <= ", "else o_valid <= ", "with the gaps of seed 0"),
    ):
        assert right in text
        design = driver_of(text.replace(right, wrong), "dut", config, lint=False)
        result = verify(config, blocks=2000, design=design)
        assert not result.passed and said in result.report


def test_the_stable_interface():
    q = quantize(np.random.default_rng(5).standard_normal((4, 64)).astype(np.float32), "e4m3")
    design = mxcast.verilate("e4m3", op="decode", profile="ocp", destination="fp32")
    np.testing.assert_array_equal(design(q).view(np.uint32), mxcast.dequantize(q).view(np.uint32))
    with pytest.raises(ValueError, match="^the rules decode mxfp8_e4m3, and the array is mxfp4_e2m1$"):
        design(quantize(np.ones(32, np.float32), "e2m1"))
    with pytest.raises(ValueError, match="^unknown operation 'decod': did you mean 'decode'"):
        mxcast.verilate("e4m3", op="decod")


@pytest.mark.parametrize("registers", ["", "scale,sum"])
def test_the_bench_beside_the_verilog(registers, tmp_path):
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    config = decoder_config("e5m2", registered_after=registers, block_size=4)
    files = emit(config, tmp_path, "dut", bench=bench(config, "dut"))
    folder = files["verilog"].parent
    for text, verdict in ((files["verilog"].read_text(), "PASS"), (_broken(files["verilog"].read_text()), "FAIL")):
        (tmp_path / "dut.v").write_text(text)
        command = ["iverilog", "-g2005", "-Wall", "-s", "dut_tb", "-o", "tb", "dut.v", folder / "dut_tb.v"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        said = subprocess.run(["vvp", "tb"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert said.strip().splitlines()[-1].startswith(verdict)


def _broken(text: str) -> str:
    """With another condition for results beyond all numbers."""
    broken = re.sub(r"8'hff", "8'hfe", text, count=1)
    assert broken != text
    return broken


def test_names_and_ports():
    about = decoder_config(block_format("e4m3"), "te")
    assert verilog(about).startswith("// mxfp8_e4m3_decode_te: mxfp8_e4m3 to fp32 block decoder\n")
    with pytest.raises(ValueError, match="^name must differ from the signals of the top module"):
        verilog(about, "base")
    with pytest.raises(ValueError, match="^unknown stage boundary 'level1'"):
        decoder_config("e4m3", registered_after="level1")
    with pytest.raises(TypeError, match="^a DecoderConfig is complete"):
        decoder_config(about, "ocp")
    assert [port.name for port in decoder_config("e4m3", rounding="sr").ports] == ["p", "scale", "random", "y"]
