"""Options of the verbs that read and write files of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...tensors.checkpoint.shard_jobs import Run
    from ...tensors.convert.options import ConvertOptions

Source = Annotated[Path, typer.Argument(metavar="IN", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="OUT", show_default=False)]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", min=1, help="Threads, or processes for a folder. No byte depends on them.")
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="PATTERN",
        show_default=False,
        help="Convert only tensors with matching names, such as '*.weight', and copy the others; repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="PATTERN",
        show_default=False,
        help="Copy tensors with matching names, such as '*LayerNorm*'; repeatable.",
    ),
]
StoredAs = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="LAYOUT", show_default="as quantize writes it", help="The layout of IN (mxcast list layouts)."
    ),
]
StoredFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT",
        show_default=False,
        help="The block format of IN, if its layout has several.",
    ),
]
Arrangement = Annotated[
    str | None,
    typer.Option(
        "--experts",
        metavar="HOW",
        show_default=False,
        help="split: store gate and up of experts as two tensors. interleaved: store them as alternate rows of one.",
    ),
]
Transposed = Annotated[
    bool,
    typer.Option(
        "--transposed", help="Swap the last two axes of tensors with three, as transformers stores gpt-oss in BF16."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        show_default=False,
        help="Give the shards of a folder to a Dask cluster: tcp://host:8786.",
    ),
]
ArrayNames = Annotated[
    str | None,
    typer.Option(
        "--names",
        metavar="NAMES",
        show_default=False,
        help="Names of the arrays, if no layout fits: 'codes={}.weight,scale={}.weight_scale_inv', optionally "
        "tensor_scale=..., and name=... for the result; {} is any text.",
    ),
]
Read = Annotated[
    str | None,
    typer.Option(
        "--read",
        metavar="HOW",
        show_default=False,
        help="Formats of these arrays: 'scale=e8m0' (e4m3, number), element=e2m1, block=32, 128x128, row or tensor, "
        "order=high_first, tensor_scale=divisor.",
    ),
]
Pad = Annotated[bool, typer.Option("--pad", help="Complete the last block of each row with zeros.")]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Which tensors are converted, and by how many threads, processes or workers."""

    include: Include = None
    exclude: Exclude = None
    jobs: Jobs = 1
    scheduler: Scheduler = None

    def run(self, source: Path) -> Run | None:
        """The processes or workers that convert the shards of a folder; None for a file."""
        if not source.is_dir():
            if self.scheduler is not None:
                raise ValueError(f"--scheduler is for the shards of a folder, and {source} is none")
            return None
        from ...tensors.checkpoint.shard_jobs import locally, on_cluster

        return locally(self.jobs) if self.scheduler is None else on_cluster(self.scheduler)


@dataclass(frozen=True, kw_only=True)
class StoredOptions(FileOptions):
    """How the tensors of IN are stored."""

    stored_as: StoredAs = None
    format: StoredFormat = None
    experts: Arrangement = None
    names: ArrayNames = None
    read: Read = None

    def options(
        self,
        *,
        layout: str | None = None,
        block: str | None = None,
        profile: str | None = None,
        is_transposed: bool = False,
    ) -> ConvertOptions:
        """The options of a conversion from such files."""
        from ...tensors.convert.options import ConvertOptions
        from ...tensors.layouts.experts import Experts
        from ...tensors.unrecognised.named_arrays import NamedArrays

        return ConvertOptions(
            layout=layout,
            stored_as=self.stored_as,
            format=self.format,
            profile=profile,
            include=tuple(self.include or ()),
            exclude=tuple(self.exclude or ()),
            experts=None if self.experts is None else Experts.named("arrangement of experts", self.experts),
            block=block,
            is_transposed=is_transposed,
            named=NamedArrays.given(self.names, self.read),
        )
