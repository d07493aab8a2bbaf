"""Synthesis of an emitted converter: its cost as a whole, and stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, Unpack, cast

from ..hdl import AnyBuildFields, AnyFields, AnyFormat, HardwareConfig, configuration, verilog
from ..hdl.emission.around import NOTHING, Around
from ..hdl.emission.modules import body
from ..host.cache import kept_result, refreshed
from ..host.errors import ToolError
from ..host.processes import workers
from ..spec.catalogue import constructed, known_name
from .asic.liberty import asic_cells, nand2_area
from .asic.timing import METHOD, Bits, Blocks, Timing, opensta_version, timed
from .netlist import Cost, cost, delay_ps
from .targets import LIBRARY, OPENED, TARGETS, Target
from .yosys import run, yosys_version

STAGES = {
    "widen": "widen",
    "tree": "amax_tree",
    "store": "block_store",
    "scale": "scale_unit",
    "element": "element_quantizer",
}
"""Stages of an encoder by name, and the module of each in the emitted Verilog. Only FP16 numbers are widened, and only
lanes have a store.
"""

DECODER_STAGES = {"factor": "factor_unit", "element decoder": "element_decoder"}
"""Stages of a decoder."""

CAST_STAGES = {"number": "number_cast"}
"""Stages of a cast."""

NVFP4_STAGES = {
    "maximum": "two_level_maximum",
    "scale": "scale_unit",
    "factor": "factor_unit",
    "lane": "lane",
    "grid": "grid_unit",
    "error": "element_error",
    "sum": "error_sum",
}
"""Stages of an NVFP4 encoder; the last three only under 4 over 6."""

NVFP4_DECODER_STAGES = {
    "scaled factor": "scaled_factor",
    "reduced factor": "reduced_factor",
    "products": "product_unit",
    "lane": "element_choice",
}
"""Stages of an NVFP4 decoder; ``reduced factor`` only if the tensor scale is a largest magnitude."""

HADAMARD_STAGES = {
    "integer": "integer_number",
    "result": "rounded_sum",
    "sums": "limb_sums",
    "running sum": "running_sum",
    "flags": "result_flags",
    "rounding": "rounded_window",
}
"""Stages of a Hadamard transform: the first two at once, the others in limbs."""

TILE_STAGES = {
    "keys": "tile_keys",
    "store": "block_store",
    "row": "beat_codes",
    "column": "column_codes",
    "element": "element_quantizer",
    "results": "result_store",
    "column store": "column_store",
    "exchange": "exchange",
    "code store": "code_store",
}
"""Stages of a tile encoder: one column of all; the last four only if the column copy is transposed."""

NVFP4_TILE_STAGES = {
    "store": "block_store",
    "numbers": "number_exchange",
    "column store": "banked_store",
    "line": "line_encoder",
    "exchange": "exchange",
}
"""Stages of an NVFP4 tile encoder: one encoder of two, for rows and for columns."""

STAGES_OF = {
    "encode": STAGES,
    "decode": DECODER_STAGES,
    "cast": CAST_STAGES,
    "two_level_encode": NVFP4_STAGES,
    "two_level_decode": NVFP4_DECODER_STAGES,
    "hadamard": HADAMARD_STAGES,
    "tile": TILE_STAGES,
    "nvfp4_tile": NVFP4_TILE_STAGES,
}
"""Stages by the name of the operation."""

TOP = "converter"

BlocksOf: TypeAlias = "Callable[[HardwareConfig], tuple[Bits, Bits]]"
"""Blocks for the inputs of a converter, and the right outputs."""


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """The outcome of `synth`."""

    config: HardwareConfig
    target: str
    liberty: str | None = None
    """Name of the Liberty file, or None."""
    whole: Cost
    """The whole converter, flattened."""
    stages: dict[str, Cost]
    """Each stage of `STAGES_OF` that the converter has, on its own. They do not add up to the whole, which is optimised
    across their borders. Empty unless asked for.
    """
    yosys: str
    around: Around = NOTHING
    """The modules around the converter that are included."""
    nand2: float | None = None
    """Area in NAND gates of two inputs of the Liberty file, or None."""
    timing: Timing | None = None
    """By OpenSTA, if asked for."""

    def to_dict(self) -> dict:
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "target": self.target,
            **self.around.to_dict(),
            **({} if self.liberty is None else {"liberty": self.liberty, "nand2": self.nand2}),
            "yosys": self.yosys,
            "whole": self.whole.to_dict(),
            **({} if self.timing is None else {"timing": self.timing.to_dict()}),
            "stages": {name: part.to_dict() for name, part in self.stages.items()},
        }


def synth(
    config: AnyFormat | HardwareConfig,
    target: str = "xcu",
    *,
    profile: str | None = None,
    op: str = "encode",
    liberty: Path | str | None = None,
    stages: bool = True,
    around: Around = NOTHING,
    blocks_of: BlocksOf | None = None,
    force: bool = False,
    **fields: Unpack[AnyBuildFields],
) -> Synthesis:
    """Synthesise the emitted Verilog, as a whole and, if asked, each stage alone.

    Results are cached by the Verilog without its header, the script, the patterns of cells, and the version of Yosys.

    Parameters
    ----------
    config, profile, fields : the converter, as for `hdl.configuration`; built for the target, unless it is a
        `HardwareConfig`
    target : one of `TARGETS`
    op : the operation of the converter
    liberty : a Liberty file with the cells of the target ``asic``
    stages : also synthesise each stage alone
    around : the modules around the converter that are included
    blocks_of : with a Liberty file, ask OpenSTA for the longest path, and for the energy of these blocks of a converter
        without registers
    force : ignore cached results

    Returns
    -------
    Synthesis
        cells by kind, levels, and the delay in picoseconds if the target has one

    Raises
    ------
    ValueError
        for an unknown target or field, a file that is not a Liberty file, and a Liberty file for another target
    ToolError
        without Yosys or OpenSTA, or if it fails
    """
    target = known_name("target", target, TARGETS)
    if liberty is not None and target != "asic":
        raise ValueError(f"a Liberty file is for the target asic, not {target}")
    if blocks_of is not None and (liberty is None or around != NOTHING):
        raise ValueError("OpenSTA needs a Liberty file, and a converter without modules around it")
    chosen = TARGETS[target] if liberty is None else asic_cells(Path(liberty))
    if not isinstance(config, HardwareConfig):
        asked: AnyFields = {**fields, "target": chosen.optimized_as}
        config = configuration(op, config, profile, **asked)
    elif fields or profile is not None:
        raise TypeError(f"a {type(config).__name__} is complete: leave out profile and fields")
    text, top = modules_of(config), around.top(TOP)
    text = "\n".join([text, *(body(one) for _, one in around.modules(config, TOP).values())])
    modules = {
        name: f"{TOP}_{module}"
        for name, module in STAGES_OF[config.numerics.name].items()
        if stages and f"module {TOP}_{module}(" in text
    }
    gate = None if chosen.library is None else nand2_area(chosen.library)
    with refreshed(force):
        whole = cost_of(text, top, chosen)
        return Synthesis(
            config=config,
            target=target,
            liberty=None if liberty is None else Path(liberty).name,
            whole=whole,
            nand2=None if gate is None or whole.logic_cells is None else round(whole.logic_cells / gate, 1),
            around=around,
            timing=None if blocks_of is None else timing_of(text, chosen, _blocks(config, blocks_of)),
            yosys=yosys_version(),
            stages={name: cost_of(text, module, chosen) for name, module in modules.items()},
        )


def synth_all(
    configs: Sequence[HardwareConfig],
    target: str = "xcu",
    *,
    liberty: Path | str | None = None,
    stages: bool = True,
    around: Around = NOTHING,
    blocks_of: BlocksOf | None = None,
    jobs: int = 2,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Synthesis]:
    """`synth` for several configurations, in their order, ``jobs`` at a time; ``progress`` gets done and total."""
    done = []
    one = partial(synth, target=target, liberty=liberty, stages=stages, around=around, blocks_of=blocks_of, force=force)
    with workers(jobs) as pool:
        for result in pool.map(one, configs):
            done.append(result)
            if progress:
                progress(len(done), len(configs))
    return done


def modules_of(config: HardwareConfig) -> str:
    """The emitted Verilog as it is measured: without the comments of its header, which change with every version."""
    return body(verilog(config, TOP))


def cost_of(text: str, top: str, target: Target) -> Cost:
    """Cost of module ``top`` of a Verilog file; script and log stay in the cache."""

    def compute(folder: Path) -> dict:
        (folder / "converter.v").write_text(text)
        if target.library is not None:
            (folder / LIBRARY).write_text(target.library)
        netlist, statistics = run(
            ["read_verilog converter.v", target.script.format(top=top), OPENED], folder, target.estimate
        )
        found = cost(netlist, statistics, top, target)
        if target.timed and "keep_hierarchy" not in text:  # otherwise each module has a longest path of its own
            found = replace(found, delay_ps=delay_ps((folder / "yosys.log").read_text()))
        if top == TOP and not found.luts:
            raise ToolError("Yosys left no LUT of the converter: the synthesis has gone wrong")
        (folder / "netlist.json").unlink()  # large, and made again by the script next to it
        return found.to_dict()

    kept = kept_result("synth", [text, top, target.identity, yosys_version()], compute)
    return constructed(Cost, cast("dict[str, object]", kept))


def _blocks(config: HardwareConfig, blocks_of: BlocksOf) -> Blocks | None:
    """Blocks for a converter without registers."""
    return None if config.latency else Blocks(*blocks_of(config))


def timing_of(text: str, target: Target, blocks: Blocks | None, top: str = TOP) -> Timing:
    """`timed` of a Verilog text, kept in the cache."""

    def compute(folder: Path) -> dict:
        return timed(text, top, target, folder, blocks).to_dict()

    digest = "" if blocks is None else blocks.digest
    key = [text, top, target.identity, METHOD, opensta_version(), yosys_version(), digest]
    kept = cast("dict[str, object]", kept_result("timing", key, compute))
    return constructed(Timing, {**kept, "path": tuple(cast("list[str]", kept["path"]))})
