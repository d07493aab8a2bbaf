"""The sample tensors through an encoder with AXI4-Stream, compared with the files of `mxcast quantize`.

    python examples/demo_stream.py [FILE.safetensors]        (or: make demo-stream)

For three layouts the command writes a file of quantized tensors, and mxcast an encoder with AXI4-Stream. Each row of a
tensor is a packet through the Verilated encoder, with random stalls on all streams. What leaves are the bytes of the
layout: codes and scales in two streams, or the scale in front of the codes of its block. The file must have the same
bytes. Prints one table, and exits with 1 if a byte differs.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from mxcast.hdl import converter_config, emit
from mxcast.sim.run.verilator.packets import packet_driver
from mxcast.spec import layout_named
from mxcast.tensors.convert.files import read_tensors

SEED = 2026
LAYOUTS = {
    "compressed_tensors": ("e4m3", "compressed_tensors", 8),
    "quark_pack": ("e2m1", "quark", 8),
    "ggml": ("e2m1", "ggml", 0),
}
"""Format, profile and lanes: a layout with scales apart, one with scales before their codes, and one that needs whole
blocks."""


def arrays_in(file: Path) -> dict[str, bytes]:
    """The bytes of each array of a .safetensors file, by its name."""
    written = file.read_bytes()
    start = 8 + int.from_bytes(written[:8], "little")
    places = {name: about["data_offsets"] for name, about in json.loads(written[8:start]).items() if name[0] != "_"}
    return {name: written[start + first : start + end] for name, (first, end) in places.items()}


def main(
    source: Path,
    out: Path = Path("build/demo_stream"),
    layouts: dict[str, tuple[str, str, int]] = LAYOUTS,
    altered: Callable[[str], str] = str,
) -> int:
    """Stream ``source`` for each layout, and return the exit code. ``altered`` changes the text of the Verilog."""
    out.mkdir(parents=True, exist_ok=True)
    table = Table(title=f"{source.name} through AXI4-Stream, stalls of the seeds from {SEED}")
    for heading in (
        "layout",
        "tensor",
        "packets",
        "numbers a beat",
        "beats",
        "cycles",
        "stalls",
        "beats a cycle, no stalls",
        "bytes",
    ):
        table.add_column(heading, justify="left" if heading in ("layout", "tensor") else "right")
    tensors, are_equal = read_tensors(source)[0], True
    for dialect, (element, profile, lanes) in layouts.items():
        file = out / f"{source.stem}.{dialect}.safetensors"
        command = ["quantize", source, file, "--format", element, "--profile", profile, "--layout", dialect, "--quiet"]
        subprocess.run([sys.executable, "-m", "mxcast", *map(str, command)], check=True)
        config = converter_config(element, profile, lanes=lanes, interface="axis", layout=dialect, target="xcu")
        top = f"{element}_{dialect}"
        encoder = packet_driver(altered(emit(config, out, top)["verilog"].read_text()), top, config)
        layout, written = layout_named(dialect, config.numerics.block), arrays_in(file)
        for name, tensor in tensors.items():
            rows = np.ascontiguousarray(tensor, np.float32).reshape(-1, tensor.shape[-1])
            packets = [row.tobytes() for row in rows]
            stalled, free = encoder(packets, SEED + table.row_count), encoder(packets)
            arrays = [written[part.of(name)] for part in layout.parts]
            equal = all([b"".join(one.codes), b"".join(one.scales)][: len(arrays)] == arrays for one in (stalled, free))
            are_equal &= equal
            table.add_row(
                dialect,
                name,
                str(len(packets)),
                str(config.lanes),
                str(stalled.beats),
                str(stalled.cycles),
                str(stalled.stalls),
                f"{free.rate:.2f}",
                "equal" if equal else "[red]DIFFER[/red]",
            )
    Console(width=160).print(table)
    return 0 if are_equal else 1


if __name__ == "__main__":
    here = Path(__file__).parent
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent / "data" / "minilm_sample.safetensors"))
