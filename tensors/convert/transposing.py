"""Files with the last two axes of experts swapped. In BF16, transformers stores the experts of gpt-oss so, and
quantizes along the second last axis.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ...host.files import named
from ...host.unfinished import work_folder
from ...models.arrays.layout_parts import boxes
from ..containers.containers import read, written
from .conversions import PART, put, swapped
from .options import QuantizeOptions
from .selection import SOURCES, asked_for, check_ends, quantizable
from .tiles import copy

SIDE = 1024
"""Rows and columns of a tile: long enough runs for reading and for writing."""


@contextlib.contextmanager
def transposed(source: Path, target: Path, options: QuantizeOptions, unfinished: Path | None = None) -> Iterator[Path]:
    """A temporary copy of a file, in which the quantized tensors of three axes have the last two axes swapped. It is
    next to ``target``, or in the folder ``unfinished``.

    Raises the errors of `files.quantize_with`, and ValueError without such tensors.
    """
    check_ends(source, target, dict.fromkeys(SOURCES, (target.suffix,)))
    contents = read(source)
    asked = asked_for(contents, options.include, options.exclude)
    chosen = {name for name, one in quantizable(source, contents, 1, True, asked).items() if len(one.shape) == 3}
    if not chosen:
        raise ValueError(f"{source} has no tensor of three axes to transpose")
    header = {
        name: (one.dtype, swapped(one.shape) if name in chosen else one.shape, one.data.nbytes)
        for name, one in contents.tensors.items()
    }
    with named(target), work_folder(target, unfinished, "transposed") as (folder, swapping):
        made = folder / f"{source.stem}.safetensors"
        with written(made, header, contents.metadata, swapping) as write:
            copy({name: one for name, one in contents.tensors.items() if name not in chosen}, write)
            for name in sorted(chosen - write.whole.keys()):
                stored = contents.tensors[name]
                numbers = stored.data.reshape(stored.shape)
                for box in boxes(stored.shape, (1, SIDE, 1), PART):
                    starts = swapped(tuple(one.start for one in box))
                    put(write, name, swapped(stored.shape), starts, numbers[box].swapaxes(1, 2).copy())
                    first = (box[0].start * stored.shape[1] + box[1].start) * stored.shape[2]
                    stored.release(first, (box[1].stop - box[1].start) * stored.shape[2])
                write.finish([name])
        yield made
