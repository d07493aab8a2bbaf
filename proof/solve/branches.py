"""Blocks that take the branches of a design, found by a solver.

Random blocks hardly ever meet a condition on many bits, or have a carry through a long sum. So a solver finds, for each
bit of each wire that random blocks leave 0 or leave 1, a block that makes it the other, and a simulator is given these
blocks.
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
from ...spec import FP32, BlockOperation, Encode, Port, Role
from ..foreign.mapping import CONSTANTS
from ..netlist.design import Cut, Design, Part
from ..netlist.structure import StructureError
from ..operations import asked_of
from .solver import solver_version

SECONDS = 20
"""That the solver is given for all wires of a design."""
RANDOM = 16
"""How many random blocks at most tell which bits are rare, in a quarter of the time."""
VARIANTS = 16
"""How many variants of each of two kinds (`_flipped`, `JOINED`) are made of a block that the solver found. A block
that takes a branch may still give the same codes; of its variants some do not."""
CHANGED = 1 / 48
"""The share of bits that `_flipped` inverts."""

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
"""Prints the inputs of blocks that meet goals, as hexadecimal, until all are met or the time is over."""


def branch_blocks(config: HardwareConfig, design: Design, say: Callable[[str], None]) -> Transactions:
    """Blocks, without random bits, with which the wires of a combinational design take both values, as far as random
    blocks do not and the solver finds them in `SECONDS`, then variants of each; none where a wire has a name that
    SMT-LIB cannot have. All are within the domain of the operation, outside of which nothing is proved.
    """
    solver_version("bitwuzla")
    say("looking for blocks that take every branch")
    rules = config.numerics
    entering = [port for port in config.operation_ports if port.role in _entering(rules)]
    try:
        (part,) = design.parts(Cut(design.top, kept="w:*"))
    except StructureError:  # the proof did without the names of these wires
        return _complete(_with_variants([], rules, entering), rules)
    text = _in_one_state(part)
    given = [f"|{part.name}_n {port.name}|" for port in entering]
    domain = asked_of(config).domain(rules, {port.role: wire for port, wire in zip(entering, given)})
    wires = re.findall(rf"^\(define-fun (\|{re.escape(part.name)}_n [^|]+\|) ", text, re.M)
    asked = {
        "text": text,
        "domain": domain,
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
    return _complete(_with_variants([int(line, 16) for line in done.output.split()], rules, entering), rules)


def _entering(rules: BlockOperation) -> dict[Role, Port]:
    return {port.role: port for port in rules.ports if port.direction == "input" and port.role is not Role.RANDOM}


def _complete(blocks: Transactions, rules: BlockOperation) -> Transactions:
    """The same with a one for each constant that the design does not read, as it reads a row in its place."""
    one = FP32.bias << FP32.man_bits
    missing = {role: port for role, port in _entering(rules).items() if role not in blocks.arrays}
    return blocks.with_arrays({role: np.full((len(blocks), 1), one, word(port)) for role, port in missing.items()})


def _in_one_state(part: Part) -> str:
    """The functions of a part as names for what they are in one state, ``s``: a solver computes each of these once."""
    name = re.escape(part.name)
    (sort,) = re.findall(rf"^\(define-sort \|{name}_s\| \(\) (.*)\)$", part.text, re.M)
    text = re.sub(rf"^\(define-fun \|{name}_t\| .*$", "", part.text, flags=re.M)  # of two states
    text = re.sub(r"\((\|[^|]+\|) state\)", r"\1", text.replace(f"((state |{part.name}_s|))", "()"))
    return f"(set-logic ALL)\n(declare-const s {sort})\n" + re.sub(r"\bstate\)", "s)", text)


def _with_variants(found: list[int], rules: BlockOperation, entering: list[Port]) -> Transactions:
    rng, arrays, low = np.random.default_rng(0), {}, 0
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
    variants = [arrays, flipped]
    if (joined := JOINED[rules.name]) is not None:
        variants.append(joined(arrays, rules, rng))
    return Transactions(
        {port.role: np.concatenate([one[port.role] for one in variants]).astype(word(port)) for port in entering}
    )


def _flipped(blocks: np.ndarray, bits: int, rng: np.random.Generator) -> np.ndarray:
    """`VARIANTS` of each block with some bits inverted: half of them still meet a condition on 30 bits."""
    others = np.repeat(blocks, VARIANTS, axis=0)
    flips = rng.random((*others.shape, bits)) < CHANGED
    return others ^ (flips.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(axis=-1, dtype=np.uint64)


def _near_the_largest(
    arrays: dict[Role, np.ndarray], rules: Encode, rng: np.random.Generator
) -> dict[Role, np.ndarray]:
    """`VARIANTS` of each block in which one number is about as large as the largest, so that its code has bits too."""
    source, others = rules.source, np.repeat(arrays[Role.NUMBERS], VARIANTS, axis=0)
    rows, lanes = np.arange(len(others)), rng.integers(0, others.shape[1], len(others))
    fraction, below = np.uint64((1 << source.man_bits) - 1), rng.integers(0, 4, len(others), np.uint64)
    largest = (others & np.uint64((1 << (source.bits - 1)) - 1)).max(axis=1, initial=0) >> np.uint64(source.man_bits)
    numbers = rng.integers(0, 1 << source.bits, len(others), np.uint64)
    numbers &= fraction | np.uint64(1 << (source.bits - 1))
    others[rows, lanes] = numbers | (largest - np.minimum(largest, below)) << np.uint64(source.man_bits)
    return {Role.NUMBERS: others}


JOINED: dict[str, Callable[..., dict[Role, np.ndarray]] | None] = {
    "encode": _near_the_largest,
    "decode": None,
    "cast": None,
    "two_level_encode": None,
    "two_level_decode": None,
    "hadamard": None,
}
"""By the name of the operation, more variants; none where every element goes its own way."""
