"""The module with words of a bus is proved, and planted faults of its gearboxes and wires are refuted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mxcast.hdl import HardwareConfig, cast_config, converter_config, decoder_config, nvfp4_decoder_config, verilog
from mxcast.hdl.bus.pins import BusWidths
from mxcast.hdl.emission.around import Around
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


@pytest.mark.parametrize(("pattern", "replacement", "words"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_gearbox_has_a_trace(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    argument = next(argued(E4M3, "64,32", tmp_path, pattern, replacement))
    assert argument.status is Status.FAIL and argument.trace is not None
    assert words in argument.trace.words[-1] and argument.trace.file.read_text().startswith("$timescale")


FAULTS_OF_TUSER = {
    "tuser is of each word": (r"has_begun \? m_tuser", "has_begun & ~s_tlast ? m_tuser", "m_tuser"),
    "a mark is lost": (r"m_tuser = (\S+) \| (\w+)", r"m_tuser = \1 & \2", "m_tuser"),
}


@pytest.mark.parametrize(("pattern", "replacement", "words"), FAULTS_OF_TUSER.values(), ids=FAULTS_OF_TUSER)
def test_a_fault_of_tuser_has_a_trace(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    argument = next(argued(DECODER, "64,32", tmp_path, pattern, replacement))
    assert argument.status is Status.FAIL and argument.trace is not None and words in argument.trace.words[-1]


WIRES = {
    "a stream is connected to another": (r"\.s_tlast\(s_axis_tlast\)", ".s_tlast(m_axis_tready)", "s_tlast of s_axis"),
    "a ready is constant": (r"\.m_axis_tready\(m_axis_tready\)", ".m_axis_tready(1'h1)", "m_axis_tready of top"),
    "a scale has no byte": (r"\.s_tkeep\(1'h1\)", ".s_tkeep(1'h0)", "s_tkeep of m_axis_scale_words"),
    "a gate is between": (r"\.aclk\(aclk\)", ".aclk(aclk & aresetn)", "does more than connect"),
}


@pytest.mark.parametrize(("pattern", "replacement", "words"), WIRES.values(), ids=WIRES)
def test_other_wires_are_not_proved(pattern: str, replacement: str, words: str, tmp_path: Path) -> None:
    for argument in argued(E4M3, "64,32", tmp_path, pattern, replacement):
        assert argument.status is Status.UNKNOWN and argument.remark is not None and words in argument.remark


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
    with pytest.raises(ValueError, match="proved as they are emitted: leave out rtl, or bus"):
        prove(cast, rtl=tmp_path / "top" / "rtl" / "top.v", around=around)
