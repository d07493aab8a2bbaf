"""Questions about the place for one beat in front of a decoder with ``interface=skid``."""

from __future__ import annotations

from collections.abc import Iterator

from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.parts import NUMBERS, Beats
from ...questions.question import Question
from .induction import Induction, transitions

WRONG = (
    "a beat is offered to the decoder and none has entered: one was made twice",
    "a beat is offered to the decoder with other codes, scales or random bits than it entered with",
    "a beat enters while another one waits: one is lost",
    "a beat is not offered to the decoder",
    "no beat is taken, although none waits",
)
"""Faults by the bits of ``wrong`` in `skid.sv`."""

DATA = ("p", "scale", "g", "random")


def behind(control: dict) -> dict:
    """The decoder behind the place."""
    kept = ["clk", "rst", "o_ready", "o_valid"]
    kept += [f"{NUMBERS}_{name}" for name in ("enable", "is_first", "is_last")]
    return seen(cut(control, "beat_offered", kept), {"seen_ready": "back_enable"})


def place(beats: Beats) -> Induction:
    """The statements about the place."""
    control, top = beats.control(), "mxcast_placed"
    widths = {name: len(control["ports"][name]["bits"]) for name in DATA if name in control["ports"]}
    shown = {f"{NUMBERS}_{name}": width for name, width in widths.items()}
    kept = ["clk", "rst", "i_valid", "i_ready", *widths, *shown]
    made = seen(cut(control, "back_enable", kept), {"seen_offered": "beat_offered", "seen_held": "beat_held"})
    wrapper = f"""module {top}(input clk, rst, i_valid, takes, output i_ready, offered, assumed,
  {", ".join(f"input [{width - 1}:0] {name}" for name, width in widths.items())},
  output [{len(WRONG) - 1}:0] wrong, output [1:0] related);
  {" ".join(f"wire [{width - 1}:0] {name};" for name, width in shown.items())}
  wire held;
  {beats.design.top} design(.clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .cut_back_enable(takes),
    {", ".join(f".{name}({name})" for name in (*widths, *shown))}, .seen_offered(offered), .seen_held(held));
  mxcast_skid #(.DATA({sum(widths.values())})) skid(.clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready),
    .offered(offered), .takes(takes), .held(held), .data({{{", ".join(widths)}}}), .shown({{{", ".join(shown)}}}),
    .wrong(wrong), .assumed(assumed), .related(related));
endmodule
"""
    return Induction(
        name="place",
        claim="a beat that enters is offered to the decoder until it is taken, unchanged and once, and a beat can "
        "enter whenever none waits",
        top=top,
        relation=transitions(beats.design, made, "skid.sv", wrapper, top),
        related=2,
        wrong=WRONG,
        shown={**dict.fromkeys(("rst", "i_valid", "i_ready", "offered", "takes"), 1), **widths},
    )


def skid_questions(waiting: Induction) -> Iterator[Question]:
    """The questions about the statements of `place`."""
    yield from waiting.questions()
    yield waiting.depends_on_registers("place-ready", "i_ready", "no path leads from o_ready to it")
