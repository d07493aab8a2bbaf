"""The trace of a wrong order of beats: edge by edge in words, and as a VCD file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ...hdl import HardwareConfig
from ...host.files import write_whole
from ..netlist.design import Design
from ..questions.lanes import around_order, order_of
from ..questions.question import Question
from ..specification.beats.induction import Induction
from ..specification.beats.order import WRONG, Order
from .solver import solve

FILE = "trace.vcd"


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Beats that enter and leave a design after a reset, until something wrong happens."""

    words: tuple[str, ...]
    """One sentence for each edge."""
    file: Path
    """The VCD file, in which an edge is 10 ns."""


def trace_of(
    asked: Question, config: HardwareConfig, design: Design, folder: Path, *, solver: str, timeout: float
) -> Trace | None:
    """A trace that shows why a question of the order of beats has another answer, or None if the solver finds none."""
    for system in around_order(config, design):
        if asked.name.startswith(system.name):
            until_results = config.latency + config.interval if config.interval > 1 else 0
            return traced_around(system, 3 * config.beats + 4 + until_results, folder, solver=solver, timeout=timeout)
    return traced(order_of(config, design), folder, solver=solver, timeout=timeout)


def traced(order: Order, folder: Path, *, solver: str, timeout: float) -> Trace | None:
    """A trace that ends with something wrong, or None if the solver finds no trace."""
    widths = order.widths_of_trace
    edges = _edges(order.fault(), widths, solver, timeout)
    if edges is None:
        return None
    file = write_whole(folder / FILE, vcd(edges, widths))
    words = (order.in_words(sentence) for sentence in sentences(edges, order.beats.config.beats))
    return Trace(words=tuple(words), file=file)


def traced_around(system: Induction, most: int, folder: Path, *, solver: str, timeout: float) -> Trace | None:
    """`traced` for what is around the core: packets that enter, beats that leave, or the place of a skid. Something
    wrong is looked for in ``most`` edges after a reset.
    """
    widths = system.shown | {"wrong": len(system.wrong)}
    edges = _edges(system.fault(most), widths, solver, timeout)
    if edges is None:
        return None
    words = list[str]()
    for number, edge in enumerate(edges):
        seen = ", ".join(f"{name} = {edge[name]:#x}" for name in system.shown if name != "rst")
        words.append(f"edge {number}: {'reset' if edge['rst'] else seen}")
    wrong = [fault for place, fault in enumerate(system.wrong) if edges[-1]["wrong"] >> place & 1]
    words.append(f"wrong at edge {len(edges) - 1}: {'; '.join(wrong)}")
    return Trace(words=tuple(words), file=write_whole(folder / FILE, vcd(edges, widths)))


def _edges(asked: Question, names: Iterable[str], solver: str, timeout: float) -> list[dict[str, int]] | None:
    """The values at each edge, up to the first with something wrong, or None if the solver finds none."""
    answer = solve(asked.text, asked.names, solver=solver, timeout=timeout)
    if answer.result != "sat":
        return None
    edges: list[dict[str, int]] = []
    while f"e{len(edges)}_rst" in answer.values:
        edges.append({name: answer.values[f"e{len(edges)}_{name}"] for name in names})
    last = next(number for number, edge in enumerate(edges) if number and edge["wrong"])
    return edges[: last + 1]


def sentences(edges: list[dict[str, int]], beats: int) -> list[str]:
    """The events at each edge. Beats are numbered from the last reset on."""
    found, entered, left = [], 0, 0
    for number, edge in enumerate(edges):
        events = []
        if edge["rst"]:
            entered, left = 0, 0
            events.append("reset")
        else:
            if edge["i_valid"] and edge["i_ready"]:
                name = f"beat {entered % beats} of block {entered // beats}"
                given = f"x = {edge['x']:#x}" if "x" in edge else f"p = {edge['word']:#x}"
                events.append(f"{name} enters, {given}, with the largest key {edge['key']:#x}")
                entered += 1
            elif edge["i_valid"]:
                events.append("a beat is offered and not taken")
            if edge["o_valid"]:
                place = {(1, 0): "first", (0, 1): "last", (1, 1): "first and last"}
                mark = place.get((edge["o_first"], edge["o_last"]), "inner")
                does = "leaves" if edge["o_ready"] else "waits"
                events.append(
                    f"result {left % beats} of block {left // beats} {does} as the {mark} beat, stored as "
                    f"{edge['o_word']:#x}, under the key {edge['o_key']:#x}"
                )
                left += edge["o_ready"]
        found.append(f"edge {number}: {'; '.join(events) or 'nothing'}")
    wrong = [words for place, words in enumerate(WRONG) if edges[-1]["wrong"] >> place & 1]
    return [*found, f"wrong at edge {len(edges) - 1}: {'; '.join(wrong)}"]


def vcd(edges: list[dict[str, int]], widths: dict[str, int]) -> str:
    """The edges as a value change dump."""
    symbols = {name: chr(ord("!") + number) for number, name in enumerate(widths)}
    lines = ["$timescale 1 ns $end", "$scope module beats $end", "$var wire 1 ~ clk $end"]
    lines += [f"$var wire {width} {symbols[name]} {name} $end" for name, width in widths.items()]
    lines += ["$upscope $end", "$enddefinitions $end"]
    for number, edge in enumerate(edges):
        lines += [f"#{10 * number}", "0~"]
        lines += [f"b{edge[name]:0{width}b} {symbols[name]}" for name, width in widths.items()]
        lines += [f"#{10 * number + 5}", "1~"]
    return "\n".join([*lines, f"#{10 * len(edges)}"]) + "\n"
