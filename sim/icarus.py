"""A written converter on Icarus: four states, and an ``always`` block runs when its list says so. Slow: for few
blocks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..host.cache import scratch
from ..host.errors import ToolError
from ..host.processes import TookTooLong, run
from ..models import Quantized
from . import tools

__all__ = ["on_icarus"]

BENCH = """
module {bench};
  reg [{input_bits}-1:0] blocks [0:{count}-1], block;
  wire [7:0] scale;
  wire [{code_bits}-1:0] p;
  integer i;
  {top} dut ({pins}, .scale(scale), .p(p));
  initial begin
    $readmemh("blocks.hex", blocks);
    for (i = 0; i < {count}; i = i + 1) begin
      block = blocks[i];
      #1000000000 $display("mxcast %b%b", scale, p);
    end
    $finish;
  end
endmodule
"""

PATIENCE = 120
"""Seconds for the simulation."""


def on_icarus(
    text: str,
    top: str,
    expected: Quantized,
    patterns: np.ndarray,
    random: np.ndarray | None = None,
    mode: int | None = None,
) -> Quantized | None:
    """What the module ``top`` without a clock makes of blocks (n, block_size), one after the other; None where Icarus
    is not installed, cannot read the text, or takes too long.

    A bit that is unknown there is returned as the one that is not ``expected``.
    """
    numerics = expected.numerics
    size, source, width = numerics.block_size, numerics.source.bits, numerics.block.element.bits
    pins, input_bits = [f".x(block[{size * source - 1}:0])"], size * source
    words = [sum(int(value) << source * lane for lane, value in enumerate(row)) for row in patterns]
    if random is not None:
        pins.append(f".random(block[{input_bits} +: {size * numerics.random_bits}])")
        words = [
            word | sum(int(value) << input_bits + numerics.random_bits * lane for lane, value in enumerate(row))
            for word, row in zip(words, random)
        ]
        input_bits += size * numerics.random_bits
    if mode is not None:
        pins.append(f".mode({mode})")
    try:
        icarus = Path(tools.icarus())
    except ToolError:
        return None
    with scratch() as folder:
        (folder / "blocks.hex").write_text("\n".join(f"{word:x}" for word in words) + "\n")
        bench = "mxcast_bench"
        while bench in text:
            bench += "_"
        (folder / "bench.v").write_text(
            text
            + BENCH.format(
                bench=bench,
                input_bits=input_bits,
                count=len(words),
                code_bits=size * width,
                top=top,
                pins=", ".join(pins),
            )
        )
        try:
            for command in (
                [icarus, "-g2012", "-s", bench, "-o", "bench.vvp", "bench.v"],
                [icarus.with_name("vvp"), "bench.vvp"],
            ):
                done = run(command, cwd=folder, timeout=PATIENCE)
                if done.status:
                    return None
        except TookTooLong:
            return None
    lines = [line.removeprefix("mxcast ") for line in done.output.splitlines() if line.startswith("mxcast ")]
    if len(lines) != len(words):
        return None
    weights = 1 << np.arange(width, dtype=np.uint32)
    right = (expected.codes[..., None] >> np.arange(width) & 1).reshape(len(lines), -1)[:, ::-1]
    right = np.concatenate([np.unpackbits(expected.scales.reshape(-1, 1), axis=1), right], axis=1)
    said = np.frombuffer("".join(lines).encode(), np.uint8).reshape(len(lines), -1)
    bits = np.where(said == ord("0"), 0, np.where(said == ord("1"), 1, 1 - right)).astype(np.uint32)
    codes = (bits[:, 8:][:, ::-1].reshape(len(lines), size, width) * weights).sum(axis=2)
    scales = np.packbits(bits[:, :8].astype(np.uint8), axis=1)
    return Quantized(scales=scales, codes=codes.astype(expected.codes.dtype), numerics=numerics)
