"""Questions about the order of beats of hardware with lanes.

The design without the modules of its numbers is a transition system. `order.sv` lists what must never
happen (`wrong`) and the relation of its registers (`related`). Two questions are the cases of an induction. The others
ask whether the relation excludes everything wrong, and whether o_valid depends on an input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

from ....spec import Decode, Encode, Nvfp4Decode, Nvfp4Encode
from ...netlist.beats.parts import CODES, KEYS, NUMBERS, Beats
from ...netlist.design import Part
from ...netlist.structure import StructureError
from ...questions.question import Question, constant, question
from .axis import core
from .induction import Induction, transitions

TOP = "mxcast_ordered"
"""The module with the design and the statements about it."""

WRONG = (
    "a beat leaves and none is inside: one was made twice",
    "a beat leaves with the numbers of another one",
    "a beat leaves with another largest key than its block has, or before its block is whole",
    "a beat leaves with another mode, or with other marks of its packet, than its block has",
    "o_first is not set with the first beat of a block only",
    "o_last is not set with the last beat of a block only",
    "no beat is taken, although the receiver makes nobody wait",
    "a result changes or goes while it waits",
    "a whole block stays inside too long",
    "the last beat of a packet is not marked, or another one is",
)
"""Faults by the bits of ``wrong``."""

OF_DECODERS = {
    "the numbers": "the codes",
    "another largest key than its block has, or before its block is whole": "another scale than its block has",
    "the largest key and the mode of its own block": "the scale of its own block",
    "with the largest key": "with the scale",
    "under the key": "under the scale",
    "stored as": "with the codes",
}

NOUNS: dict[str, dict[str, str]] = {
    Encode.name: {},
    Nvfp4Encode.name: {
        "another mode": "other constants of its tensor",
        "the mode of its own block": "the constants of its own block",
    },
    Decode.name: OF_DECODERS,
    Nvfp4Decode.name: OF_DECODERS,
}
"""Words for an operation in place of words for encoders, by its name."""

RELATIONS = 10
"""Bits of ``related`` in `order.sv`."""

SEEN = ("rst", "i_valid", "i_ready", "o_valid", "o_ready")
"""The wires of the handshake."""

SHOWN = (*SEEN, "key", "word", "o_key", "o_word", "o_first", "o_last", "wrong")
"""The wires of a trace."""


PASSING = (
    "assign has_block = 0;",
    "assign write_beat = read_beat;",
    "assign words = 0;",
    "assign read_key = key;",
    "assign read_word = word;",
)
"""Wires of `order.sv` in place of a store, if beats pass."""

QUEUE = ("assign {read_key, running_key} = 0;", "assign {write_beat[1], read_beat[1]} = 0;")
"""The same for a queue of whole blocks: the key is in the word, and an address has one bit."""

WIRE = re.compile(r"^; yosys-smt2-(?:input|output) (\w+) (\d+)", re.MULTILINE)
"""A port in the text that Yosys writes."""


@dataclass(frozen=True)
class Order:
    """The design without the modules of its numbers, next to the statements about it."""

    beats: Beats

    @property
    def bound(self) -> int:
        """Edges after which a whole block has left, if the receiver does not wait."""
        gathered = self.beats.config.beats if self.has_store else 0
        return (1 + self.beats.has_halves) * (self.beats.front + gathered) + self.back

    @property
    def has_store(self) -> bool:
        """Does a block wait in a store until it is whole?"""
        return bool(self.beats.ends.front)

    def in_words(self, sentence: str) -> str:
        """A sentence about an encoder in the words of the operation."""
        for words, others in NOUNS[self.beats.config.numerics.name].items():
            sentence = sentence.replace(words, others)
        return sentence

    @property
    def steady(self) -> tuple[str, ...]:
        """The inputs that are the same for all beats of a block: together they are its mode in `order.sv`."""
        return tuple(port.name for port in self.beats.config.of_block)

    @property
    def back(self) -> int:
        """Registers behind the store. `axis_leave.sv` describes those at the output of AXI4-Stream without packed
        blocks."""
        return self.beats.back - (self.beats.config.has_axis and self.beats.config.is_even)

    @cached_property
    def system(self) -> Induction:
        """The design and the statements about it."""
        beats, design = self.beats, self.beats.design
        control, count = beats.control(), beats.config.beats
        if beats.config.has_axis:
            control = core(beats, control)
        nets = {name: net["bits"] for name, net in control["netnames"].items()}
        valid = [f"valid_{place}_q" for place in beats.places[: beats.front + self.back]]
        halves = 1 + beats.has_halves
        words = [f"block_store.words[{place}]" for place in range(count * halves)] if self.has_store else []
        running = {} if beats.is_whole else {"running_key": ["key_accumulator.largest_q"]}
        waiting = {"can_write": ["can_write"], **running} if beats.has_halves else {}
        for name in (*beats.control_registers, *waiting.get("running_key", ()), *words):
            if name not in nets:
                raise StructureError(f"{design.top} has no register {name}")
        for name, members in {
            **({name: [name] for name in beats.ends.control} if count > 1 or beats.is_whole else {}),
            **({"has_block": beats.control_registers[:1]} if self.has_store else {}),
            **waiting,
            "front": valid[: beats.front],
            "back": valid[beats.front :],
            "words": words,
        }.items():
            bits = [bit for member in members for bit in nets[member]]
            if bits:
                control["ports"][f"seen_{name}"] = {"direction": "output", "bits": bits}
        return Induction(
            name="order",
            claim=self.in_words(
                "the n-th beat that leaves is the n-th that entered, under the largest key and the mode of its own "
                "block, marked by o_first and o_last, unchanged while it waits, and within "
                f"{self.bound} edges without stalls"
            ),
            top=TOP,
            relation=transitions(design, control, "order.sv", self._wrapper(control["ports"]), TOP),
            related=RELATIONS,
            wrong=WRONG,
        )

    @cached_property
    def shown(self) -> dict[str, int]:
        """The wires of a trace and their widths."""
        widths = {name: int(width) for name, width in WIRE.findall(self.system.relation)}
        return {name: widths[name] for name in SHOWN}

    def widths(self, ports: dict[str, dict]) -> dict[str, int]:
        def width(*names: str) -> int:
            return sum(len(ports[name]["bits"]) for name in names if name in ports)

        if not self.has_store:
            ports = self.beats.design.modules[self.beats.modules[NUMBERS]]["ports"]
            return {"KEY": width("scale", "g"), "WORD": width("p", "random"), "STEADY": 1, "MODE": 1}
        if self.beats.is_whole:
            return {"KEY": 1, "WORD": width(*map(_entering, self.in_word)), "STEADY": 1, "MODE": 1}
        steady = max(1, width(*(f"{KEYS}_{name}_of_beat" for name in self.steady)))
        return {
            "KEY": width(f"{KEYS}_key"),
            "WORD": width(*map(_entering, self.in_word)),
            "STEADY": steady,
            "MODE": steady + width(f"{KEYS}_marks_of_beat"),
        }

    @property
    def in_word(self) -> tuple[str, ...]:
        """Inputs of the module behind the store that the store holds, the first in the low bits."""
        return ("numbers", "random", *(("key", *self.steady, "marks") if self.beats.is_whole else ()))

    def _places(self, ports: dict[str, dict]) -> dict[str, tuple[int, int]]:
        """The highest and the lowest bit of each of `in_word` in the word, if it is there."""
        found, low = dict[str, tuple[int, int]](), 0
        for name in self.in_word:
            if (entering := _entering(name)) in ports:
                found[name] = low + len(ports[entering]["bits"]) - 1, low
                low = found[name][0] + 1
        return found

    def _wrapper(self, ports: dict[str, dict]) -> str:
        """The module that connects the design and the statements."""
        beats, count = self.beats, self.beats.config.beats
        place, halves = max(1, (count - 1).bit_length()), 1 + beats.has_halves
        widths, whole = self.widths(ports), beats.is_whole
        has_modes = self.has_store and bool(self.steady) and not whole
        parameters = widths | {
            "STORE": int(self.has_store),
            "FRONT": beats.front,
            "BACK": self.back,
            "BEATS": count,
            "PLACE": place,
            "SLOTS": halves,
            "HAS_MODES": int(has_modes),
            "STOPS": int(beats.config.has_axis),
        }
        key, word, mode, steady = widths["KEY"], widths["WORD"], widths["MODE"], widths["STEADY"]
        given = has_modes or mode > steady
        inputs = {"mark": 1, "chosen": place, **({} if whole else {"key": key}), "word": word}
        inputs |= {"given": mode - (0 if has_modes else steady)} if given else {}
        wires = {
            **{f"written_{name}": widths[name.upper()] for name in ("key", "word", "mode")},
            **{f"read_{name}": widths[name.upper()] for name in ("key", "word", "mode")},
            **dict.fromkeys(("has_block", "front_enable", "back_enable", "read_first", "read_last"), 1),
            "can_write": 1,
            "running_key": key,
            "write_beat": place + halves - 1,
            "read_beat": place + halves - 1,
            "front_valid": beats.front + 1,
            "back_valid": self.back,
            "words": word * count * halves,
            "half_marks": 2 * mode,
            "odd": 1,
            "ends": 3,
        }
        shown = {"key": len(ports[f"{KEYS}_key"]["bits"])} if whole else {}  # in a trace; it is in the word
        outputs = {**shown, "o_key": shown.get("key", key), "o_word": word, "o_mode": mode, "o_first": 1, "o_last": 1}
        outputs |= {"assumed": 1, "wrong": len(WRONG), "related": RELATIONS}
        connected = {
            **{name: name for name in ("clk", *SEEN)},
            f"{KEYS}_key": "written_key",
            f"{KEYS}_marks_of_beat": f"written_mode[{mode - 1}:{steady}]",
            f"{KEYS}_enable": "front_enable",
            f"{CODES}_enable": "back_enable",
            f"{CODES}_key": "read_key",
            f"{CODES}_marks": "ends",
            f"{CODES}_is_first": "read_first",
            f"{CODES}_is_last": "read_last",
            f"{NUMBERS}_enable": "back_enable",
            f"{NUMBERS}_is_first": "read_first",
            f"{NUMBERS}_is_last": "read_last",
            "seen_beat": "read_beat",
            "seen_has_block": "has_block",
            "seen_can_write": "can_write",
            "seen_running_key": "running_key",
            "seen_write_beat": "write_beat",
            "seen_read_beat": "read_beat",
            "seen_front": f"front_valid[{beats.front}:1]",
            "seen_back": "back_valid",
            "seen_words": "words",
            **{f"seen_marks_{half}": f"half_marks[{mode * (half + 1) - 1}:{mode * half + steady}]" for half in (0, 1)},
            "aclk": "clk",
            "aresetn": "~rst",
            "cut_valid_q": "i_valid",
            "cut_beat_offered": "i_valid",
            "cut_back_enable": "o_ready",
            "seen_ready": "i_ready",
            "seen_coming": "o_valid",
        }
        low = 0
        for port in beats.config.of_block:
            bits = f"[{low + port.width - 1}:{low}]"
            connected |= {
                f"{KEYS}_{port.name}_of_beat": f"written_mode{bits}",
                f"{CODES}_{port.name}": f"read_mode{bits}",
            }
            low += port.width
        its_marks, of_key = f"read_mode[{mode - 1}:{steady}]" if mode > steady else "", ""
        for name, (high, low) in self._places(ports).items():
            connected[_entering(name)] = f"written_word[{high}:{low}]"
            if name == "marks":
                its_marks = f"read_word[{high}:{low}]"
            else:
                connected[f"{CODES}_{name}"] = f"read_word[{high}:{low}]"
            if name == "key":
                of_key = f"[{high}:{low}]"
        if missing := [name for name in ports if name not in connected]:
            raise StructureError(f"{beats.design.top} has an unexpected port {missing[0]}")
        pins = ", ".join(f".{name}({wire})" for name, wire in connected.items() if name in ports)
        names = {name: name for name in ("clk", *SEEN, *inputs, "mode", *wires, *outputs)}
        del names["ends"]
        names.pop("given", None)
        names |= {"key": "1'b0", "o_key": ""} if whole else {}
        lines = [
            f"module {TOP}(input clk, rst, i_valid, o_ready,",
            *(f"  input [{width - 1}:0] {name}," for name, width in inputs.items()),
            "  output i_ready, o_valid,",
            ",\n".join(f"  output [{width - 1}:0] {name}" for name, width in outputs.items()) + ");",
            *(f"  wire [{width - 1}:0] {name};" for name, width in wires.items()),
            "  assign front_valid[0] = i_valid;",
            f"  wire [{mode - 1}:0] mode = {_mode(has_modes, given, steady)};",
            *([] if has_modes else [f"  assign read_mode[{steady - 1}:0] = 0;"]),
            *([f"  assign {its_marks} = ends[2:1];"] if its_marks else []),
            "  assign odd = " + ("ends[0] != (read_last & ends[1]);" if its_marks else "0;"),
            *([f"  {line}" for line in QUEUE] if whole else []),
            *([f"  assign key = word{of_key}, o_key = o_word{of_key};"] if whole else []),
            *(["  assign front_enable = i_ready;"] if f"{KEYS}_enable" not in ports else []),
            *([] if self.has_store else [f"  {line}" for line in PASSING]),
            *(["  assign read_beat = 0;"] if count == 1 and not self.has_store else []),
            f"  {beats.design.top} design({pins});",
            f"  mxcast_order #({', '.join(f'.{name}({value})' for name, value in parameters.items())}) order(",
            "    " + ", ".join(f".{name}({wire})" for name, wire in names.items()) + ");",
            "endmodule",
        ]
        return "\n".join(lines) + "\n"

    def questions(self) -> Iterator[Question]:
        system = self.system
        yield from system.questions()
        yield system.depends_on_registers("order-valid", "o_valid", "it does not wait for o_ready")
        if self.beats.has_halves:
            yield system.depends_on_registers("order-ready", "i_ready", "no path leads from o_ready to it")
        yield system.can_happen("a whole block can enter and leave after a reset", self._edges)

    @property
    def _edges(self) -> int:
        """Edges after a reset in which a whole block enters and leaves, even if it is late."""
        return self.bound + 2 * self.beats.config.beats + 1

    def fault(self) -> Question:
        """The question whether something wrong happens soon after a reset; it returns what is seen at each edge. In an
        encoder keys and stored numbers belong to some numbers."""
        after_reset, states = self.system.after_reset(self._edges)
        texts, names = [after_reset], list[str]()
        part = self.beats.keys_part() if self.has_store else None
        if part is not None:
            texts.append(part.text)
        for state in states:
            given = f"given_{state}"
            if part is not None:
                texts += self._computed(part, state, given)
            for name, width in self.widths_of_trace.items():
                names.append(f"{state}_{name}")
                wire = part.wire("x", given) if part is not None and name == "x" else self.system.wire(name, state)
                texts.append(constant(names[-1], 0 if width == 1 else width, wire))
        wrong = [f"(not {self.system.is_right(state)})" for state in states[1:]]
        description = f"nothing wrong happens in {len(states) - 1} edges after a reset"
        return question("order-fault", description, tuple(names), *texts, f"(assert (or {' '.join(wrong)}))\n")

    @property
    def widths_of_trace(self) -> dict[str, int]:
        """The wires of a trace and their widths: `shown`, and the numbers of an encoder."""
        config = self.beats.config
        return self.shown | ({"x": config.lanes * config.numerics.source.bits} if self.has_store else {})

    def _computed(self, part: Part, state: str, given: str) -> list[str]:
        """Statements that the key, the stored numbers and the mode in a state are of numbers in the state ``given`` of
        the part in front of the store."""
        module = self.beats.design.modules[self.beats.modules[KEYS]]["ports"]
        computed = {"numbers": "numbers", "random": "random_of_beat", "key": "key"}
        known = [computed[name] for name in self.in_word if computed.get(name) in module]
        bits = sum(len(module[name]["bits"]) for name in known)
        steady = [part.wire(name, given) for name in self.steady]
        pairs = {self.system.wire("word", state): _joined([part.wire(name, given) for name in known])}
        if self.beats.is_whole:
            pairs = {f"((_ extract {bits - 1} 0) {wire})": value for wire, value in pairs.items()}
        else:
            pairs[self.system.wire("key", state)] = part.wire("key", given)
        if steady and not self.beats.is_whole and not self.beats.config.has_axis:  # marks of a packet can be anything
            pairs[self.system.wire("mode", state)] = _joined(steady)
        return [part.state(given), *(f"(assert (= {wire} {value}))\n" for wire, value in pairs.items())]


def _entering(name: str) -> str:
    """The port of the module in front of the store, by the input behind it that the store holds."""
    return f"{KEYS}_{name}" if name in ("numbers", "key") else f"{KEYS}_{name}_of_beat"


def _joined(parts: list[str]) -> str:
    """Bit-vectors side by side, the first in the low bits."""
    return reduce(lambda low, high: f"(concat {high} {low})", parts)


def _mode(has_modes: bool, given: bool, steady: int) -> str:
    """The mode of a beat with its marks; without modes, the bits of the mode are 0."""
    if has_modes:
        return "given"
    return f"{{given, {steady}'b0}}" if given else "0"
