"""The modules with registers and with words of a bus are proved, and planted faults in them are refuted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from mxcast.hdl import (
    HardwareConfig,
    cast_config,
    converter_config,
    decoder_config,
    nvfp4_config,
    nvfp4_decoder_config,
    verilog,
)
from mxcast.hdl.bus.pins import BusWidths
from mxcast.hdl.emission.around import Around, controlled
from mxcast.hdl.lanes.keys import EncoderConfig
from mxcast.proof import prove
from mxcast.proof.solve.argument import Argument, Status
from mxcast.proof.solve.surround import surrounding

from ...hdl.planted import planted

E4M3 = converter_config("e4m3", lanes=4, block_size=8, interface="axis")
DECODER = decoder_config("e3m2", lanes=4, block_size=8, interface="axis", destination="bf16")
CONFIGS: dict[str, tuple[HardwareConfig, str]] = {
    "an encoder": (E4M3, "64,32"),
    "six bits": (converter_config("e2m3", lanes=8, block_size=16, source="bf16", interface="axis"), "32,1024"),
    "a decoder": (DECODER, "64,32"),
    "NVFP4": (nvfp4_decoder_config("nvfp4", lanes=4, interface="axis", destination="bf16"), "1024,256"),
    "packed blocks": (decoder_config("e4m3", lanes=4, interface="axis", scale_place="before"), "64"),
    "a cast": (cast_config("e4m3", lanes=4, interface="axis"), "32,128"),
}


def argued(
    config: HardwareConfig, bus: str, folder: Path, pattern: str = "", replacement: str = ""
) -> Iterator[Argument]:
    """The arguments about the emitted module, with a part of its text replaced."""
    around = Around(bus=BusWidths.parsed(bus))
    text = around.modules(config, "top")["bus"][1]
    text = verilog(config, "top") + (planted(text, pattern, replacement) if pattern else text)
    return surrounding(text, config, around, "top", folder, solver="bitwuzla", timeout=300)


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CONFIGS)
def test_words_of_a_bus_are_proved(name: str, tmp_path: Path) -> None:
    """Both readers, and each stream whose words have another size: every byte, its end, and its tuser."""
    arguments = list(argued(*CONFIGS[name], tmp_path))
    assert [argument.status for argument in arguments] == [Status.PASS] * 2, arguments[0].remark
    assert all(argument.remark is None for argument in arguments)
    asked = [step.question.name for step in arguments[0].steps]
    assert len(asked) == 5 * sum(name.endswith("_words") for name in asked)


FAULTS = {
    "a word leaves untaken": (r"leaves = m_tvalid & m_tready", "leaves = m_tvalid", "changes or goes"),
    "the end is lost": (r"m_tlast = (has_ended & \w+)", r"m_tlast = \1 & ends_alone", "m_tlast is not set"),
    "the end comes early": (
        r"m_tlast = has_ended & (\w+)",
        r"m_tlast = has_ended & (\1 | ~ends_alone)",
        "m_tlast is not set",
    ),
    "a packet enters behind another": (r"= running_q & \w+", "= running_q", "s_tready"),
    "a word is taken in the reset": (r"= running_q & (\w+)", r"= (running_q | ~ends_alone) & \1", "s_tready"),
    "a word enters without room": (r"s_tready = (\w+) & \w+", r"s_tready = \1", "s_tready"),
    "valid waits for ready": (r"m_tvalid = (\w+ \| has_ended)", r"m_tvalid = (\1) & m_tready", ""),
    "the last word has all its bytes": (r"m_tkeep = (keeps_q\[\d+:0\])", r"m_tkeep = \1 | {9{keeps_q[0]}}", "m_tkeep"),
    "bytes are exchanged": (
        r"m_tdata = bytes_q\[(\d+):0\]",
        r"m_tdata = { bytes_q[7:0], bytes_q[15:8], bytes_q[\1:16] }",
        "a byte is not at its place",
    ),
    "an end without bytes is lost": (r"ends = (\w+) & s_tlast", r"ends = \1 & s_tlast & s_tkeep[0]", "m_tvalid"),
}
"""A pattern in the emitted file, its replacement, and a part of what the trace shows."""


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("pattern", "replacement", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_gearbox_has_a_trace(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    argument = next(argued(E4M3, "64,32", tmp_path, pattern, replacement))
    assert argument.status is Status.FAIL and argument.trace is not None
    assert words in argument.trace.words[-1] and argument.trace.file.read_text().startswith("$timescale")


FAULTS_OF_TUSER = {
    "tuser is of each word": (r"has_begun \? m_tuser", "has_begun & ~s_tlast ? m_tuser", "m_tuser"),
    "a mark is lost": (r"m_tuser = (\S+) \| (\w+)", r"m_tuser = \1 & \2", "m_tuser"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("pattern", "replacement", "words"), FAULTS_OF_TUSER.values(), ids=FAULTS_OF_TUSER)
def test_a_fault_of_tuser_has_a_trace(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    argument = next(argued(DECODER, "64,32", tmp_path, pattern, replacement))
    assert argument.status is Status.FAIL and argument.trace is not None and words in argument.trace.words[-1]


def refused(arguments: Iterable[Argument], words: str) -> None:
    """Both readers leave the module without a proof, for a reason with these words."""
    found = list(arguments)
    assert [argument.status for argument in found] == [Status.UNKNOWN] * 2
    assert all(words in str(argument.remark) for argument in found)


WIRES = {
    "a stream is connected to another": (r"\.s_tlast\(s_axis_tlast\)", ".s_tlast(m_axis_tready)", "s_tlast of s_axis"),
    "a ready is constant": (r"\.m_axis_tready\(m_axis_tready\)", ".m_axis_tready(1'h1)", "m_axis_tready of top"),
    "a scale has no byte": (r"\.s_tkeep\(1'h1\)", ".s_tkeep(1'h0)", "s_tkeep of m_axis_scale_words"),
    "a reset does not clear the count": (r"aresetn \? (\w+) : [23]'h0;", r"\1;", "does not clear count"),
    "a gate is between": (r"\.aclk\(aclk\)", ".aclk(aclk & aresetn)", "does more than connect"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("pattern", "replacement", "words"), WIRES.values(), ids=WIRES)
def test_other_wires_are_not_proved(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    refused(argued(E4M3, "64,32", tmp_path, pattern, replacement), words)


CAST = cast_config("e4m3", lanes=4, interface="axis")


def test_words_that_fit_need_no_question(tmp_path: Path) -> None:
    proof = prove(CAST, out=tmp_path, around=Around(bus=BusWidths.parsed("128,32")))
    assert proof.passed and len(proof.arguments) == 2, proof.remark
    faulty = argued(CAST, "128,32", tmp_path, r"\.m_axis_tready\(\w+\)", ".m_axis_tready()")
    refused(faulty, "m_axis_tready of top is connected otherwise")


OF_BLOCK_DESIGNS = {
    "a pin is another": (r"\.s_axis_tlast\(s_axis_tlast\)", ".s_axis_tlast(m_axis_tready)", "s_axis_tlast of top_bus"),
    "a pin is not connected": (r"\.m_axis_tready\(m_axis_tready\)", ".m_axis_tready()", "m_axis_tready of top_bus"),
    "a pin is inverted": (r"\.aresetn\(aresetn\)", ".aresetn(~aresetn)", "does more than connect top_bus"),
    "another module is inside": (r"  top_bus inner", "  top inner", "does more than connect top_bus"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("pattern", "replacement", "words"), OF_BLOCK_DESIGNS.values(), ids=OF_BLOCK_DESIGNS)
def test_other_wires_of_a_block_design_are_not_proved(
    pattern: str, replacement: str, words: str, tmp_path: Path
) -> None:
    around = Around(bus=BusWidths.parsed("128,32"), block_design=True)
    bus, outermost = (around.modules(CAST, "top")[kind][1] for kind in ("bus", "block_design"))

    def arguments(text: str) -> list[Argument]:
        return list(surrounding(text, CAST, around, "top", tmp_path, solver="bitwuzla", timeout=300))

    text = verilog(CAST, "top") + bus
    assert not arguments(text + outermost)
    refused(arguments(text + planted(outermost, pattern, replacement)), words)


RANDOM = {"lanes": 4, "block_size": 8, "interface": "axis", "rounding": "sr", "random_bits": 9}
MODES = converter_config("e4m3,e5m2,int8", **RANDOM)
NVFP4 = nvfp4_config("nvfp4", lanes=4, interface="axis", rounding="sr", random_bits=9)
CONTROLLED: dict[str, EncoderConfig] = {
    "modes and random bits": MODES,
    "constants and random bits": NVFP4,
    "constants": nvfp4_config("nvfp4", "nvfp4_ao", lanes=8, source="bf16", interface="axis"),
    "one mode": E4M3,
    "packed blocks": nvfp4_config("nvfp4", lanes=4, interface="axis", scale_place="before"),
}


def with_registers(config: EncoderConfig, folder: Path, pattern: str = "", replacement: str = "") -> Iterator[Argument]:
    """The arguments about the module with registers, with a part of its text replaced."""
    text = controlled(config, "top")
    text = verilog(config, "top") + (planted(text, pattern, replacement) if pattern else text)
    return surrounding(text, config, Around(registers=True), "top", folder, solver="bitwuzla", timeout=300)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", CONTROLLED)
def test_registers_are_proved(name: str, tmp_path: Path) -> None:
    arguments = list(with_registers(CONTROLLED[name], tmp_path))
    assert [argument.status for argument in arguments] == [Status.PASS] * 2, arguments[0].remark
    asked = {step.question.name for step in arguments[0].steps}
    assert asked == {"registers-reset", "registers-step", "registers", "registers-ready"}


FAULTS_OF_REGISTERS = {
    "a new mode does not wait": (MODES, r"mode_differs, (\w+) \}", r"\1 }", "another mode"),
    "a mode changes inside a packet": (MODES, r"(\w+) \? mode_setting", r"(\1 | restarts) ? mode_setting", ""),
    "a seed restarts inside a packet": (MODES, r"assign restart = [^;]*;", "assign restart = restarts;", ""),
    "random bits stay": (MODES, r"restart \? \w+ : _\w+_;", "restart ? 32'd1 : state0;", ""),
    "a beat enters untaken": (MODES, r"\.s_axis_tvalid\(\w+\)", ".s_axis_tvalid(s_axis_tvalid)", "a beat enters"),
    "a packet waits inside": (MODES, r"assign waits = \w+ & (\w+);", r"assign waits = \1;", "waits for something"),
    "an answer does not wait": (MODES, r"= s_axil_rvalid & s_axil_rready;", "= s_axil_rvalid;", "a read"),
    "a written answer changes": (
        MODES,
        r"s_axil_bresp <= (\w+);",
        r"s_axil_bresp <= \1 & {2{s_axil_wvalid}};",
        "a write",
    ),
    "ready follows valid": (MODES, r"assign waits = ", "assign waits = s_axis_tvalid & s_axis_tlast & ", ""),
    "packets are not counted": (MODES, r"packets_inside <= ", "packets_inside <= 4'd14 & ", ""),
    "a constant is not taken": (
        NVFP4,
        r"takes_constants \? k_setting : k_of_packets",
        "takes_constants ? d_setting : k_of_packets & k_setting",
        "",
    ),
    "constants change inside a packet": (
        NVFP4,
        r"assign takes_constants = [^;]*;",
        "assign takes_constants = constants_wait;",
        "",
    ),
    "constants are exchanged": (NVFP4, r"d_of_packets, k_of_packets", "k_of_packets, d_of_packets", "another mode"),
}
"""A pattern in the emitted file, its replacement, and a part of what the trace shows."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("config", "pattern", "replacement", "words"), FAULTS_OF_REGISTERS.values(), ids=FAULTS_OF_REGISTERS
)
def test_a_fault_of_registers_is_refuted(config, pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    argument = next(with_registers(config, tmp_path, pattern, replacement))
    assert argument.status is not Status.PASS and argument.steps[-1].status is Status.FAIL
    assert argument.trace is None or words in argument.trace.words[-1]
    assert argument.trace is not None or argument.doubt


def test_other_pins_of_the_encoder_are_not_proved(tmp_path: Path) -> None:
    edit = r"\.m_axis_tdata\(m_axis_tdata\)", ".m_axis_tdata({m_axis_tdata[31:1], m_axis_tuser})"
    refused(with_registers(MODES, tmp_path, *edit), "m_axis_tdata of top is connected otherwise")


def test_prove_takes_the_bus(tmp_path: Path) -> None:
    """The verdict covers the module; a file that is missing or edited is not proved."""
    around = Around(bus=BusWidths.parsed("64,32"))
    cast, _ = CONFIGS["a cast"]
    proof = prove(cast, out=tmp_path, name="top", around=around)
    assert proof.passed and {"s_axis_words", "pass"} <= {step.question.name for step in proof.steps}
    assert proof.to_dict()["bus"] == [64, 32]
    file = tmp_path / "top" / "rtl" / "top_bus.v"
    file.write_text(file.read_text() + "\n")
    with pytest.raises(ValueError, match="top_bus.v is not as it is emitted: emit the design with it, or give another"):
        prove(cast, out=tmp_path, name="top", around=around)
    file.unlink()
    with pytest.raises(ValueError, match="top_bus.v is missing: emit the design with it, or give another name"):
        prove(cast, out=tmp_path, name="top", around=around)
    with pytest.raises(ValueError, match="proved as they are emitted: leave out rtl"):
        prove(cast, rtl=tmp_path / "top" / "rtl" / "top.v", around=around)
