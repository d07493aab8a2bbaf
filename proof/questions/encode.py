"""Questions about encoders: lemmas about a lane and about the scale of a block, or one question about the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...hdl import HardwareConfig
from ...sim.transactions import Transactions
from ...spec import Encode, Role
from ..netlist.design import Cut, Design, Part
from ..netlist.structure import wiring
from ..specification.encode import Specification, bits
from ..specification.mutants.encode import ENCODE_MUTANTS
from .provable import Provable
from .question import Question, constant, declared, question, vector


class ProvableEncode(Provable[Encode, Specification]):
    """The proof of an encoder."""

    mutants = ENCODE_MUTANTS

    def specification(self, rules: Encode) -> Specification:
        return Specification(rules)

    def composed(
        self, config: HardwareConfig[Encode], design: Design, specify: Callable[[Encode], Specification]
    ) -> Iterable[Question]:
        """A lemma about one lane, for every number and byte that it can receive, and one about the byte and the flags
        of a block.
        """
        wires = wiring(design.modules, design.top, config, Specification(config.numerics).flags)
        kinds = list(
            dict.fromkeys(
                zip(wires.elements, wires.wideners) if wires.wideners else ((element,) for element in wires.elements)
            )
        )
        modules = list(dict.fromkeys(module for kind in kinds for module in kind))
        rest, *parts = design.parts(
            Cut(design.top, wires.element_cells, tuple(wires.flags.values())), *map(Cut, modules)
        )
        # readers may copy a module for each instance: copies that differ in their names only are one lane
        by_name = {module: part.named(_part_name(module, kinds)) for module, part in zip(modules, parts)}
        lanes = list(dict.fromkeys(tuple(by_name[module] for module in kind) for kind in kinds))
        questions = []
        for mode in _modes(config, specify):
            questions += mode.sanity(rest, *lanes[0])
            questions += [mode.lane(number, *lane) for number, lane in enumerate(lanes)]
            questions.append(mode.scale(rest, wires.flags))
        return questions

    def monolithic(
        self, config: HardwareConfig[Encode], design: Design, nan_codes_free: bool = False
    ) -> list[Question]:
        (whole,) = design.parts(Cut(design.top))
        questions = []
        for mode in _modes(config, Specification):
            questions += [*mode.sanity(whole), mode.block(whole, nan_codes_free)]
        return questions

    def blocks(self, rules: Encode, values: dict[str, int]) -> Transactions:
        """A whole block; or, from the values of one lane, blocks with that lane and the largest element, Inf or NaN:
        one of these gives the byte and the flags that the solver chose.
        """
        size, source = rules.block_size, rules.source
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
        random = {Role.RANDOM: np.array(drawn, np.uint16)} if rules.random_bits else {}
        return Transactions({Role.NUMBERS: np.array(found, f"uint{source.bits}"), **random})

    def joined(
        self, arrays: Mapping[Role, np.ndarray], rules: Encode, count: int, rng: np.random.Generator
    ) -> dict[Role, np.ndarray]:
        """Variants in which one number is about as large as the largest, so that its code has bits too."""
        source, others = rules.source, np.repeat(arrays[Role.NUMBERS], count, axis=0)
        rows, lanes = np.arange(len(others)), rng.integers(0, others.shape[1], len(others))
        fraction, below = np.uint64((1 << source.man_bits) - 1), rng.integers(0, 4, len(others), np.uint64)
        magnitudes = others & np.uint64((1 << (source.bits - 1)) - 1)
        largest = magnitudes.max(axis=1, initial=0) >> np.uint64(source.man_bits)
        numbers = rng.integers(0, 1 << source.bits, len(others), np.uint64)
        numbers &= fraction | np.uint64(1 << (source.bits - 1))
        others[rows, lanes] = numbers | (largest - np.minimum(largest, below)) << np.uint64(source.man_bits)
        return {Role.NUMBERS: others}


def _part_name(module: str, kinds: list[tuple[str, ...]]) -> str:
    """The name of a module after its use in a lane; a name in Verilog has no space."""
    return "its element" if any(module == kind[0] for kind in kinds) else "its widener"


def _modes(config: HardwareConfig[Encode], specify: Callable[[Encode], Specification]) -> list[_Mode]:
    return [_Mode(config, number, specify(rules)) for number, rules in enumerate(config.modes)]


@dataclass(frozen=True)
class _Mode:
    """The questions about one mode of an encoder."""

    config: HardwareConfig[Encode]
    number: int
    s: Specification

    @cached_property
    def flags(self) -> dict[str, str]:
        """The constant that holds each flag of a block, by its name."""
        return {flag: f"told_{flag}" for flag in self.s.flags}

    @cached_property
    def random(self) -> str | None:
        """The constant that holds the random bits of a lane."""
        return "r" if self.s.random_bits else None

    def question(
        self, name: str, description: str, names: tuple[str, ...], *parts: str, has_block: bool, expected: str = "unsat"
    ) -> Question:
        prefix = f"mode{self.number}-" if self.config.alternatives else ""
        return question(
            f"{prefix}{name}",
            description,
            names,
            self.s.definitions,
            *parts,
            expected=expected,
            mode=self.number,
            has_block=has_block,
        )

    def sanity(self, *parts: Part) -> list[Question]:
        """Questions about the specification: it allows one result only, and the assumptions of the lemmas can hold,
        also next to the text of ``parts`` of a design.
        """
        s = self.s
        widths = {"x": s.source.bits, "largest": s.source.bits, "b": s.scale.bits, "b2": s.scale.bits}
        widths |= {"p": s.code_bits, "p2": s.code_bits} | dict.fromkeys(self.flags.values(), 0)
        free = declared(widths | ({self.random: s.random_bits} if self.random else {}))
        meets = f"(assert {s.may_meet('x', 'largest', 'b', self.flags)})\n"
        return [
            self.question(
                "one-byte",
                "the specification allows one byte only",
                ("largest", "b", "b2"),
                free,
                f"(assert (and (scale_of largest b) (scale_of largest b2) {s.counts('largest')} (distinct b b2)))\n",
                has_block=False,
            ),
            self.question(
                "one-code",
                "the specification allows one code only",
                ("x", "largest", "b", "p", "p2"),
                free,
                meets,
                *(f"(assert {s.lane('x', 'b', code, self.flags, self.random)})\n" for code in ("p", "p2")),
                "(assert (distinct p p2))\n",
                has_block=False,
            ),
            self.question(
                "can-happen",
                "an ordinary element meets the assumptions of the lemma about elements",
                ("x", "largest", "b"),
                free,
                *(text for number, part in enumerate(parts) for text in (part.text, part.state(f"part{number}"))),
                meets,
                *(f"(assert (not {flag}))\n" for flag in self.flags.values()),
                f"(assert (and (not (special x)) (not (fp.isZero (magnitude x))) (bvugt b {bits(0, s.scale.bits)}) "
                f"(bvult b {bits(s.scale.max_code, s.scale.bits)}) {s.counts('largest')} (scale_of largest b)))\n",
                expected="sat",
                has_block=False,
            ),
        ]

    def lane(self, which: int, element: Part, *widen: Part) -> Question:
        """The lemma about a lane: an element, perhaps with the module that widens its number first."""
        s = self.s
        x, texts = element.wire(s.ports[Role.NUMBERS], "s"), [element.text, element.state("s")]
        for part in widen:
            texts += [part.text, part.state("w"), f"(assert (= {x} {part.wire('wide', 'w')}))\n"]
            x = part.wire(s.ports[Role.NUMBERS], "w")
        values = {
            "x": constant("x", s.source.bits, x),
            "b": constant("b", s.scale.bits, element.wire(s.ports[Role.SCALE], "s")),
            "p": constant("p", s.code_bits, vector(element.wire(s.ports[Role.CODES], "s"), s.code_bits)),
            "largest": declared({"largest": s.source.bits}),
            **{name: constant(name, 0, element.wire(flag, "s")) for flag, name in self.flags.items()},
        }
        if self.random:
            wire = vector(element.wire(s.ports[Role.RANDOM], "s"), s.random_bits)
            values[self.random] = constant(self.random, s.random_bits, wire)
        return self.question(
            f"element-{which}" if which else "element",
            f"every element of a block of {s.element.name} has its code, whatever its block's byte",
            tuple(values),
            *texts,
            self.chosen(element),
            *values.values(),
            f"(assert {s.may_meet('x', 'largest', 'b', self.flags)})\n",
            f"(assert (not {s.lane('x', 'b', 'p', self.flags, self.random)}))\n",
            has_block=True,
        )

    def scale(self, rest: Part, flag_wires: dict[str, str]) -> Question:
        """The lemma about the byte and the flags of a block."""
        s, lanes = self.s, self.lanes(rest)
        goals = [
            s.block_scale(lanes, "largest", "b"),
            *(f"(= {name} {s.flag(flag, lanes)})" for flag, name in self.flags.items()),
        ]
        return self.question(
            "scale",
            f"every block of {len(lanes)} numbers has its byte"
            + (f", and its flags {', '.join(s.flags)}" if s.flags else ""),
            (*lanes, "b", "largest", *self.flags.values()),
            rest.text,
            rest.state("s"),
            self.chosen(rest),
            *lanes.values(),
            *self.block_constants(rest),
            *(constant(name, 0, rest.wire(flag_wires[flag], "s")) for flag, name in self.flags.items()),
            f"(assert {s.is_largest(lanes, 'largest')})\n(assert (not (and true {' '.join(goals)})))\n",
            has_block=True,
        )

    def block(self, whole: Part, nan_codes_free: bool) -> Question:
        """The question about a whole block, without assumptions about its inside."""
        s, lanes = self.s, self.lanes(whole)
        is_nan = f"(= b {bits(s.nan_byte, s.scale.bits)})"
        goals, names = [s.block_scale(lanes, "largest", "b")], [*lanes, "b", "largest"]
        values = [constant(name, 0, s.flag(flag, lanes)) for flag, name in self.flags.items()]
        for lane, x in enumerate(lanes):
            random = f"{self.random}{lane}" if self.random else None
            if random:
                names.append(random)
                values.append(constant(random, s.random_bits, _slice(whole, s.ports[Role.RANDOM], s.random_bits, lane)))
            values.append(constant(f"p{lane}", s.code_bits, _slice(whole, s.ports[Role.CODES], s.code_bits, lane)))
            goal = s.lane(x, "b", f"p{lane}", self.flags, random)
            goals.append(f"(or {is_nan} {goal})" if nan_codes_free else goal)
        return self.question(
            "block",
            f"every block of {len(lanes)} numbers has its byte and its codes",
            tuple(names),
            whole.text,
            whole.state("s"),
            self.chosen(whole),
            *lanes.values(),
            *self.block_constants(whole),
            *values,
            f"(assert {s.is_largest(lanes, 'largest')})\n(assert (not (and {' '.join(goals)})))\n",
            has_block=True,
        )

    def chosen(self, part: Part) -> str:
        """The statement that the mode input of a part chooses this mode."""
        if not self.config.alternatives:
            return ""
        (mode,) = (port.name for port in self.config.ports if port.role is Role.MODE)
        width = self.config.mode_bits
        relation = "bvuge" if self.number == len(self.config.modes) - 1 else "="  # numbers beyond the last are the last
        return f"(assert ({relation} {vector(part.wire(mode, 's'), width)} {bits(self.number, width)}))\n"

    def lanes(self, part: Part) -> dict[str, str]:
        """The constants that hold the numbers of a block, by their names."""
        width, port = self.s.source.bits, self.s.ports[Role.NUMBERS]
        lanes = range(self.s.numerics.block_size)
        return {f"x{lane}": constant(f"x{lane}", width, _slice(part, port, width, lane)) for lane in lanes}

    def block_constants(self, part: Part) -> tuple[str, str]:
        """The byte of a block, and its largest number."""
        byte = constant("b", self.s.scale.bits, part.wire(self.s.ports[Role.SCALE], "s"))
        return byte, declared({"largest": self.s.source.bits})


def _slice(part: Part, port: str, width: int, lane: int) -> str:
    """The bits of a lane in a port of a part."""
    return f"((_ extract {width * (lane + 1) - 1} {width * lane}) {part.wire(port, 's')})"
