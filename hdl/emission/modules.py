"""From Amaranth components to readable, reproducible Verilog-2005.

Amaranth's own back end writes a module for every instance, makes signals of one module ports of another, and escapes
names. Here every *kind* of component becomes one module with exactly the ports of its signature, and Yosys prints it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import partial

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Fragment, Instance, ResetSignal, Value
from amaranth.lib import wiring

from ..primitives.elaboration import set_elaborated
from .yosys_wasm import run_yosys

KEEP = '(* keep_hierarchy = "yes" *)\n'
"""An attribute for Yosys and Vivado. Other tools may dissolve the module, which costs LUTs and changes no bits."""

YOSYS_SCRIPT = "proc; opt_expr; wreduce; opt_expr; opt_clean"
COPY = re.compile(r"^  assign (_\d+_)\[(\d+)\] = \1\[(\d+)\];\n", re.M)
ENABLES = "opt_dff w:valid_*_q w:o_valid %u %ci:+$dff[Q]; opt_dff -nosdff; opt_clean"
"""Passes that use the enable of registers and the reset of valid bits, instead of multiplexers before them."""


class ModuleLibrary:
    """The modules of a Verilog file, as the platform for which components are elaborated.

    A component gets each of its sub-modules from `instantiated`. All components of a class, or of a ``kind``, are one
    module, because they have the same configuration. Synthesis must keep a module with ``whole``.
    """

    def __init__(self, top: str) -> None:
        self.top = top
        self.waiting: list[tuple[str, wiring.Component]] = []
        self.parts: dict[str, wiring.Component] = {}

    def instance(self, component: wiring.Component) -> Instance:
        """An instance of this kind of component, connected to the ports of ``component``."""
        kind = getattr(component, "kind", None) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _class_name(component)).lower()
        name = f"{self.top}_{kind}"
        if name not in self.parts:
            self.parts[name] = component
            self.waiting.append((name, component))
        set_elaborated(component)  # the first of its kind is elaborated for all
        if _content(component) != _content(self.parts[name]):
            raise RuntimeError(f"two modules would have the name {name}")
        direction = {wiring.In: "i", wiring.Out: "o"}
        clock = {"i_clk": ClockSignal()} if is_clocked(component) or has_reset(component) else {}
        clock |= {"i_rst": ResetSignal()} if has_reset(component) else {}
        return Instance(
            name,
            **clock,
            **{
                f"{direction[member.flow]}_{port}": Value.cast(getattr(component, port))
                for port, member in component.signature.members.items()
            },
        )


def _class_name(component: wiring.Component) -> str:
    """The name of a class in version 0.1, so that the names of emitted modules do not change."""
    return type(component).__name__.replace("Nvfp4", "TwoLevel")


def _content(part: wiring.Component) -> tuple[object, ...]:
    """Properties that parts of one module must share, in addition to their configuration."""
    return type(part), len(part.signature.members), getattr(part, "truth", None)


def is_clocked(part: wiring.Component) -> bool:
    """Does a part of a converter have registers? They are not reset."""
    return "enable" in part.signature.members


def has_reset(part: wiring.Component) -> bool:
    """Is it a converter of its own, whose registers are reset?"""
    return "i_valid" in part.signature.members


def instantiated(component: wiring.Component, platform: object) -> wiring.Component | Instance:
    """``component`` as a sub-module: itself, or, for a Verilog file, an instance of its module."""
    return platform.instance(component) if isinstance(platform, ModuleLibrary) else component


def convert(component: wiring.Component, top: str) -> str:
    """Verilog of ``component`` as module ``top``, followed by its sub-modules ``top_kind``."""
    return convert_all({top: component})[top]


def convert_all(components: Mapping[str, wiring.Component]) -> dict[str, str]:
    """Verilog of each component by the name of its top module, in one run of Yosys."""
    rtl, kept = list[str](), set[str]()
    ports: dict[str, dict[str, list[str]]] = {top: {} for top in components}
    for top, component in components.items():
        library = ModuleLibrary(top)
        library.waiting.append((top, component))
        while library.waiting:
            name, part = library.waiting.pop(0)
            rtl.append(_with_private_copies(_rtlil(part, name, library)))
            ports[top][name] = list(part.signature.members)
            if getattr(part, "whole", False):
                kept.add(name)
    enables = any(
        {"i_valid", "s_axis_tvalid"} & {*component.signature.members} and getattr(component, "HAS_ENABLES", True)
        for component in components.values()
    )
    modules = _print("\n".join(rtl), f"{YOSYS_SCRIPT}; {ENABLES}" if enables else YOSYS_SCRIPT)
    return {
        top: "\n".join(
            KEEP * (name in kept) + _with_port_order(modules[name], name, ports[top][name])
            for name in _used(top, list(ports[top]), modules)
        )
        for top in components
    }


def _used(top: str, names: list[str], modules: Mapping[str, str]) -> list[str]:
    """The modules below the top module. Yosys removes instances with unused outputs, and their modules
    are left out."""
    used = [top]
    for user in used:
        inside = set(re.findall(r"^  (\w+) \w+ \(", modules[user], re.M))
        used += [name for name in names if name in inside and name not in used]
    return [name for name in names if name in used]


def _rtlil(part: wiring.Component, name: str, library: ModuleLibrary) -> str:
    if name == library.top or not is_clocked(part):
        return rtlil.convert(part, name=name, platform=library, emit_src=False)
    ports = {port: Value.cast(getattr(part, port)) for port in part.signature.members}
    fragment, domain = (Fragment.get(part, library), ClockDomain("sync", reset_less=True))  # Amaranth would add a reset
    fragment.add_domains(domain)
    return rtlil.convert(fragment, name=name, emit_src=False, ports=[domain.clk, *ports.values()])


def _with_private_copies(text: str) -> str:
    """Make copies of a name (``x$3``) and views of a field (``key.flag``) private, so that Yosys prints the source."""
    text = re.sub(r"^ *attribute .*\n", "", text, flags=re.M)
    return re.sub(r"\\(\w+[.$])", r"$\1", text)


def _print(text: str, script: str) -> dict[str, str]:
    """Verilog of RTLIL text, module by module."""
    verilog = run_yosys(f"read_rtlil <<rtlil\n{text}\nrtlil\n{script}; write_verilog -noattr\n")
    if escaped := re.findall(r"\\\S+", verilog):
        raise RuntimeError(f"the Verilog has escaped names: {', '.join(escaped[:3])}")
    found = re.finditer(r"^module (\w+)\(.*?^endmodule\n", verilog, re.M | re.S)
    return {m[1]: COPY.sub(partial(_copy_if_used, m[0]), m[0]) for m in found}


def _copy_if_used(verilog: str, copy: re.Match[str]) -> str:
    """The assignment of a bit to another one of a wire, or nothing if no other line has the bits.

    ``wreduce`` leaves copies of a sign bit behind whose driver it removed. Tools report them as wires without a driver.
    """
    wire, *bits = copy.groups()
    others = re.findall(rf"\b{wire}(?:\[(\d+)(?::(\d+))?\])?", verilog.replace(copy[0], "").replace(f"] {wire};", "];"))
    used = (not high or int(high) >= int(bit) >= int(low or high) for high, low in others for bit in bits)
    return copy[0] if any(used) else ""


def _with_port_order(verilog: str, name: str, ports: list[str]) -> str:
    """The module with its ports in the order of its signature, after clock and reset."""
    head = re.compile(rf"^module {name}\(([^)]*)\);")
    found = head.match(verilog)
    present = found[1].replace(",", " ").split() if found else []
    ports = [port for port in ("clk", "rst") if port in present and port not in ports] + ports
    if sorted(present) != sorted(ports):
        raise RuntimeError(f"the Verilog of {name} does not have the ports {', '.join(ports)}")
    return head.sub(f"module {name}({', '.join(ports)});", verilog)


def body(verilog: str) -> str:
    """The modules of an emitted file, without its header."""
    return verilog[verilog.index("\nmodule ") + 1 :]


def fingerprint(verilog: str) -> str:
    """SHA-256 of the modules of an emitted file, without the versions in its header."""
    return hashlib.sha256((body(verilog) if "\nmodule " in verilog else verilog).encode()).hexdigest()
