"""Questions about the place for one beat in front of hardware with ``interface=skid``."""

from __future__ import annotations

from collections.abc import Iterator

from ...netlist.beats.core import CORE, AroundCore
from ...netlist.beats.cuts import seen
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


def place(around: AroundCore) -> Induction:
    """The statements about the place in front of a core."""
    control, top = around.control, "mxcast_placed"
    widths = {name: len(control["ports"][name]["bits"]) for name in around.entering}
    shown = {f"{CORE}_{name}": width for name, width in widths.items()}
    kept = ["clk", "rst", "i_valid", "i_ready", *widths, *shown, f"{CORE}_i_valid", f"{CORE}_i_ready"]
    ports = {name: port for name, port in control["ports"].items() if name in kept}
    made = seen({**control, "ports": ports}, {"seen_held": "beat_held"})
    wrapper = f"""module {top}(input clk, rst, i_valid, takes, output i_ready, offered, assumed,
  {", ".join(f"input [{width - 1}:0] {name}" for name, width in widths.items())},
  output [{len(WRONG) - 1}:0] wrong, output [1:0] related);
  {" ".join(f"wire [{width - 1}:0] {name};" for name, width in shown.items())}
  wire held;
  {around.design.top} design(.clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .{CORE}_i_ready(takes),
    {", ".join(f".{name}({name})" for name in (*widths, *shown))}, .{CORE}_i_valid(offered), .seen_held(held));
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
        relation=transitions(around.design, made, "skid.sv", wrapper, top),
        related=2,
        wrong=WRONG,
        shown={**dict.fromkeys(("rst", "i_valid", "i_ready", "offered", "takes"), 1), **widths},
    )


def skid_questions(waiting: Induction) -> Iterator[Question]:
    """The questions about the statements of `place`."""
    yield from waiting.questions()
    yield waiting.depends_on_registers("place-ready", "i_ready", "no path leads from o_ready to it")
