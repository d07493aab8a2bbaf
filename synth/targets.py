"""Synthesis targets: a Yosys script each, and patterns that sort the cells of its netlist into kinds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..hdl import BEST, GENERIC
from .devices import DEVICES, Device


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target by name. ``script`` has a ``{top}``; the patterns match whole cell type names."""

    name: str
    description: str
    script: str
    luts: str
    cells: str = "LUTs"
    """Heading of ``luts`` in tables."""
    area: str = "LCs"
    """Heading of ``Cost.logic_cells`` in tables."""
    carries: str = "(?!)"
    muxes: str = "(?!)"
    ffs: str = "(?!)"
    inverters: str = r"INV|\$_NOT_"
    technology: str | None = None
    """Argument of Yosys' ``stat -tech``, which estimates logic cells or transistors."""
    library: str | None = None
    """Text of the Liberty file, which the script reads as `LIBRARY`."""
    luts_per_carry: int | None = None
    """Logic cells of a carry cell; None if Yosys estimates logic cells, or if there is no estimate."""
    timed: bool = False
    """Whether abc9 knows the delays of the cells in picoseconds and minimises the longest path."""
    optimized_as: str = GENERIC
    """Target of `hdl.BEST` whose micro-architectures this target uses."""
    device: str | None = None
    """Key of `DEVICES` for place and route; None if the target cannot be placed."""

    @property
    def identity(self) -> str:
        """Part of the cache key, with the Verilog and the version of Yosys: the script and the patterns of cells.
        Names and descriptions are left out.
        """
        return repr(
            (
                self.script,
                OPENED,
                *(self.luts, self.carries, self.muxes, self.ffs, self.inverters),
                *(self.technology, self.luts_per_carry, self.timed),
                *([] if self.library is None else [self.library]),
            )
        )

    @property
    def estimate(self) -> str | None:
        """The option of Yosys' ``stat`` that makes it estimate an area."""
        if self.library is not None:
            return f"-liberty {LIBRARY}"
        return self.technology and f"-tech {self.technology}"

    def kind(self, cell_type: str) -> str:
        """Kind of a cell: ``luts``, ``carries``, ``muxes``, ``ffs``, ``inverters`` or ``others``."""
        for kind in ("luts", "carries", "muxes", "ffs", "inverters"):
            if re.fullmatch(getattr(self, kind), cell_type):
                return kind
        return "others"


LIBRARY = "cells.lib"

_TARGETS = (
    Target(
        name="xcu",
        description="AMD UltraScale, LUT6 and CARRY4 (synth_xilinx)",
        script="synth_xilinx -family xcu -flatten -noiopad -noclkbuf -top {top}",
        luts=r"LUT[1-6]",
        carries=r"CARRY4|CARRY8",
        muxes=r"MUXF[789]",
        ffs=r"FD[A-Z]+",
        technology="xilinx",
        timed=True,
        optimized_as="xcu",
    ),
    Target(
        name="ecp5",
        description="Lattice ECP5, LUT4 and CCU2C (synth_ecp5)",
        script="synth_ecp5 -top {top}",
        luts="LUT4",
        carries="CCU2C",
        muxes="PFUMX|L6MUX21",
        ffs="TRELLIS_FF",
        luts_per_carry=2,
        timed=True,
        optimized_as="ecp5",
        device="ecp5",
    ),
    Target(
        name="ice40",
        description="Lattice iCE40, LUT4 and SB_CARRY (synth_ice40)",
        script="synth_ice40 -top {top}",
        luts="SB_LUT4",
        carries="SB_CARRY",
        ffs="SB_DFF[A-Z]*",
        timed=True,
        optimized_as="ice40",
        device="ice40",
    ),
    Target(
        name="asic",
        description="static CMOS gates (synth, abc -g cmos), their area in NAND gates of two inputs",
        script="synth -flatten -top {top}; abc -g cmos; opt_clean",
        luts=r"\$_(NAND|NOR|XOR|XNOR|MUX|NMUX|AOI3|OAI3|AOI4|OAI4|NOT)_",
        ffs=r"\$_S?DFF.*",
        technology="cmos",
        cells="gates",
        area="NAND2",
        optimized_as="asic",
    ),
    Target(
        name="lut6",
        description="generic LUT6 without carry chains (synth -lut 6)",
        script="synth -lut 6 -flatten -top {top}",
        luts=r"\$lut",
        ffs=r"\$_S?DFF.*",
    ),
    Target(
        name="lut4",
        description="generic LUT4 without carry chains (synth -lut 4)",
        script="synth -lut 4 -flatten -top {top}",
        luts=r"\$lut",
        ffs=r"\$_S?DFF.*",
    ),
)


def _relaxed(target: Target) -> Target:
    """The target with a relaxed clock, for which abc9 maps to few cells. abc9 reports that clock instead of a delay."""
    name = f"{target.name}-relaxed"
    return replace(
        target,
        name=name,
        description=f"{target.description}, mapped for area",
        script=f"scratchpad -set abc9.D 100000; {target.script}",
        timed=False,
        optimized_as=name if name in BEST else target.optimized_as,
    )


def _without_dsp(target: Target) -> Target:
    """The target with multiplications in LUTs."""
    return replace(
        target,
        name=f"{target.name}-nodsp",
        description=f"{target.description}, without DSP blocks",
        script=re.sub(r"synth_\w+", r"\g<0> -nodsp", target.script),
    )


OPENED = "setattr -mod -unset keep_hierarchy; flatten; opt_clean"
"""Commands after mapping, which dissolve the modules that synthesis had to keep whole."""

RAM_LUTS = {
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "TRELLIS_DPR16X4": 6,  # two slices of memory, and one that only writes
}
"""LUTs of a slice that a cell of distributed RAM uses."""

DSP = r"DSP48E[12]|MULT18X18D|SB_MAC16"
"""Cells that multiply."""

TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        *_TARGETS,
        *map(_relaxed, (t for t in _TARGETS if t.timed)),
        *map(_without_dsp, (t for t in _TARGETS if t.name in ("xcu", "ecp5"))),
    )
}


def device_of(target: str) -> Device:
    """The device of a target for place and route. Raises ValueError if the target has no device."""
    device = TARGETS[target].device
    if device is None:
        raise ValueError(f"place and route is for {', '.join(routable())}, not {target}")
    return DEVICES[device]


def routable() -> list[str]:
    """The targets that can be placed and routed."""
    return [name for name, target in TARGETS.items() if target.device]
