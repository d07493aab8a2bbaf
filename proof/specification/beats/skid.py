"""Questions about the place for one beat in front of hardware with ``interface=skid``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...netlist.beats.core import CORE, AroundCore
from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.parts import NUMBERS, Beats
from ...netlist.design import Design
from ...questions.question import Question
from .induction import Induction, transitions

WRONG = (
    "a beat is offered to the hardware behind and none has entered: one was made twice",
    "a beat is offered to the hardware behind with other values than it entered with",
    "a beat enters while another one waits: one is lost",
    "a beat is not offered to the hardware behind",
    "no beat is taken, although none waits",
)
"""Faults by the bits of ``wrong`` in `skid.sv`."""

DATA = ("p", "scale", "g", "random")


def behind(control: dict) -> dict:
    """The decoder behind the place."""
    kept = ["clk", "rst", "o_ready", "o_valid"]
    kept += [f"{NUMBERS}_{name}" for name in ("enable", "is_first", "is_last")]
    return seen(cut(control, "beat_offered", kept), {"seen_ready": "back_enable"})


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place, with ports for what is around it."""

    design: Design
    module: dict
    """The flat top module with the output ``seen_held``."""
    data: Mapping[str, int]
    """The inputs of a beat, and their bits."""
    shown: str
    """The beginning of the names of the outputs with which a beat is offered."""
    offered: str
    """The output that says whether one is."""
    takes: str
    """The input that says whether it is taken."""


def of_decoder(beats: Beats) -> Place:
    """The place in front of a decoder."""
    control = beats.control()
    widths = {name: len(control["ports"][name]["bits"]) for name in DATA if name in control["ports"]}
    kept = ["clk", "rst", "i_valid", "i_ready", *widths, *(f"{NUMBERS}_{name}" for name in widths)]
    made = seen(cut(control, "back_enable", kept), {"seen_offered": "beat_offered", "seen_held": "beat_held"})
    return Place(
        design=beats.design, module=made, data=widths, shown=NUMBERS, offered="seen_offered", takes="cut_back_enable"
    )


def of_core(around: AroundCore) -> Place:
    """The place in front of a core."""
    control = around.control
    widths = {name: len(control["ports"][name]["bits"]) for name in around.entering}
    kept = ["clk", "rst", "i_valid", "i_ready", *widths, f"{CORE}_i_valid", f"{CORE}_i_ready"]
    kept += [f"{CORE}_{name}" for name in widths]
    ports = {name: port for name, port in control["ports"].items() if name in kept}
    return Place(
        design=around.design,
        module=seen({**control, "ports": ports}, {"seen_held": "beat_held"}),
        data=widths,
        shown=CORE,
        offered=f"{CORE}_i_valid",
        takes=f"{CORE}_i_ready",
    )


def place(of: Place) -> Induction:
    """The statements about the place."""
    top, widths = "mxcast_placed", of.data
    shown = {f"{of.shown}_{name}": width for name, width in widths.items()}
    wrapper = f"""module {top}(input clk, rst, i_valid, takes, output i_ready, offered, assumed,
  {", ".join(f"input [{width - 1}:0] {name}" for name, width in widths.items())},
  output [{len(WRONG) - 1}:0] wrong, output [1:0] related);
  {" ".join(f"wire [{width - 1}:0] {name};" for name, width in shown.items())}
  wire held;
  {of.design.top} design(.clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .{of.takes}(takes),
    {", ".join(f".{name}({name})" for name in (*widths, *shown))}, .{of.offered}(offered), .seen_held(held));
  mxcast_skid #(.DATA({sum(widths.values())})) skid(.clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready),
    .offered(offered), .takes(takes), .held(held), .data({{{", ".join(widths)}}}), .shown({{{", ".join(shown)}}}),
    .wrong(wrong), .assumed(assumed), .related(related));
endmodule
"""
    return Induction(
        name="place",
        claim="a beat that enters is offered to the hardware behind until it is taken, unchanged and once, and a beat "
        "can enter whenever none waits",
        top=top,
        relation=transitions(of.design, of.module, "skid.sv", wrapper, top),
        related=2,
        wrong=WRONG,
        shown={**dict.fromkeys(("rst", "i_valid", "i_ready", "offered", "takes"), 1), **widths},
    )


def skid_questions(waiting: Induction) -> Iterator[Question]:
    """The questions about the statements of `place`."""
    yield from waiting.questions()
    yield waiting.depends_on_registers("place-ready", "i_ready", "no path leads from o_ready to it")
