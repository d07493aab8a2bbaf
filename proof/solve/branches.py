"""Blocks that take the branches of a design, found by a solver.

Random blocks hardly ever meet a condition on many bits, or have a carry through a long sum. So for each bit of each
wire that random blocks leave at 0 or at 1 a solver finds a block that inverts it. These blocks are then simulated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np

from ...hdl import HardwareConfig
from ...host.errors import ToolError
from ...host.processes import python, run
from ...sim.transactions import Transactions, fields, word
from ...spec import FP32, Port, Role
from ..foreign.mapping import CONSTANTS
from ..netlist.design import Cut, Design, Part
from ..netlist.structure import StructureError
from ..operations import provable
from .solver import solver_version

SECONDS = 20
"""Time of the solver for all wires of a design."""
RANDOM = 16
"""Random blocks, at most, that show which bits are rare, within a quarter of the time."""
VARIANTS = 16
"""Variants of each of two kinds (`_flipped`, `Provable.joined`) for each block of the solver: a block that takes a
branch may still give the same codes, and some of its variants do not."""
CHANGED = 1 / 48
"""Share of bits that `_flipped` inverts."""

PROGRAM = """
import json, random, sys, time
from bitwuzla import Bitwuzla, Kind, Option, Options, Parser, Result, TermManager
asked = json.load(open(sys.argv[1]))
manager, options, chance = TermManager(), Options(), random.Random(0)
options.set(Option.PRODUCE_MODELS, True)
options.set(Option.TIME_LIMIT_PER, 1000)
parser = Parser(manager, options, base=10)
parser.parse(asked["text"], True, False)
solver = Bitwuzla(manager, options)
solver.assert_formula(parser.parse_term(asked["domain"]))
inputs = parser.parse_term(asked["inputs"])
wires = list(dict.fromkeys(solver.simplify_term(parser.parse_term(wire)) for wire in asked["wires"]))
widths = [0 if wire.sort().is_bool() else wire.sort().bv_size() for wire in wires]
goals = [(i, bit, value) for i, width in enumerate(widths) for bit in range(max(width, 1)) for value in (0, 1)]
chance.shuffle(goals)
goals.sort(key=lambda goal: widths[goal[0]] <= 1)  # the last are asked for first: conditions

def goal(i, bit, value):
    wire = wires[i]
    if widths[i]:
        wire = manager.mk_term(Kind.BV_EXTRACT, [wire], [bit, bit])
        wire = manager.mk_term(Kind.EQUAL, [wire, manager.mk_bv_value(manager.mk_bv_sort(1), 1)])
    return wire if value else manager.mk_term(Kind.NOT, [wire])

def drawn():
    width = inputs.sort().bv_size()
    block = manager.mk_bv_value(inputs.sort(), f"{chance.getrandbits(width):x}", 16)
    return manager.mk_term(Kind.EQUAL, [inputs, block])

def met(formula, goals):
    solver.push()
    solver.assert_formula(formula)
    block = None
    if solver.check_sat() == Result.SAT:
        block = solver.get_value(inputs).value(16)
        found = {i: solver.get_value(wires[i]) for i in dict.fromkeys(i for i, _, _ in goals)}
        values = {i: int(found[i].value(2), 2) if widths[i] else int(found[i].value()) for i in found}
        goals = [(i, bit, value) for i, bit, value in goals if values[i] >> bit & 1 != value]
    solver.pop()
    return block, goals

start, left = time.monotonic(), asked["random"]
while left and time.monotonic() < start + asked["seconds"] / 4:
    block, goals = met(drawn(), goals)
    left -= block is not None
while goals and time.monotonic() < start + asked["seconds"]:
    formula = goal(*goals.pop())
    block, goals = met(formula, goals)
    if block:
        print(block, flush=True)
