"""One cycle of the module with registers, from any state and with any input, proved by Yosys: it passes beats on
unchanged, settings change only between packets, and answers wait.

Each register and each pin of the encoder inside becomes a port: ``NAME.q`` enters, and ``NAME.d`` leaves. So the
properties are about one cycle, and hold in every reachable state.
"""

import json
import re

import pytest

from mxcast.hdl import HardwareConfig, converter_config, nvfp4_config
from mxcast.hdl.emission.around import controlled
from mxcast.host.errors import ToolError
from mxcast.spec.operations.random_source import initial_states
from mxcast.synth.yosys import execute

MODES = converter_config("e4m3,e5m2,int8", lanes=4, interface="axis", block_size=8, rounding="sr", random_bits=9)
NVFP4 = nvfp4_config("nvfp4", lanes=4, interface="axis", rounding="sr", random_bits=9)
RANDOM = 36
GENERATORS = len(initial_states(RANDOM))

PASSED_IN = ("aresetn", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "m_axis_tready", "m_axis_scale_tready")
PASSED_OUT = tuple(
    f"{stream}_{signal}"
    for stream, signals in {
        "m_axis": ("tdata", "tkeep", "tlast", "tuser", "tvalid"),
        "m_axis_scale": ("tdata", "tlast"),
    }.items()
    for signal in signals
)

PROPERTIES = {
    **{f"{pin} passes": f"{{encoder.{pin}}} == {{{pin}}}" for pin in (*PASSED_IN, *PASSED_OUT, "m_axis_scale_tvalid")},
    "a beat enters both or none": "({encoder.s_axis_tvalid} && {encoder.s_axis_tready}) == enters",
    **{
        f"generator {number} steps with beats": (
            f"!{{aresetn}} || !{{has_begun.q}} || "
            f"{{state{number}.d}} == (takes ? next({{state{number}.q}}) : {{state{number}.q}})"
        )
        for number in range(GENERATORS)
    },
    "a packet begins and ends": "!{aresetn} || {has_begun.d} == (takes ? !{s_axis_tlast} : {has_begun.q})",
    "packets are counted": (
        "!{aresetn} || {packets_inside.d} == {packets_inside.q} + (takes && !{has_begun.q}) - leaves"
    ),
    "the count has room": "!enters || {has_begun.q} || {packets_inside.q} != 15",
    "a write answer waits": (
        "!{aresetn} || !{s_axil_bvalid.q} || {s_axil_bready} || "
        "{s_axil_bvalid.d} && {s_axil_bresp.d} == {s_axil_bresp.q}"
    ),
    "a read answer waits": (
        "!{aresetn} || !{s_axil_rvalid.q} || {s_axil_rready} || {s_axil_rvalid.d} && "
        "{{{s_axil_rresp.d}, {s_axil_rdata.d}}} == {{{s_axil_rresp.q}, {s_axil_rdata.q}}}"
    ),
    "ready depends on registers": "{s_axis_tready} == other_ready",
}
"""Properties in Verilog, with ports in braces."""

OF_MODES = {
    "mode and random bits are registers": (
        f"{{encoder.s_axis_tuser}} == {{{{random[{RANDOM - 1}:0], {{mode_of_packets.q}}}}}}"
    ),
    "a mode changes between packets": (
        "!{aresetn} || {mode_of_packets.d} == {mode_of_packets.q} || "
        "!{has_begun.q} && !enters && {packets_inside.q} == 0"
    ),
    "no beat meets another mode": "!enters || {has_begun.q} || {mode_of_packets.q} == {mode_setting.q}",
}

CHANGED = "{{{d_of_packets.d}, {k_of_packets.d}}} == "
OF_CONSTANTS = {
    "constants and random bits are registers": (
        f"{{encoder.s_axis_tuser}} == {{{{random[{RANDOM - 1}:0], {{d_of_packets.q}}, {{k_of_packets.q}}}}}}"
    ),
    "constants change together between packets": (
        f"!{{aresetn}} || {CHANGED}{{{{{{d_of_packets.q}}, {{k_of_packets.q}}}}}} || "
        f"!{{has_begun.q}} && !enters && {CHANGED}{{{{{{d_setting.q}}, {{k_setting.q}}}}}}"
    ),
}

COMMON = """
  function [31:0] next(input [31:0] x);
    reg [31:0] y, z;
    begin
      y = x ^ x << 13;
      z = y ^ y >> 17;
      next = z ^ z << 5;
    end
  endfunction
  wire enters = {s_axis_tvalid} && {s_axis_tready};
  wire takes = enters && ({s_axis_tkeep}[0] || {s_axis_tlast});
  wire leaves = {m_axis_tvalid} && {m_axis_tready} && {m_axis_tlast};
"""


