"""Casts in Verilog against the golden model: all patterns of BF16, FP16 and codes, and FP32 patterns around every code,
for every format and profile; and planted bugs.
"""

import random
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import mxcast
from mxcast.hdl import CastConfig, Caster, cast_config, config_of, emit, verilog
from mxcast.hdl.cast import number as number_cast
from mxcast.hdl.config.command import command_line
from mxcast.hdl.emission.emit import WAIVER
from mxcast.hdl.emission.modules import convert_all
from mxcast.models.fast.cast import cast_patterns
from mxcast.sim import verilate
from mxcast.sim.cast.simulation import CastSimulation
from mxcast.sim.check.self_checking import bench
from mxcast.sim.check.verification import verify
from mxcast.sim.run.verilator.driver import Driver, build
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.transactions import Transactions
from mxcast.spec import (
    CAST_RULES,
    CAST_SOURCES,
    CASTS,
    INSTRUCTIONS,
    SCALARS,
    SOURCES,
    Cast,
    CastOverflow,
    CastRounding,
    EncodedZero,
    Role,
    casting,
)

RANDOM = Role.RANDOM


def of_profiles(source: str) -> list[Cast]:
    """The casts of profiles from a format."""
    found = []
    for to in SCALARS if source in CAST_SOURCES else SOURCES:
        fields = {"source": source} if source in CAST_SOURCES else {"destination": to}
        for profile, one in CASTS.items():
            if to in dict(one.by_destination):
                found.append(casting(to if source in CAST_SOURCES else source, profile, **fields))
    return list(dict.fromkeys(found))


