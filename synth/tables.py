"""Synthesis results as rows of a table."""

from __future__ import annotations

from ..hdl import ConverterConfig, HardwareConfig
from ..spec import FP32
from .baselines import NOTE as PUBLISHED_NOTE
from .baselines import PUBLISHED, Published
from .pnr import PlaceAndRoute
from .synthesis import STAGES_OF, Synthesis
from .targets import TARGETS

WHOLE_NOTE = (
    "Whole converters are flattened; a tree, a scale unit and an element quantizer are each synthesised alone and "
    "do not add up to the whole."
)
NOTE = f"{WHOLE_NOTE} {PUBLISHED_NOTE}"
AREA_NOTE = f"{WHOLE_NOTE} Area is in the units of the library, NAND2 the same in NAND gates of two inputs."
ABC_NOTE = "ps (abc) is an estimate of abc, without buffers and wires."

PNR_NOTE = (
    "Between registers: LUTs, carries and FFs are the converter's own, after mapping; logic cells are those in use "
    "after place "
    "and route, with the wrapper's. Fmax is the median over the seeds."
)


def table(results: list[Synthesis]) -> list[dict[str, object]]:
    """One row for each converter: column heading -> value, or None without a figure."""
    known = [name for stages in STAGES_OF.values() for name in stages]
    stages = [name for name in known if any(name in result.stages for result in results)]
    rows: list[dict[str, object]] = []
    for result in results:
        config, whole, published = result.config, result.whole, _published(result.config)
        target = TARGETS[result.target]
        cells, area = (target.cells, target.area) if result.liberty is None else ("cells", "area")
        rows.append(
            {
                "format": f"{_formats(config)}{result.around}",
                "profile": config.profile or "-",
                "target": result.target,
                cells: whole.luts,
                **({"in RAM": whole.ram_luts} if any(one.whole.ram_luts for one in results) else {}),
                "carries": whole.carries,
                "muxes": whole.muxes,
                "FFs": whole.ffs,
                **({"DSPs": whole.dsps} if any(one.whole.dsps for one in results) else {}),
                area: whole.logic_cells,
                **({} if result.liberty is None else {"NAND2": result.nand2}),
                "levels": whole.levels,
                **_times(result),
                **{f"{name} {cells}": result.stages[name].luts if name in result.stages else None for name in stages},
                **({} if result.liberty else {"paper LUTs": published and published.luts}),
                **({} if result.liberty else {"paper ns": published and published.ns}),
            }
        )
    return rows


def _times(result: Synthesis) -> dict[str, object]:
    """The longest path, and what OpenSTA adds."""
    timing = result.timing
    if timing is None:
        return {("ps" if result.liberty is None else "ps (abc)"): result.whole.delay_ps}
    return {"buffered area": round(timing.area), "ns": timing.delay_ns, "pJ": timing.energy_pj}


def timing_note(results: list[Synthesis]) -> str:
    """The conditions of the figures of OpenSTA."""
    timing = next(result.timing for result in results if result.timing)
    at = f" at {timing.voltage} V" if timing.voltage else ""
    return (
        f"ns and pJ are of OpenSTA {timing.opensta}{at}, with buffers and before placement: without wires and "
        f"glitches. pJ is the energy of a block, the mean of {timing.blocks} blocks one after another. Compare designs "
        "by ratios."
    )


def pnr_table(results: list[PlaceAndRoute]) -> list[dict[str, object]]:
    """One row for each converter: column heading -> value."""
    return [
        {
            "format": _formats(result.config),
            "profile": result.config.profile or "-",
            "target": result.target,
            "LUTs": result.design.luts,
            "carries": result.design.carries,
            "FFs": result.design.ffs,
            "logic cells": result.logic_cells,
            "Fmax MHz": result.fmax_mhz,
            "lowest": result.fmax_range_mhz[0],
            "highest": result.fmax_range_mhz[1],
            "seeds": len(result.runs),
        }
        for result in results
    ]


def _formats(config: HardwareConfig) -> str:
    return " or ".join(dict.fromkeys(mode.subject for mode in config.modes))


def _published(config: HardwareConfig) -> Published | None:
    """The paper's converter of this format, which takes 32 FP32 numbers and has no modes."""
    if not isinstance(config, ConverterConfig):
        return None
    numerics = config.numerics
    if config.alternatives or numerics.source is not FP32 or numerics.block_size != 32 or config.beats > 1:
        return None
    return PUBLISHED.get(numerics.block.element.name)