"""
"""Prints the inputs of blocks that meet goals, in hexadecimal, until all goals are met or the time is over."""


def branch_blocks(config: HardwareConfig, design: Design, say: Callable[[str], None]) -> Transactions:
    """Blocks with which the wires of a combinational design take both values, where random blocks do not, as far as the
    solver finds them in `SECONDS`; and variants of each block. They are without random bits, and within the domain of
    the proof.
    """
    solver_version("bitwuzla")
    say("looking for blocks that take every branch")
    inputs = [port for port in config.numerics.ports if port.direction == "input" and port.role is not Role.RANDOM]
    entering = [port for port in config.operation_ports if port.role in {one.role for one in inputs}]
    blocks = _with_variants(_found(config, design, entering), config, entering)
    # a constant that the design does not read, as it reads a table row in its place, is one
    absent = [port for port in inputs if port.role not in blocks.arrays]
    one = FP32.bias << FP32.man_bits
    return blocks.with_arrays({port.role: np.full((len(blocks), 1), one, word(port)) for port in absent})


def _found(config: HardwareConfig, design: Design, entering: list[Port]) -> list[int]:
    """The words of the ports of each block, as one number; empty if a wire has a name that SMT-LIB cannot have."""
    try:
        (part,) = design.parts(Cut(design.top, kept="w:*"))
    except StructureError:  # the proof did without the names of these wires
        return []
    text = _in_one_state(part)
    given = [f"|{part.name}_n {port.name}|" for port in entering]
    wires = re.findall(rf"^\(define-fun (\|{re.escape(part.name)}_n [^|]+\|) ", text, re.M)
    words = {port.role: wire for port, wire in zip(entering, given)}
    asked = {
        "text": text,
        "domain": provable(config).domain(config.numerics, words),
        "inputs": given[0] if len(given) == 1 else f"(concat {' '.join(given)})",
        "wires": [wire for wire in wires if wire not in given],
        "random": RANDOM,
        "seconds": SECONDS,
    }
    file = design.folder / "branches.json"
    file.write_text(json.dumps(asked))
    done = run(python(PROGRAM, file.name), cwd=design.folder)
    file.unlink()
    if done.status:
        raise ToolError(f"bitwuzla failed: {(done.errors.strip().splitlines() or ['no reason given'])[-1]}")
    return [int(line, 16) for line in done.output.split()]


def _in_one_state(part: Part) -> str:
    """The functions of a part as constants in one state, ``s``: a solver computes each of these once."""
    name = re.escape(part.name)
    (sort,) = re.findall(rf"^\(define-sort \|{name}_s\| \(\) (.*)\)$", part.text, re.M)
    text = re.sub(rf"^\(define-fun \|{name}_t\| .*$", "", part.text, flags=re.M)  # of two states
    text = re.sub(r"\((\|[^|]+\|) state\)", r"\1", text.replace(f"((state |{part.name}_s|))", "()"))
    return f"(set-logic ALL)\n(declare-const s {sort})\n" + re.sub(r"\bstate\)", "s)", text)


def _with_variants(found: list[int], config: HardwareConfig, entering: list[Port]) -> Transactions:
    rng, arrays, low = np.random.default_rng(0), dict[Role, np.ndarray](), 0
    for port in reversed(entering):  # the last one has the low bits
        rows = [fields(block >> low, port) for block in found]
        arrays[port.role] = np.array(rows, np.uint64).reshape(-1, port.lanes)
        low += port.width
    flipped = {
        port.role: np.repeat(arrays[port.role], VARIANTS, axis=0)
        if port.role in CONSTANTS  # which stay in their domain
        else _flipped(arrays[port.role], port.bits, rng)
        for port in entering
    }
    joined = provable(config).joined(arrays, config.numerics, VARIANTS, rng)
    variants = [arrays, flipped, *([joined] if joined else [])]
    return Transactions(
        {port.role: np.concatenate([one[port.role] for one in variants]).astype(word(port)) for port in entering}
    )


def _flipped(blocks: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """`VARIANTS` copies of each block with some bits inverted. Half of them still meet a condition on 30 bits."""
    others = np.repeat(blocks, VARIANTS, axis=0)
    flips = rng.random((*others.shape, bits)) < CHANGED
    return others ^ (flips.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(axis=-1, dtype=np.uint64)
