"""The whole path on real weights: quantize, emit, verify the emitted Verilog on the same tensor, and synthesise it.

    python examples/demo.py [FILE.safetensors]        (or: make demo)

Prints one screen: what the conversion to MXFP8 E4M3 lost, tensor by tensor, and for all six formats whether Verilog and
golden model agree on every block, and how many LUTs the converter takes.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from mxcast.hdl import converter_config, emit
from mxcast.sim import verify
from mxcast.spec import BLOCKS
from mxcast.synth import TARGETS, synth_all
from mxcast.synth.baselines import PUBLISHED
from mxcast.tensors.convert.files import quantize_file, read_blocks


def main(
    source: Path, out: Path = Path("build/demo"), formats: Sequence[str] = tuple(BLOCKS), target: str = "xcu"
) -> int:
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("quantizing")
        report = quantize_file(source, out / f"{source.stem}.e4m3.safetensors", "e4m3")
        configs = [converter_config(name, target=TARGETS[target].optimized_as) for name in formats]
        files, checked = [], []
        for config in configs:
            progress.update(
                task, description=f"{config.numerics.block.name}: emitting, compiling and verifying the Verilog"
            )
            files.append(emit(config, out))
            checked.append(verify(config, tensors=read_blocks(source, config.numerics.block_size, False)))
        progress.update(task, description=f"synthesising the converters for {target} (some minutes the first time)")
        costs = synth_all(configs, target, stages=False)

    tensors = Table(title=f"MXFP8 E4M3, profile ocp: {source.name}")
    for heading in ("tensor", "shape", "SQNR dB", "saturated", "flushed", "NaN"):
        tensors.add_column(heading, justify="left" if heading == "tensor" else "right")
    for tensor in report.tensors:
        s = tensor.statistics
        tensors.add_row(
            tensor.name,
            " x ".join(map(str, tensor.shape)),
            f"{s.sqnr_db:.2f}",
            str(s.saturated),
            str(s.flushed),
            str(s.nan),
        )
    console.print(tensors)

    formats = Table(title=f"Emitted Verilog, profile ocp, {TARGETS[target].description}")
    for heading in ("format", "RTL = model", "LUTs", "carries", "levels", "paper LUTs"):
        formats.add_column(heading, justify="left" if heading == "format" else "right")
    for config, result, cost in zip(configs, checked, costs):
        block = config.numerics.block
        formats.add_row(
            block.name,
            f"{result.blocks - result.mismatched_blocks} of {result.blocks} blocks",
            str(cost.whole.luts),
            str(cost.whole.carries),
            str(cost.whole.levels),
            str(PUBLISHED[block.short_name].luts),
        )
    console.print(formats)
    console.print(
        "The paper (Gorodecky and Sousa, table VIII) used Vivado 2019.1 with place and route and does less; ours is "
        f"Yosys (pyosys {costs[0].yosys}), synthesis only."
    )
    for result in checked:
        if not result.passed:
            console.print(f"[red]{result.config.numerics.block.name} FAILED[/red]\n{result.report}")
    console.print(
        f"Verilog in {files[0]['verilog'].parent.parent.parent}, codes in {out / (source.stem + '.e4m3.safetensors')}"
    )
    return 0 if all(result.passed for result in checked) else 1


if __name__ == "__main__":
    here = Path(__file__).parent
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "data" / "minilm_sample.safetensors"))
