"""Blocks that take the branches of a design, found by a solver.

Random blocks hardly ever meet a condition on many bits. So a solver finds, for each bit of a condition, a block that
makes it 1 and a block that makes it 0, and a simulator is given these blocks.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable

import numpy as np

from ..hdl import HardwareConfig
from ..host.errors import ToolError
from ..host.processes import run
from ..sim.transactions import Transactions, fields, word
from ..spec import BlockOperation, Encode, Port, Role
from .design import Cut, Design
from .solver import solver_version
from .structure import StructureError

__all__ = ["branch_blocks"]

SECONDS = 20
"""That the solver is given for all conditions of a design."""
VARIANTS = 16
"""How many variants of each of two kinds (`_flipped`, `JOINED`) are made of a block that the solver found. A block
that takes a branch may still give the same codes; of its variants some do not."""
CHANGED = 1 / 48
"""The share of bits that `_flipped` inverts."""

CONDITIONS = " ".join(
    (
        "t:$mux t:$pmux %u %ci1:+[S] w:* %i",
        "t:$eq t:$ne %u t:$eqx %u t:$nex %u t:$lt %u t:$le %u t:$gt %u t:$ge %u t:$logic_and %u t:$logic_or %u "
        "t:$logic_not %u t:$reduce_and %u t:$reduce_or %u t:$reduce_xor %u t:$reduce_bool %u %co1:+[Y] w:* %i",
        "%u t:$and t:$or %u t:$xor %u r:Y_WIDTH=1 %i %co1:+[Y] w:* %i %u",
    )
)
"""Yosys' selection of the wires that choose, and of the results of comparisons and of gates of one bit."""

WIRE = re.compile(r"^\(define-fun \|\S+_n ([^|]+)\| \(\(state \|[^|]+\|\)\) (Bool|\(_ BitVec (\d+)\))", re.MULTILINE)
"""A wire that a part has, and its bits."""

PROGRAM = """
import json, random, sys, time, bitwuzla
asked = json.load(open(sys.argv[1]))
manager, options = bitwuzla.TermManager(), bitwuzla.Options()
options.set(bitwuzla.Option.PRODUCE_MODELS, True)
options.set(bitwuzla.Option.TIME_LIMIT_PER, 1000)
parser = bitwuzla.Parser(manager, options, base=10)
parser.parse(asked["text"], True, False)
solver = bitwuzla.Bitwuzla(manager, options)
inputs = parser.parse_term(asked["inputs"])
wires = [parser.parse_term(wire) for wire in asked["wires"]]
widths = [0 if wire.sort().is_bool() else wire.sort().bv_size() for wire in wires]
goals = [(i, bit, value) for i, width in enumerate(widths) for bit in range(max(width, 1)) for value in (0, 1)]
random.Random(0).shuffle(goals)

def formula(i, bit, value):
    wire = wires[i]
    if widths[i]:
        wire = manager.mk_term(bitwuzla.Kind.BV_EXTRACT, [wire], [bit, bit])
        wire = manager.mk_term(bitwuzla.Kind.EQUAL, [wire, manager.mk_bv_value(manager.mk_bv_sort(1), 1)])
    return wire if value else manager.mk_term(bitwuzla.Kind.NOT, [wire])

end = time.monotonic() + asked["seconds"]
while goals and time.monotonic() < end:
    solver.push()
    solver.assert_formula(formula(*goals.pop()))
    if solver.check_sat() == bitwuzla.Result.SAT:
        print(solver.get_value(inputs).value(16), flush=True)
        found = {i: solver.get_value(wires[i]) for i in dict.fromkeys(i for i, _, _ in goals)}
        values = {i: int(found[i].value(2), 2) if widths[i] else int(found[i].value()) for i in found}
        goals = [(i, bit, value) for i, bit, value in goals if values[i] >> bit & 1 != value]
    solver.pop()
"""
"""Prints the inputs of blocks that meet goals, as hexadecimal, until all are met or the time is over."""


def branch_blocks(config: HardwareConfig, design: Design, say: Callable[[str], None]) -> Transactions:
    """Blocks, without random bits, with which a combinational design takes its branches, as far as the
    solver finds them in `SECONDS`, then variants of each; none where a wire has a name that SMT-LIB cannot have.
    """
    solver_version("bitwuzla")
    say("looking for blocks that take every branch")
    entering = [port for port in config.numerics.ports if port.direction == "input" and port.role is not Role.RANDOM]
    try:
        (part,) = design.parts(Cut(design.top, kept=CONDITIONS))
    except StructureError:  # the proof did without the names of these wires
        return _with_variants([], config.numerics, entering)
    names = {port.name for port in entering}
    wires = [part.wire(name, "s") for name, _, _ in WIRE.findall(part.text) if name not in names]
    file = design.folder / "branches.json"
    text = "(set-logic ALL)\n" + part.text + part.state("s")
    given = [part.wire(port.name, "s") for port in entering]
    inputs = given[0] if len(given) == 1 else f"(concat {' '.join(given)})"
    file.write_text(json.dumps({"text": text, "inputs": inputs, "wires": wires, "seconds": SECONDS}))
    done = run([sys.executable, "-P", "-c", PROGRAM, file.name], cwd=design.folder)
    file.unlink()
    if done.status:
        raise ToolError(f"bitwuzla failed: {(done.errors.strip().splitlines() or ['no reason given'])[-1]}")
    return _with_variants([int(line, 16) for line in done.output.split()], config.numerics, entering)


def _with_variants(found: list[int], rules: BlockOperation, entering: list[Port]) -> Transactions:
    rng, arrays, low = np.random.default_rng(0), {}, 0
    for port in reversed(entering):  # the last one has the low bits
        rows = [fields(block >> low, port) for block in found]
        arrays[port.role] = np.array(rows, np.uint64).reshape(-1, port.lanes)
        low += port.width
    variants = [arrays, {port.role: _flipped(arrays[port.role], port.bits, rng) for port in entering}]
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


JOINED: dict[str, Callable[..., dict[Role, np.ndarray]] | None] = {"encode": _near_the_largest, "decode": None}
"""By the name of the operation, more variants; none where every element goes its own way."""
