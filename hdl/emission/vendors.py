"""Project scripts for the tools of FPGA vendors: from the emitted Verilog to reports of cells and timing, out of
context. Nobody has run them in these tools yet.

Both tools read constraints in the Tcl of Synopsys. A converter without a clock is timed from its inputs to its outputs
by a virtual clock: each output must be valid one period after the inputs. A converter with a clock is timed by its own
clock, including its inputs and outputs.
"""

from __future__ import annotations

import re

from ...spec.catalogue import excerpt, unknown_name
from .package import About

DEFAULT_PARTS = {"vivado": "xczu7ev-ffvc1156-2-e", "quartus": "5CSEBA6U23I7"}
"""A Zynq UltraScale+ and a Cyclone V that the tools support without a paid licence."""

VENDORS = tuple(DEFAULT_PARTS)

FAMILIES = {
    "5C": "Cyclone V",
    "5A": "Arria V",
    "5S": "Stratix V",
    "10M": "MAX 10",
    "10CL": "Cyclone 10 LP",
    "10CX": "Cyclone 10 GX",
    "10A": "Arria 10",
    "1S": "Stratix 10",
    "EP4CE": "Cyclone IV E",
    "EP4CGX": "Cyclone IV GX",
}
"""Names of families in Quartus, by the prefix of the part."""

VIVADO_PART = r"x[acq][0-9a-z]+(-[0-9a-zA-Z]+)+"
QUARTUS_PART = r"[0-9A-Z]{6,24}"

PERIODS = (0.001, 1e6)
"""Nanoseconds: from a picosecond, the resolution of the tools, to a millisecond."""

CLOCKS = ("clk", "aclk")
"""Names of a clock."""

Files = dict[str, tuple[str, str]]


def project(vendor: str, about: About, *, part: str | None = None, period_ns: float = 10.0) -> Files:
    """The files of `emit` for the tool of a vendor: kind -> path in the folder of the design, and text.

    ``about`` is the result of `describe`, and ``period_ns`` the clock period. Raises ValueError for an unknown vendor,
    and for an invalid part.
    """
    if vendor not in VENDORS:
        raise ValueError(unknown_name("vendor", vendor, VENDORS))
    if not PERIODS[0] <= period_ns <= PERIODS[1]:
        raise ValueError(f"the period must be {PERIODS[0]:.10g} to {PERIODS[1]:.10g} nanoseconds, not {period_ns:g}")
    part = DEFAULT_PARTS[vendor] if part is None else part
    script, suffix = {"vivado": (_vivado, "xdc"), "quartus": (_quartus, "sdc")}[vendor]
    name = about["name"]
    return {
        f"{vendor}_script": (f"{vendor}/{name}.tcl", script(about, part)),
        f"{vendor}_constraints": (f"{vendor}/{name}.{suffix}", _constraints(about, period_ns)),
    }


def _head(about: About, says: str) -> str:
    return f"# {about['name']}, configuration {about['config_id']}: {says}\n# SPDX-License-Identifier: Apache-2.0\n"


def _clocked(about: About) -> bool:
    return _clock(about) is not None


def _clock(about: About) -> str | None:
    """The name of the clock."""
    return next((port["name"] for port in about["ports"] if port["name"] in CLOCKS), None)


def _constraints(about: About, period: float) -> str:
    data = {
        direction: " ".join(
            f"{p['name']}[*]" if p["width"] > 1 else p["name"]
            for p in about["ports"]
            if p["direction"] == direction and p["name"] not in CLOCKS
        )
        for direction in ("input", "output")
    }
    if _clocked(about):
        clock = f"create_clock -name clk -period {period:.10g} [get_ports {_clock(about)}]"
    else:
        clock = (
            "# no clock in the design: from inputs to outputs in one period\ncreate_clock -name clk "
            f"-period {period:.10g}"
        )
    return f"""{_head(about, "timing out of context")}{clock}
set_input_delay -clock clk 0 [get_ports {{{data["input"]}}}]
set_output_delay -clock clk 0 [get_ports {{{data["output"]}}}]
"""


def _vivado(about: About, part: str) -> str:
    if not re.fullmatch(VIVADO_PART, part, re.ASCII):
        raise ValueError(f"part must be one of Vivado, such as {DEFAULT_PARTS['vivado']}, not {excerpt(part)}")
    name = about["name"]
    head = _head(about, "synthesis, placement and routing, out of context")
    return f"""{head}#   vivado -mode batch -source {name}.tcl
# Reports and a checkpoint are written beside this file.
set part {part}
set name {name}
set here [file dirname [file normalize [info script]]]
if {{[llength [get_parts -quiet $part]] == 0}} {{
  error "part $part is not installed: mxcast emit --part"
}}
create_project -in_memory -part $part
read_verilog [file join $here .. rtl $name.v]
read_xdc -mode out_of_context [file join $here $name.xdc]
synth_design -top $name -part $part -mode out_of_context
report_utilization -file [file join $here synthesis_utilization.rpt]
report_timing_summary -file [file join $here synthesis_timing.rpt]
opt_design
place_design
phys_opt_design
route_design
report_utilization -hierarchical -file [file join $here utilization.rpt]
report_timing_summary -max_paths 10 -file [file join $here timing.rpt]
write_checkpoint -force [file join $here $name.dcp]
set slack [get_property SLACK [get_timing_paths -setup]]
puts "$name on $part: slack $slack ns; see utilization.rpt and timing.rpt"
"""


def _quartus(about: About, part: str) -> str:
    family = next(
        (FAMILIES[start] for start in sorted(FAMILIES, key=len, reverse=True) if part.startswith(start)), None
    )
    if family is None or not re.fullmatch(QUARTUS_PART, part, re.ASCII):
        raise ValueError(
            f"part must be one of Quartus of {', '.join(FAMILIES.values())}, such as {DEFAULT_PARTS['quartus']}, "
            f"not {excerpt(part)}"
        )
    name = about["name"]
    vectors = " ".join(f"{p['name']} {p['width']}" for p in about["ports"] if p["name"] not in CLOCKS)
    head = _head(about, "synthesis, fitting and timing, all ports but a clock as virtual pins")
    return f"""{head}#   quartus_sh -t {name}.tcl
# The project and its reports are written beside this file.
package require ::quartus::project
package require ::quartus::flow
set name {name}
cd [file dirname [file normalize [info script]]]
project_new $name -overwrite
set_global_assignment -name FAMILY "{family}"
set_global_assignment -name DEVICE {part}
set_global_assignment -name TOP_LEVEL_ENTITY $name
set_global_assignment -name VERILOG_FILE ../rtl/$name.v
set_global_assignment -name SDC_FILE $name.sdc
set_global_assignment -name PROJECT_OUTPUT_DIRECTORY output_files
# more ports than pins: they become logic cells, which the fitter counts apart
foreach {{port width}} {{{vectors}}} {{
  for {{set bit 0}} {{$bit < $width}} {{incr bit}} {{
    set pin [expr {{$width == 1 ? $port : "$port\\[$bit\\]"}}]
    set_instance_assignment -name VIRTUAL_PIN ON -to $pin
  }}
}}
export_assignments
execute_flow -compile
project_close
puts "$name on {part}: see output_files/$name.fit.summary and $name.sta.summary"
"""
