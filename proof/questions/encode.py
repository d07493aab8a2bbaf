"""The questions whose answers make the proof of an encoder; each is a file for any solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...hdl import ConverterConfig
from ...sim.transactions import Transactions
from ...spec import Encode, Role
from ..netlist.design import Cut, Design, Part
from ..netlist.structure import wiring
from ..specification.encode import Specification, bits
from .question import Question, constant, text, vector


def _sanity(s: Specification, prefix: str, mode: int, *parts: Part) -> list[Question]:
    """The specification itself: it allows one answer only, and what it assumes can happen, beside the text of the
    design's ``parts``.
    """
    source, width = s.source.bits, s.code_bits
    flags = {flag: f"told_{flag}" for flag in s.flags}
    byte = s.scale.bits
    free = "".join(
        f"(declare-const {name} (_ BitVec {size}))\n"
        for name, size in {"x": source, "largest": source, "b": byte, "b2": byte, "p": width, "p2": width}.items()
    )
    free += "".join(f"(declare-const {flag} Bool)\n" for flag in flags.values())
    random = None
    if s.random_bits:
        free, random = free + f"(declare-const r (_ BitVec {s.random_bits}))\n", "r"
    meets = f"(assert {s.may_meet('x', 'largest', 'b', flags)})\n"
    plain = "".join(f"(assert (not {flag}))\n" for flag in flags.values())

    def question(name: str, description: str, expected: str, names: tuple[str, ...], *asserts: str) -> Question:
        return Question(
            name=f"{prefix}{name}",
            description=description,
            expected=expected,
            names=names,
            mode=mode,
            text=text(description, s.definitions, free, *asserts),
        )

    return [
        question(
            "one-byte",
            "the specification allows one byte only",
            "unsat",
            ("largest", "b", "b2"),
            f"(assert (and (scale_of largest b) (scale_of largest b2) {s.counts('largest')} (distinct b b2)))\n",
        ),
        question(
            "one-code",
            "the specification allows one code only",
            "unsat",
            ("x", "largest", "b", "p", "p2"),
            meets,
            f"(assert {s.lane('x', 'b', 'p', flags, random)})\n(assert {s.lane('x', 'b', 'p2', flags, random)})\n",
            "(assert (distinct p p2))\n",
        ),
        question(
            "can-happen",
            "an ordinary element meets what the lemma about elements assumes",
            "sat",
            ("x", "largest", "b"),
            *(text for number, part in enumerate(parts) for text in (part.text, part.state(f"part{number}"))),
            meets,
            plain,
            f"(assert (and (not (special x)) (not (fp.isZero (magnitude x))) (bvugt b {bits(0, s.scale.bits)}) "
            f"(bvult b {bits(s.scale.max_code, s.scale.bits)}) {s.counts('largest')} (scale_of largest b)))\n",
        ),
    ]


def composed(config: ConverterConfig, design: Design, specify: Callable[[Encode], Specification]) -> list[Question]:
    """A lemma about one lane, for whatever it can meet, and one about the byte and flags of a block.

    ``specify`` gives the specification of a mode. Raises `StructureError` where the block is not wired so that they
    make a proof.
    """
    flags = Specification(config.numerics).flags
    wires = wiring(design.modules, design.top, config, flags)
    kinds = list(
        dict.fromkeys(
            zip(wires.elements, wires.wideners) if wires.wideners else ((element,) for element in wires.elements)
        )
    )
    modules = list(dict.fromkeys(module for kind in kinds for module in kind))
    rest, *parts = design.parts(Cut(design.top, wires.element_cells, tuple(wires.flags.values())), *map(Cut, modules))
    # a reader may make a module of its own of every instance: those that differ in their names only are one
    by_name = {module: part.named(names) for module, part, names in zip(modules, parts, _names(kinds, modules))}
    lanes = list(dict.fromkeys(tuple(by_name[module] for module in kind) for kind in kinds))
    questions = []
    for number, numerics in enumerate(config.modes):
        s = specify(numerics)
        prefix = f"mode{number}-" if config.alternatives else ""
        questions += _sanity(s, prefix, number, rest, *lanes[0])
        questions += [
            _lane(s, element, widen, config, number, prefix, f"-{which}" if which else "")
            for which, (element, *widen) in enumerate(lanes)
        ]
        questions.append(_scale(s, rest, wires.flags, config, number, prefix))
    return questions


def _names(kinds: list[tuple[str, ...]], modules: list[str]) -> list[str]:
    """For each module what it is to a lane."""
    elements = {kind[0] for kind in kinds}
    return [
        "its element" if module in elements else "its widener" for module in modules
    ]  # no name in Verilog has a space


def _mode(part: Part, symbol: str, config: ConverterConfig, number: int) -> str:
    if not config.alternatives:
        return ""
    (mode,) = (port.name for port in config.ports if port.role is Role.MODE)
    relation = "bvuge" if number == len(config.modes) - 1 else "="  # numbers beyond the last are the last
    return (
        f"(assert ({relation} {vector(part.wire(mode, symbol), config.mode_bits)} {bits(number, config.mode_bits)}))\n"
    )


def _lane(
    s: Specification, element: Part, widen: list[Part], config: ConverterConfig, number: int, prefix: str, which: str
) -> Question:
    x, texts = element.wire(s.ports[Role.NUMBERS], "s"), [element.text, element.state("s")]
    if widen:
        texts += [widen[0].text, widen[0].state("w"), f"(assert (= {x} {widen[0].wire('wide', 'w')}))\n"]
        x = widen[0].wire(s.ports[Role.NUMBERS], "w")
    values = [
        constant("x", s.source.bits, x),
        constant("b", s.scale.bits, element.wire(s.ports[Role.SCALE], "s")),
        constant("p", s.code_bits, vector(element.wire(s.ports[Role.CODES], "s"), s.code_bits)),
        f"(declare-const largest (_ BitVec {s.source.bits}))\n",
    ]
    names, random = ["x", "b", "p", "largest"], None
    for flag in s.flags:
        values.append(constant(f"told_{flag}", 0, element.wire(flag, "s")))
        names.append(f"told_{flag}")
    flags = {flag: f"told_{flag}" for flag in s.flags}
    if s.random_bits:
        values.append(constant("r", s.random_bits, vector(element.wire(s.ports[Role.RANDOM], "s"), s.random_bits)))
        names, random = [*names, "r"], "r"
    description = f"every element of a block of {s.element.name} has its code, whatever its block's byte"
    return Question(
        name=f"{prefix}element{which}",
        description=description,
        expected="unsat",
        names=tuple(names),
        mode=number,
        has_block=True,
        text=text(
            description,
            s.definitions,
            *texts,
            _mode(element, "s", config, number),
            *values,
            f"(assert {s.may_meet('x', 'largest', 'b', flags)})\n(assert (not "
            f"{s.lane('x', 'b', 'p', flags, random)}))\n",
        ),
    )


def _lanes(s: Specification, x: str) -> tuple[list[str], list[str]]:
    """Names of the numbers of a block, and their definitions."""
    width, count = s.source.bits, s.numerics.block_size
    names = [f"x{lane}" for lane in range(count)]
    return names, [
        constant(name, width, f"((_ extract {width * lane + width - 1} {width * lane}) {x})")
        for lane, name in enumerate(names)
    ]


def _scale(
    s: Specification, rest: Part, flags: dict[str, str], config: ConverterConfig, number: int, prefix: str
) -> Question:
    lanes, defined = _lanes(s, rest.wire(s.ports[Role.NUMBERS], "s"))
    goals = [s.block_scale(lanes, "largest", "b"), *(f"(= told_{flag} {s.flag(flag, lanes)})" for flag in s.flags)]
    description = f"every block of {s.numerics.block_size} numbers has its byte" + (
        f", and its flags {', '.join(s.flags)}" if s.flags else ""
    )
    return Question(
        name=f"{prefix}scale",
        description=description,
        expected="unsat",
        mode=number,
        has_block=True,
        names=(*lanes, "b", "largest", *(f"told_{flag}" for flag in s.flags)),
        text=text(
            description,
            s.definitions,
            rest.text,
            rest.state("s"),
            _mode(rest, "s", config, number),
            *defined,
            constant("b", s.scale.bits, rest.wire(s.ports[Role.SCALE], "s")),
            f"(declare-const largest (_ BitVec {s.source.bits}))\n",
            *(constant(f"told_{flag}", 0, rest.wire(flags[flag], "s")) for flag in s.flags),
            f"(assert {s.is_largest(lanes, 'largest')})\n(assert (not (and true {' '.join(goals)})))\n",
        ),
    )


def monolithic(config: ConverterConfig, design: Design, nan_codes_free: bool = False) -> list[Question]:
    """One question about the whole block, which assumes nothing about its inside. Codes under a scale of NaN may be
    free.
    """
    (whole,) = design.parts(Cut(design.top))
    questions = []
    for number, numerics in enumerate(config.modes):
        s = Specification(numerics)
        prefix = f"mode{number}-" if config.alternatives else ""
        questions += [*_sanity(s, prefix, number, whole), _block(s, whole, config, number, prefix, nan_codes_free)]
    return questions


def _block(
    s: Specification, whole: Part, config: ConverterConfig, number: int, prefix: str, nan_codes_free: bool
) -> Question:
    lanes, values = _lanes(s, whole.wire(s.ports[Role.NUMBERS], "s"))
    is_nan = f"(= b {bits(s.nan_byte, s.scale.bits)})"
    names, goals = [*lanes, "b", "largest"], [s.block_scale(lanes, "largest", "b")]
    values += [
        constant("b", s.scale.bits, whole.wire(s.ports[Role.SCALE], "s")),
        f"(declare-const largest (_ BitVec {s.source.bits}))\n",
    ]
    values += [constant(f"told_{flag}", 0, s.flag(flag, lanes)) for flag in s.flags]
    flags = {flag: f"told_{flag}" for flag in s.flags}
    for lane, x in enumerate(lanes):

        def of_lane(port: str, width: int, lane: int = lane) -> str:
            return f"((_ extract {width * (lane + 1) - 1} {width * lane}) {whole.wire(port, 's')})"

        random = None
        if s.random_bits:
            random = f"r{lane}"
            names.append(random)
            values.append(constant(random, s.random_bits, of_lane(s.ports[Role.RANDOM], s.random_bits)))
        values.append(constant(f"p{lane}", s.code_bits, of_lane(s.ports[Role.CODES], s.code_bits)))
        goal = s.lane(x, "b", f"p{lane}", flags, random)
        goals.append(f"(or {is_nan} {goal})" if nan_codes_free else goal)
    description = f"every block of {s.numerics.block_size} numbers has its byte and its codes"
    return Question(
        name=f"{prefix}block",
        description=description,
        expected="unsat",
        names=tuple(names),
        mode=number,
        has_block=True,
        text=text(
            description,
            s.definitions,
            whole.text,
            whole.state("s"),
            _mode(whole, "s", config, number),
            *values,
            f"(assert {s.is_largest(lanes, 'largest')})\n(assert (not (and {' '.join(goals)})))\n",
        ),
    )


def blocks(numerics: Encode, values: dict[str, int]) -> Transactions:
    """Blocks that hold what a solver found, and their random bits: one lane beside the largest element, beside Inf, or
    beside NaN, whichever gives it its byte and flags; or a whole block.
    """
    size, source = numerics.block_size, numerics.source
    if "x0" in values:
        found = [[values[f"x{lane}"] for lane in range(size)]]
        drawn = [[values.get(f"r{lane}", 0) for lane in range(size)]]
    else:
        infinity = ((1 << source.exp_bits) - 1) << source.man_bits
        companions = [values["largest"], infinity, infinity | 1]
        rest = [0] * (size - 2)
        found = [[values["x"], companion, *rest] for companion in companions]
        found += [[companion, values["x"], *rest] for companion in companions]
        drawn = [[values.get("r", 0)] * size for _ in found]
    random = {Role.RANDOM: np.array(drawn, np.uint16)} if numerics.random_bits else {}
    return Transactions({Role.NUMBERS: np.array(found, f"uint{source.bits}"), **random})


def difference(one: Design, other: Design, module: str) -> str:
    """Text that asks whether a module of two designs, with the same ports, can differ in an output: then ``differs`` is
    true.
    """
    cut = Cut(module)
    a, b = one.parts(cut)[0], other.parts(cut)[0]
    b = Part(f"other_{module}", b.text.replace(f"|{module}", f"|other_{module}"))
    ports = {
        direction: [name for name, port in one.modules[module]["ports"].items() if port["direction"] == direction]
        for direction in ("input", "output")
    }
    same = {
        direction: " ".join(f"(= {a.wire(name, 's')} {b.wire(name, 't')})" for name in names)
        for direction, names in ports.items()
    }
    return text(
        f"can {module} differ?",
        a.text,
        b.text,
        a.state("s"),
        b.state("t"),
        f"(assert (and true {same['input']}))\n",
        f"(declare-const differs Bool)\n(assert (= differs (not (and true {same['output']}))))\n(assert differs)\n",
    )