def of_other_rules(source: str, count: int, seed: int) -> list[Cast]:
    """Casts from a format under random rules that go together."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        rules = {name: rng.choice(list(rule)) for name, rule in CAST_RULES.items()}
        bits = {"random_bits": rng.randrange(1, 17)} if rules["rounding"] == "sr" else {}
        to = rng.choice(list(SCALARS if source in CAST_SOURCES else SOURCES))
        try:
            found.append(Cast(source=source, destination=to, **rules, **bits))
        except ValueError:  # they do not go together
            continue
    return found


def side_by_side(family: list[Cast]) -> Driver:
    """Casts of one source, each with its own output, in one Verilated design; random bits are the lowest of 16."""
    tops = {f"d{number}": CastConfig(numerics=rules) for number, rules in enumerate(family)}
    text = convert_all({top: Caster(config) for top, config in tops.items()})
    enters = replace(CastSimulation(family[0]).entering, name="given")
    ports = [enters, replace(enters, name="random", role=RANDOM, bits=16, format=None)]
    ports += [replace(CastSimulation(rules).leaving, name=f"y{number}") for number, rules in enumerate(family)]
    declared = ", ".join(f"{port.direction} [{port.width - 1}:0] {port.name}" for port in ports)
    lines = [f"module side_by_side({declared});"]
    for number, rules in enumerate(family):
        names = {CastSimulation(rules).entering.name: "given", CastSimulation(rules).leaving.name: f"y{number}"}
        names |= {"random": f"random[{rules.random_bits - 1}:0]"} if rules.random_bits else {}
        lines.append(f"  d{number} u{number} ({', '.join(f'.{port}({net})' for port, net in names.items())});")
    return Driver(build("\n".join([WAIVER, *lines, "endmodule", *text.values()]), "side_by_side", ports), ports)


def compared(design: Driver, family: list[Cast], patterns: np.ndarray) -> int:
    """Compare results for patterns (n, 1) of all casts of a family, which are `side_by_side` in a design; returns the
    count.
    """
    bits = np.random.default_rng(len(patterns)).integers(0, 1 << 16, patterns.shape, np.uint16)
    made = {f"y{n}": np.empty(patterns.shape, f"u{-(-one.destination.bits // 8)}") for n, one in enumerate(family)}
    design.fill({"given": patterns, "random": bits}, made)
    for number, rules in enumerate(family):
        wanted = np.empty_like(made[f"y{number}"])
        drawn = bits & np.uint16((1 << rules.random_bits) - 1) if rules.random_bits else None
        cast_patterns(patterns, rules, wanted, drawn)
        np.testing.assert_array_equal(made[f"y{number}"], wanted, str(rules.by_name()))
    return len(family) * len(patterns)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("source", [*SCALARS, "bf16", "fp16"])
def test_all_patterns_of_every_profile(source, record_property):
    family = [*of_profiles(source), *of_other_rules(source, 30, seed=1)]
    simulation = CastSimulation(family[0])
    patterns = np.concatenate([words[simulation.entering.role] for words in simulation.everything()])
    record_property("comparisons", counted := compared(side_by_side(family), family, patterns))
    assert counted == len(family) << family[0].source.bits and len(family) > 40


def test_fp32_of_every_profile(record_property):
    """Boundaries and random numbers of each cast, for all."""
    family = [*of_profiles("fp32"), *of_other_rules("fp32", 30, seed=2)]
    chunks = [
        words
        for seed, rules in enumerate(family)
        for _, parts in CastSimulation(rules).stimuli("standard", 10_000, seed)
        for words in parts
    ]
    patterns = np.unique(np.concatenate([words[Role.NUMBERS] for words in chunks]))[:, None]
    record_property("comparisons", counted := compared(side_by_side(family), family, patterns))
    assert counted > 20_000_000


LONG = list(
    dict.fromkeys(
        casting(to, profile)
        for profile, one in CASTS.items()
        for to in dict(one.by_destination)
        if to in SCALARS and (profile == "ptx" or to in ("e8m0", "ue4m3", "e4m3fnuz", "e5m2fnuz"))
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_all_patterns_of_fp32(part, record_property):
    """A sixteenth of the 2**32, of all casts at once: one evaluation of a design costs more than ten casts in it."""
    design, patterns = side_by_side(LONG), np.arange(1 << 22, dtype=np.uint32)[:, None]
    firsts = range(part << 28, (part + 1) << 28, len(patterns))
    record_property(
        "comparisons", counted := sum(compared(design, LONG, patterns + np.uint32(first)) for first in firsts)
    )
    assert counted == len(LONG) << 28


WHOLE = [
    *((name, {}) for name in INSTRUCTIONS if "x4" in name or "ue8m0" in name),
    ("e4m3", {"registered_after": "input,exponent,shifted,rounded,output"}),
    ("e8m0", {"registered_after": "exponent,rounded", "lanes": 4, "source": "bf16"}),
    ("e5m2", {"registered_after": "shifted", "rounding": "sr", "source": "fp16", "lanes": 2}),
    ("e8m0", {"registered_after": "exponent,shifted,rounded", "destination": "fp16"}),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rules", WHOLE, ids=str)
def test_whole_casts(rules):
    """Several lanes, random bits, and registers with gaps on both sides."""
    name, fields = rules
    result = verify(cast_config(name, **fields), blocks=5000, seed=3)
    assert result.passed, result.report
    assert result.blocks >= 256


def wrong_bias(monkeypatch):
    right = number_cast._Limits.__init__

    def wrong(limits, rules):
        right(limits, rules)
        limits.offset += 1

    monkeypatch.setattr(number_cast._Limits, "__init__", wrong)


def unshifted_subnormals(monkeypatch):
    right = number_cast._aligned

    def wrong(m, now, rules, limits):
        exponent, _, is_out = right(m, now, rules, limits)
        return exponent, now.significand, is_out

    monkeypatch.setattr(number_cast, "_aligned", wrong)


def changed_reader(change):
    def plant(monkeypatch):
        right = number_cast._read
        monkeypatch.setattr(number_cast, "_read", lambda source, x: change(*right(source, x)))

    return plant


def without_a_bit(monkeypatch):
    right = number_cast._cut
    left_out = 1 << 9
    monkeypatch.setattr(number_cast, "_cut", lambda fraction, rules: right((fraction & ~left_out)[:23], rules))


def changed_rounding(rounding, decide):
    return lambda monkeypatch: monkeypatch.setitem(number_cast.ROUNDINGS, rounding, decide)


def finite_inf(monkeypatch):
    largest = SCALARS["e4m3"].max_code
    monkeypatch.setitem(number_cast.OVERFLOWS, CastOverflow.IEEE, lambda rules: (largest, largest))


def signed_zeros(monkeypatch):
    monkeypatch.setitem(number_cast.ZEROS, EncodedZero.POSITIVE, lambda sign, was_zero, is_zero: sign)


def nothing_is_smallest(monkeypatch):
    right = number_cast._result

    def wrong(is_over, now, rules):
        now.values["is_zero"] = now.values["is_zero"] | now.is_gone
        return right(is_over, now, rules)

    monkeypatch.setattr(number_cast, "_result", wrong)


BUGS = {
    "the bias is off by one": ("e4m3", {"source": "fp32"}, wrong_bias),
    "a subnormal result is not shifted": ("e5m2", {"source": "fp32"}, unshifted_subnormals),
    "-0 is lost": ("e2m1", {"source": "bf16"}, changed_reader(lambda s, f, m, k: (s & ~k["is_zero"], f, m, k))),
    "NaN is a number": (
        "e3m2",
        {"source": "fp16"},
        changed_reader(lambda s, f, m, k: (s, f, m, {**k, "is_nan": s & ~s})),
    ),
    "one bit of the fraction is not looked at": ("e5m2", {"source": "fp32"}, without_a_bit),
    "a tie goes up": ("e4m3", {"source": "bf16"}, changed_rounding(CastRounding.RNE, lambda last, below, *rest: below)),
    "a number below the guard bit does not go up": (
        "cvt.rp.satfinite.ue8m0x2.f32",
        {},
        changed_rounding(CastRounding.RP, lambda last, below, *rest: below),
    ),
    "a tie goes away from zero": (
        "e5m2fnuz",
        {"source": "bf16", "rounding": "rnz"},
        changed_rounding(CastRounding.RNZ, lambda last, below, *rest: below),
    ),
    "Inf is finite": ("e4m3", {"source": "fp64", "rounding": "rtz", "overflow": "ieee"}, finite_inf),
    "a zero keeps its sign": ("e2m1", {"source": "fp16", "zero": "positive"}, signed_zeros),
    "the code of -0 is a number": (
        "e4m3fnuz",
        {"destination": "bf16"},
        changed_reader(lambda s, f, m, k: (s, f, m, {**k, "is_nan": s & ~s})),
    ),
    "a number far below the smallest one is zero": ("ue5m3", {"rounding": "rp"}, nothing_is_smallest),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug, monkeypatch):
    name, fields, plant = BUGS[bug]
    plant(monkeypatch)
    result = verify(cast_config(name, **fields), blocks=10_000)
    assert not result.passed and result.mismatched_blocks
    assert re.search(r"number \d: 0x\w+, expected 0x\w+, got 0x", result.report)


def test_a_word_of_ptx_has_its_first_operand_in_the_high_byte():
    config = cast_config("cvt.rp.satfinite.ue8m0x2.f32")
    design = driver_of(verilog(config, "dut"), "dut", config)
    a, b = np.float32(2).view(np.uint32), np.float32(1).view(np.uint32)
    made = design(Transactions({Role.NUMBERS: np.array([[b, a]])}))  # the word {a, b}
    assert made[Role.CODES].tolist() == [[127, 128]]


def test_the_stable_interface():
    x = np.random.default_rng(5).standard_normal((3, 5)).astype(np.float32)
    design = mxcast.verilate("e4m3", op="cast", profile="ptx", lanes=4)
    np.testing.assert_array_equal(design(x), mxcast.cast(x, "e4m3", "ptx"))
    bits = np.random.default_rng(6).integers(0, 256, x.shape)
    stochastic = mxcast.verilate("e2m1", op="cast", rounding="sr", registered_after="exponent")
    np.testing.assert_array_equal(stochastic(x, random=bits), mxcast.cast(x, "e2m1", rounding="sr", random=bits))
    codes = mxcast.cast(x, "e5m2")
    back = mxcast.verilate("e5m2", op="cast", destination="bf16", lanes=2)
    np.testing.assert_array_equal(back(codes), mxcast.uncast(codes, "e5m2", destination="bf16"))
    assert verilate("e5m2", op="cast", destination="bf16", lanes=2).driver.library == back.driver.library
    with pytest.raises(ValueError, match="^latency chooses registers by synthesis: call mxcast.verilate"):
        verilate("e5m2", op="cast", destination="bf16", latency=1)


def test_names_and_ports():
    config = cast_config("cvt.rp.satfinite.ue8m0x2.f32")
    assert verilog(config).startswith("// fp32_to_e8m0_x2_cast_ptx: fp32 to e8m0 cast\n")
    assert command_line(config) == "e8m0 --op cast --profile ptx --set lanes=2"
    assert verilog(cast_config("e4m3", destination="bf16")).startswith("// e4m3_to_bf16_cast_ocp: ")
    with pytest.raises(ValueError, match="^unknown stage boundary 'scale'"):
        cast_config("e4m3", registered_after="scale")
    with pytest.raises(ValueError, match="^unknown stage boundary 'shifted'"):
        cast_config("e8m0", registered_after="shifted")
    with pytest.raises(TypeError, match="^a CastConfig is complete"):
        cast_config(config, "ptx")
    with pytest.raises(ValueError, match="^an instruction has the profile ptx, not ocp$"):
        cast_config("cvt.rp.satfinite.ue8m0x2.f32", "ocp")
    assert config_of(config.to_dict()) == config


@pytest.mark.parametrize("registers", ["", "exponent,shifted"])
def test_the_bench_beside_the_verilog(registers, tmp_path):
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    config = cast_config("e4m3", registered_after=registers, lanes=2)
    files = emit(config, tmp_path, "dut", bench=bench(config, "dut"))
    text = files["verilog"].read_text()
    broken = text.replace("7'h7e", "7'h7d")
    assert broken != text
    for verilog_text, verdict in ((text, "PASS"), (broken, "FAIL")):
        (tmp_path / "dut.v").write_text(verilog_text)
        folder = files["verilog"].parent
        command = ["iverilog", "-g2005", "-Wall", "-s", "dut_tb", "-o", "tb", "dut.v", folder / "dut_tb.v"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        said = subprocess.run(["vvp", "tb"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert said.strip().splitlines()[-1].startswith(verdict)
