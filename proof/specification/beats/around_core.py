"""Questions about modules that change the handshake of a core, for any core with valid and ready."""

from __future__ import annotations

from collections.abc import Iterator

from ....hdl.config.axis import OF_RESULTS
from ....hdl.handshake.axis import most_inside
from ....spec import Port
from ...netlist.beats.core import CORE, AroundCore
from ...netlist.beats.cuts import cut, seen
from ...questions.question import Question
from .axis import FRONT, PLACE, Front, enter_questions, enters, place_bits
from .induction import Induction, transitions
from .skid import place, skid_questions
from .stream_path import vector

WRONG = (
    "a beat enters the core and stays at the input, or leaves the input and does not enter the core",
    "a beat waits at the input, although there is room",
    "a stream offers no result, one that it has already, or one that the core does not have",
    "a stream has other data, other bytes or tlast with another result than the last of a block",
    "the core gives a result away that a stream does not have, or keeps one that all have",
    "tlast or tuser belong to another block",
    "the core is not reset with the module",
)
"""Faults by the bits of ``wrong`` in `axis_results.sv`."""


def around_core(around: AroundCore) -> tuple[Induction, ...]:
    """The statements about a module around a core."""
    if around.config.has_axis:
        return enters(front(around)), results(around)
    return (place(around),)


def around_questions(around: AroundCore) -> Iterator[Question]:
    """The questions about the statements of `around_core`."""
    first, *more = around_core(around)
    if not more:
        around.passed()
        yield from skid_questions(first)
    else:
        (leaving,) = more
        yield from enter_questions(first)
        yield from leaving.questions()
        for number in range(len(streams(around))):
            port = f"valid{number}"
            yield leaving.depends_on_registers(f"leave-{port}", port, "it does not wait for a tready", "core_o_valid")
        yield leaving.depends_on_registers(
            "leave-ready", "takes", "no path leads from a tready of a result to it", "core_i_ready"
        )
        yield leaving.can_happen("a block can enter and its last result can leave", 2 * around.config.beats + 2)
    around.check_known()


def streams(around: AroundCore) -> dict[str, Port]:
    """The beginning of the names of each stream of results, with the port of the core."""
    ports = {port.name: port for port in around.config.operation_ports if port.direction == "output"}
    return {OF_RESULTS[name]: port for name, port in ports.items()}


def front(around: AroundCore) -> Front:
    """The register in front of a core."""
    control, beats = around.control, around.config.beats
    (numbers, *others) = (port for port in around.core.ports if port.name in around.entering)
    assert numbers.format is not None
    outside = ["aclk", "aresetn", *(name for name in control["ports"] if name.startswith("s_axis_"))]
    given = {f"{CORE}_{port.name}": port.width for port in reversed(others)}
    made = cut(control, "core_ready", [*outside, f"{CORE}_{numbers.name}", *given])
    wires = {**(PLACE if beats > 1 else {}), **FRONT, "seen_last": "last_q", "seen_completed": "completed_q"}
    return Front(
        design=around.design,
        module=seen(made, wires),
        lanes=numbers.lanes,
        size=numbers.bits // 8,
        beats=beats,
        x=f"{CORE}_{numbers.name}",
        marks=".seen_last(marks[0]), .seen_completed(marks[1])",
        given=given,
    )


