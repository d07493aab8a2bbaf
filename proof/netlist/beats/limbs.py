"""The parts of a Hadamard transform that adds limb by limb: its control, and the modules that compute its bits."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

from ....hdl.config.hadamard import ROUNDING_STAGES, SUM_STAGES, HadamardConfig
from ....hdl.hadamard.schedule import LEVELS, LIMB_SUM, RESULTS
from ....spec import BF16
from ..design import FREED, UNSAID, Cut, Design, Part
from ..pipeline import BITS, WITH_ENABLES
from ..structure import Instances, StructureError, in_lanes, net_of
from .instances import InstanceParts
from .parts import CLOCK, Delay
from .square import SPLIT

SUMS, FLAGS, ROUNDED = "limb_sums", "flags", "rounded"
RUNNING = tuple(f"running_{lane:02}" for lane in range(RESULTS))
"""The instances: of the sums of limbs, of the flags of a result, of its rounding, and of a sum whose limbs come."""


class LimbParts(InstanceParts):
    """The parts of a design with the ports of a Hadamard transform in limbs."""

    def __init__(self, design: Design, config: HadamardConfig) -> None:
        super().__init__(design)
        self.config = config

    def count(self, *stages: str) -> int:
        """Registers at stage boundaries."""
        return len({*stages} & {*self.config.microarchitecture.registered_after})

    @cached_property
    def kinds(self) -> dict[str, str]:
        return {name: self.kind(name, self.design.top) for name in (SUMS, FLAGS, ROUNDED, *RUNNING)}

    @cached_property
    def gates(self) -> dict[str, dict]:
        kept = [f"setattr -mod -set keep_hierarchy 1 {kind}" for kind in dict.fromkeys(self.kinds.values())]
        steps = [f"{command} {self.design.top}" for command in SPLIT]
        flat = f"flatten {self.design.top}"
        return self.netlist(*kept, flat, *UNSAID, *FREED, "opt_expr -keepdc", "opt_clean", BITS, *steps)

    @cached_property
    def control(self) -> dict:
        """The top module without the instances, whose inputs are outputs.

        Raises `StructureError` unless each running sum has its own sum of limbs, and moves with `ROUNDED`.
        """
        top = self.gates[self.design.top]
        cells = {name: top["cells"][name]["connections"] for name in self.kinds}
        sums = in_lanes(cells[SUMS]["sums"], LIMB_SUM)
        (enable,) = top["netnames"]["enable"]["bits"]
        for instance, limb_sum in zip(RUNNING, sums, strict=True):
            given = {"limb_sum": limb_sum, "limb": cells[SUMS]["sums_limb"], "is_first": cells[SUMS]["is_first"]}
            for pin, bits in {**given, "enable": [enable]}.items():
                if cells[instance][pin] != bits:
                    raise StructureError(f"{instance} of {self.design.top} has another {pin}")
        if any(pins.get("enable", [enable]) != [enable] for pins in cells.values()):
            raise StructureError(f"an instance of {self.design.top} does not move with enable")
        found = self.without(self.design.top, list(self.kinds))
        clocks = {"enable", CLOCK}
        inner = {f"{name}_{pin}" for name in RUNNING for pin in ("limb_sum", "limb", "is_first")}
        inner |= {f"{name}_{pin}" for name in self.kinds for pin in clocks} | {f"{SUMS}_sums", f"{SUMS}_is_first"}
        return {**found, "ports": {name: port for name, port in found["ports"].items() if name not in inner}}

    def check_delays(self) -> None:
        """Raise `StructureError` unless sums of limbs and results come from pure delays with an enable, and
        flags have no registers.
        """
        names = (SUMS, ROUNDED, FLAGS)
        kept = [f"setattr -mod -set keep_hierarchy 1 {self.kinds[name]}" for name in names]
        flat = [f"flatten {self.kinds[name]}" for name in names]
        whole = self.netlist(*kept, *flat, *UNSAID, *FREED, *WITH_ENABLES, BITS)
        for name, stages in zip(names, (SUM_STAGES, ROUNDING_STAGES, ()), strict=True):
            Delay(whole[self.kinds[name]], name, all_first=True).check(self.count(*stages))

    def part(self, instance: str) -> Part:
        """The function of an instance without registers."""
        return self._functions(instance).parts(Cut(self.design.top))[0].named("part")

    def _functions(self, instance: str) -> Design:
        """An instance without registers, as a design."""
        return self.design.of_netlist({self.design.top: self.functions[self.kinds[instance]], **self.inside(instance)})

    # the sums of limbs

    @cached_property
    def levels(self) -> tuple[list[str], ...]:
        """The wires of the limbs, and of the sums of each level.

        Raises `StructureError` unless each number has a module of its own, and the last sums are the results.
        """
        parts, module = Instances(self.functions, self.kinds[SUMS]), self.functions[self.kinds[SUMS]]
        sums = [[f"level{level + 1}_sum_{lane:02}" for lane in range(RESULTS)] for level in range(LEVELS)]
        nets = {name: net["bits"] for name, net in module["netnames"].items()}
        if missing := [name for row in sums for name in row if name not in nets]:
            raise StructureError(f"the {SUMS} have no wire {missing[0]}")
        limbs = []
        for lane, x in enumerate(in_lanes(parts.ports["x"], BF16.bits)):
            sign = [str(self.config.numerics.signs >> lane & 1)]
            wanted = {"x": x, "is_negated": sign, "limb": parts.ports["limb"]}
            found = [name for name in parts.making("y") if parts.inputs(name) == wanted]
            if not found:
                raise StructureError(f"the limb {lane} of {self.design.top} does not come from one module")
            limbs.append(found[0])
        if set(limbs) != set(parts.cells):
            raise StructureError(f"the {SUMS} have other modules")
        top = [nets[name] for name in sums[-1]]
        given = [bits + (bits[-1:] if lane else ["0"]) for lane, bits in enumerate(top)]  # number 0 has no sign
        if in_lanes(parts.ports["sums"], LIMB_SUM) != given:
            raise StructureError(f"the results of the {SUMS} are exchanged")
        if parts.ports["sums_limb"] != parts.ports["limb"]:
            raise StructureError(f"the {SUMS} have another limb")
        return [net_of(module, parts.cells[name]["y"]) for name in limbs], *sums

    def limbs(self) -> list[Part]:
        """The modules that make a limb of a number; once those that are the same."""
        parts, functions = Instances(self.functions, self.kinds[SUMS]), self._functions(SUMS)
        cuts = map(Cut, dict.fromkeys(parts.kinds.values()))
        return list(dict.fromkeys(part.named("part") for part in functions.parts(*cuts)))

    def sums(self) -> list[Part]:
        """Each level, as a function of the one before, and what is said about the numbers."""
        cells, top = tuple(Instances(self.functions, self.kinds[SUMS]).cells), self.design.top
        kept = " ".join(f"{top}/w:{wire}" for row in self.levels for wire in row)
        pairs = pairwise(self.levels)
        cuts = [Cut(top, cells, tuple(after), kept, tuple(before)) for before, after in pairs]
        return self._functions(SUMS).parts(*cuts, Cut(top, cells))

    # the running sums

    @property
    def state(self) -> tuple[str, ...]:
        """Registers of a running sum."""
        digits = ("digits_digits_q", "limb_digits_q", "is_first_digits_q") if self.count("digits") else ()
        return "carried", *digits, "previous", "has_lower", "bits", "number", "rest"

    def running(self) -> dict[Part, Design]:
        """The running sums with `state` as inputs ``now_NAME`` and outputs ``next_NAME``, by their functions.

        Raises `StructureError` if one has other registers.
        """
        found = dict[Part, Design]()
        for instance in {self.kinds[name]: name for name in RUNNING}.values():
            module = self.opened(instance, self.state)
            if any(cell["type"].startswith(("$_DFF", "$dff", "$sdff", "$mem")) for cell in module["cells"].values()):
                raise StructureError(f"{instance} has other registers")
            design = self.design.of_netlist({self.design.top: module})
            (part,) = design.parts(Cut(design.top, (), ("total",)))
            found.setdefault(part.named("part"), design)
        return found