def opened(text: str, config: HardwareConfig, folder) -> dict[str, dict]:
    """The ports of the module in ``open.v``, in which registers and the pins of the encoder are ports."""
    head = ", ".join(f"{pin.direction} [{pin.width - 1}:0] {pin.name}" for pin in config.pins)
    (folder / "dut.v").write_text(f"{text}\n(* blackbox *) module mx({head}); endmodule\n")
    execute(
        [
            *("read_verilog dut.v", "hierarchy -check -top mx_axil", "proc", "opt_clean"),
            *(
                "expose -evert-dff",
                "expose -evert",
                "opt_clean",
                "write_json open.json",
                "write_verilog -noattr open.v",
            ),
        ],
        folder,
    )
    return json.loads((folder / "open.json").read_text())["modules"]["mx_axil"]["ports"]


def holds(text: str, config: HardwareConfig, folder) -> bool:
    """Whether Yosys proves the properties of a configuration."""
    ports = opened(text, config, folder)
    properties = PROPERTIES | (OF_MODES if config is MODES else OF_CONSTANTS)
    names = {name: f"p{number}" for number, name in enumerate(ports)}
    first: dict[tuple, str] = {}
    for name in ports:
        if name.endswith(".q"):  # wires of several names are one register
            bits = tuple(ports[name.removesuffix(".q")]["bits"])
            names[name] = names[first.setdefault(bits, name)]

    def verilog(words: str) -> str:
        for name, short in names.items():
            words = words.replace(f"{{{name}}}", short)
        return words.replace("{{", "{").replace("}}", "}")

    same = {
        name
        for name, port in ports.items()
        if name.endswith(".q") or (name.startswith("encoder.") and port["direction"] == "input")
    }
    inputs, wires = list[str](), list[str]()
    ours, others = list[str](), list[str]()
    for name, port in ports.items():
        width = f"[{len(port['bits']) - 1}:0]"
        enters = port["direction"] == "input"
        declared = f"{'input' if enters else 'wire'} {width} {names[name]}"
        if declared not in inputs:
            (inputs if enters else wires).append(declared)
        ours.append(f".\\{name} ({names[name]})")
        if enters and name not in same:
            inputs.append(f"input {width} {names[name]}_other")
        if enters or name == "s_axis_tready":
            other = names[name] if name in same else "other_ready" if not enters else f"{names[name]}_other"
            others.append(f".\\{name} ({other})")
    state = ", ".join(f"{{state{number}.q}}" for number in reversed(range(GENERATORS)))
    lines = [
        f"module check({', '.join(inputs)});",
        *(f"  {wire};" for wire in wires),
        "  wire other_ready;",
        f"  mx_axil dut({', '.join(ours)});",
        f"  mx_axil other({', '.join(others)});",
        verilog(COMMON),
        verilog(f"  wire [{32 * GENERATORS - 1}:0] random = {{{{{state}}}}};"),
        "  always @* begin",
        *(f"    assert ({verilog(words)});" for words in properties.values()),
        "  end",
        "endmodule",
    ]
    (folder / "check.v").write_text("\n".join(lines) + "\n")
    prove = "sat -verify -prove-asserts -set-def-inputs check"
    try:
        execute(
            ["read_verilog open.v", "read_verilog -formal check.v", "hierarchy -check -top check", "proc", "flatten"]
            + ["opt -full", "chformal -lower", prove],
            folder,
        )
    except ToolError:
        assert "proof did fail" in (folder / "yosys.log").read_text()
        return False
    return True


@pytest.mark.parametrize("config", [MODES, NVFP4], ids=["modes", "constants"])
def test_every_property_is_proved(config, tmp_path):
    assert holds(controlled(config, "mx"), config, tmp_path)


BUGS = {
    "a new mode does not wait": (r"assign waits = [^;]*;", "assign waits = 1'h0;"),
    "a seed restarts inside a packet": (r"assign restart = [^;]*;", "assign restart = restarts;"),
    "an answer does not wait": (r"= s_axil_rvalid & s_axil_rready;", "= s_axil_rvalid;"),
    "ready follows valid": (r"assign waits = ", "assign waits = s_axis_tvalid & s_axis_tlast & "),
    "a bit of a code is flipped": (
        r"\.m_axis_tdata\(m_axis_tdata\)",
        ".m_axis_tdata({m_axis_tdata[31:1], m_axis_tuser})",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_refuted(bug, tmp_path):
    text, count = re.subn(*BUGS[bug], controlled(MODES, "mx"))
    assert count == 1 and not holds(text, MODES, tmp_path)


BUGS_OF_CONSTANTS = {
    "constants change inside a packet": (
        r"assign takes_constants = [^;]*;",
        "assign takes_constants = constants_wait;",
    ),
    "a constant is not taken": (r"takes_constants \? k_setting : k_of_packets", "k_of_packets"),
    "constants do not stop the next packet": (r"assign waits = ", "assign waits = ~constants_wait & "),
}


@pytest.mark.parametrize("bug", BUGS_OF_CONSTANTS)
def test_planted_bugs_of_constants_are_refuted(bug, tmp_path):
    text, count = re.subn(*BUGS_OF_CONSTANTS[bug], controlled(NVFP4, "mx"))
    assert count == 1 and not holds(text, NVFP4, tmp_path)