def results(around: AroundCore) -> Induction:
    """The statements about the core and the streams of its results."""
    top, control, beats, found = "mxcast_left", around.control, around.config.beats, streams(around)
    bits, most = place_bits(beats), most_inside(around.core)
    count = most.bit_length()
    widths = {name: len(port["bits"]) for name, port in control["ports"].items()}
    names = [name for name in widths if name.startswith("m_axis_")]
    own = [f"{CORE}_{name}" for name in ("rst", "i_valid", "i_ready", "o_valid", "o_ready", "o_last")]
    kept = ["aclk", "aresetn", *names, *own, *(f"{CORE}_{port.name}" for port in found.values())]
    made = control
    for wire in ("valid_q", "last_q", "completed_q"):
        made = cut(made, wire, kept)
        kept.append(f"cut_{wire}")
    wires = {"seen_takes": "core_ready", "seen_blocks": "blocks_inside", "seen_marks": "marks_inside"}
    wires |= PLACE if beats > 1 else {}
    if len(found) > 1:
        wires |= {f"seen_{stream}sent": f"{stream}sent" for stream in found}
    made = seen(made, wires)
    offers, connected, same, lasts, users, marked = [], [], [], [], [], ""
    for number, (stream, port) in enumerate(found.items()):
        data, has_keep = widths[f"{stream}tdata"], f"{stream}tkeep" in widths
        keep = widths.get(f"{stream}tkeep", 1)
        offers.append(
            f"wire {vector(data)} {stream}tdata; wire {vector(keep)} {stream}tkeep{'' if has_keep else ' = 1'}; "
            f"wire {stream}tlast, {stream}tuser; assign valid{number} = valids[{number}];"
        )
        pins = ["tdata", "tlast", *(["tkeep", "tuser"] if has_keep else [])]
        connected += [f".{stream}{pin}({stream}{pin})" for pin in pins]
        connected += [f".{stream}tvalid(valids[{number}])", f".{stream}tready(readies[{number}])"]
        connected += [f".seen_{stream}sent(sent[{number}])"] if len(found) > 1 else []
        same.append(f"{stream}tdata == {data}'d0 + {CORE}_{port.name} && &{stream}tkeep")
        lasts.append(f"{stream}tlast")
        users.append(f"{stream}tuser" if has_keep else "1'b0")
        marked = f"{int(has_keep)}{marked}"
    data_ports = [f"{CORE}_{port.name}" for port in found.values()]
    together = {
        "same": ", ".join(f"({one})" for one in reversed(same)),
        "lasts": ", ".join(reversed(lasts)),
        "users": ", ".join(reversed(users)),
    }
    size = len(found)
    given = ", ".join(f"input {vector(widths[name])} {name}" for name in data_ports)
    data_bits = sum(widths[name] for name in data_ports)
    wrapper = f"""module {top}(input clk, rst, mark, offered, input [1:0] marks, input {vector(size)} readies,
  input core_i_ready, core_o_valid, core_o_last, {given},
  output core_i_valid, core_o_ready, takes, o_valid, o_last, assumed, output {vector(len(WRONG))} wrong,
  output [5:0] related, output {vector(size)} valids, {", ".join(f"output valid{number}" for number in range(size))});
  wire core_rst; wire {vector(bits)} beat{"" if beats > 1 else " = 0"};
  wire {vector(count)} blocks_inside; wire {vector(2 * most)} marks_inside;
  wire {vector(size)} sent{"" if size > 1 else " = 0"};
  assign o_valid = core_o_valid & core_o_ready & ~rst; assign o_last = core_o_last;
  {" ".join(offers)}
  {around.design.top} design(.aclk(clk), .aresetn(~rst), .cut_valid_q(offered), .cut_last_q(marks[0]),
    .cut_completed_q(marks[1]), .core_rst(core_rst), .core_i_valid(core_i_valid), .core_i_ready(core_i_ready),
    .core_o_valid(core_o_valid), .core_o_ready(core_o_ready), .core_o_last(core_o_last),
    {", ".join(f".{name}({name})" for name in data_ports)}, {", ".join(connected)},
    {".seen_beat(beat), " if beats > 1 else ""}.seen_takes(takes), .seen_blocks(blocks_inside),
    .seen_marks(marks_inside));
  mxcast_results #(.BEATS({beats}), .PLACE({bits}), .STREAMS({size}), .DATA({data_bits}),
    .MOST({most}), .COUNT({count}), .USERS({size}'b{marked})) results(
    .clk(clk), .rst(rst), .mark(mark), .core_rst(core_rst), .offered(offered), .takes(takes), .marks(marks),
    .core_i_valid(core_i_valid), .core_i_ready(core_i_ready),
    .core_o_valid(core_o_valid), .core_o_ready(core_o_ready), .core_o_last(core_o_last),
    .data({{{", ".join(data_ports)}}}), .valids(valids), .readies(readies), .lasts({{{together["lasts"]}}}),
    .users({{{together["users"]}}}), .same({{{together["same"]}}}), .beat(beat), .blocks_inside(blocks_inside),
    .marks_inside(marks_inside), .sent(sent), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="leave",
        claim="each result of the core leaves once by each stream, unchanged while it waits, with the marks of its "
        "block, and all beats enter the core",
        top=top,
        relation=transitions(around.design, made, "axis_results.sv", wrapper, top),
        related=6,
        wrong=WRONG,
        shown={
            **dict.fromkeys(("rst", "offered", "core_i_valid", "core_i_ready", "core_o_valid", "core_o_ready"), 1),
            "core_o_last": 1,
            "marks": 2,
            "valids": size,
            "readies": size,
        },
    )
