"""Output of `mxcast quantize`, `dequantize` and `convert` about the files that they wrote."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...host.files import UNFINISHED
from .output import Output
from .text import one_line

if TYPE_CHECKING:
    from ...models import Statistics
    from ...tensors.checkpoint.checkpoints import ConvertedCheckpoint
    from ...tensors.convert.files import DequantizedFile
    from ...tensors.convert.not_finite import NotFinite
    from ...tensors.convert.repacking import ConvertedFile

SHOWN = 8
"""Tensors with NaN or Inf in their results that are named."""


@contextlib.contextmanager
def resumable(target: Path) -> Iterator[None]:
    """A context that writes a model into a folder. If it is interrupted, the error says how to resume it."""
    try:
        yield
    except KeyboardInterrupt:
        if not (target / UNFINISHED).is_dir():
            raise
        how = f"{target} is not complete; give the same command again to go on"
        raise KeyboardInterrupt(f"interrupted: {how}") from None


def quantized_row(name: str, shape: str, statistics: Statistics) -> dict[str, object]:
    amax = f"{statistics.amax_min:.4g} .. {statistics.amax_max:.4g}" if statistics.blocks else ""
    return {
        "tensor": name,
        "shape": shape,
        "amax of blocks": amax,
        "SQNR dB": round(statistics.sqnr_db, 2),
        "saturated": statistics.saturated,
        "flushed": statistics.flushed,
        "NaN": statistics.nan,
    }


def shards_written(report: ConvertedCheckpoint, output: Output) -> None:
    """Print a row for each shard."""
    from ...tensors.convert.not_finite import NotFinite

    by = dict.fromkeys(report.resumed, "an earlier command and this one") | dict.fromkeys(
        report.kept, "an earlier command"
    )
    output.table(
        [
            {
                "shard": one_line(name),
                "tensors": len(shard["tensors"]),
                "copied": len(shard["copied"]),
                "by": by.get(name, "this one"),
            }
            for name, shard in report.shards.items()
        ]
    )
    found = [one for shard in report.shards.values() for one in shard.get("not_finite", {}).items()]
    _not_finite({tensor: NotFinite.of_dict(counts) for tensor, counts in found}, output)
    if report.left_out:
        output.say(f"left out: {', '.join(map(one_line, report.left_out))}")
    output.say(f"wrote {report.path}")
    output.document(report.to_dict())


def file_written(report: DequantizedFile | ConvertedFile, target: Path, output: Output) -> None:
    """Print a row for each tensor."""
    output.table(
        [{"tensor": one_line(name), "shape": " x ".join(map(str, shape))} for name, shape in report.tensors.items()]
    )
    _not_finite(report.not_finite, output)
    if report.copied:
        output.say(f"copied unchanged: {', '.join(map(one_line, report.copied))}")
    output.say(f"wrote {target}")
    output.document(report.to_dict())


def _not_finite(counts: Mapping[str, NotFinite], output: Output) -> None:
    """Print for each tensor how many results are NaN or Inf, and why."""
    for name, one in list(counts.items())[:SHOWN]:
        output.say(f"not finite: {one_line(name)}: {one.words}")
    if len(counts) > SHOWN:
        output.say(f"not finite: {len(counts) - SHOWN} more tensors, which --json lists")
