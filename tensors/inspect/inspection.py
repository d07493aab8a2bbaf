"""Inspection of a quantized file: the layout of each tensor, counts of its codes and scales, and suspicions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, ScaledLayout
from ..checkpoint.model_folder import shards_beside
from ..containers.containers import read
from ..layouts.own_metadata import KEY
from ..layouts.readings import Reading, Recognised
from ..layouts.recognition import incomplete_arrays, recognised, recognised_in
from ..layouts.scaled_tensor import ScaledTensor
from ..layouts.stored_blocks import StoredBlocks
from ..unrecognised.arrays import NOT_READ, apart, more_than_codes, scales_of, unrecognised
from ..unrecognised.named_arrays import NamedArrays
from ..unrecognised.suggestions import suggestions
from .code_order import suspicions_of_code_order
from .impossible import IMPOSSIBLE, elements_in_words, of_activations
from .judging import Judged, Kind, Suspicion
from .scaled_tally import ScaledTally
from .suspicions import suspicions
from .tally import Tally, tallied

COUNTED = "blocks", "codes used", "zero", "NaN", "saturated", "amax"
"""Columns of the table: ``zero`` and ``NaN`` count blocks, ``saturated`` counts elements of the largest magnitude of
their format, and ``amax`` is the largest magnitude of the tensor.
"""


@dataclass(frozen=True, kw_only=True)
class InspectedTensor:
    """One quantized tensor of a file."""

    name: str
    readings: tuple[Reading, ...]
    """The ways to read it. If there are several, it is ambiguous, and nothing is counted."""
    shape: tuple[int, ...]
    """The shape of the stored codes."""
    differences: str = ""
    """The difference between the readings of an ambiguous tensor; empty for other tensors."""
    blocks: int = 0
    """The number of all blocks."""
    tally: Tally | ScaledTally | None = None
    amax: float | None = None
    """The largest magnitude of the counted blocks, with the tensor scale."""
    tensor_scale: tuple[float, ...] = ()

    @property
    def is_ambiguous(self) -> bool:
        return bool(self.differences)

    def counted(self) -> dict[str, object]:
        """The counts for a row of a table."""
        tally = self.tally
        if tally is None:
            return dict.fromkeys(COUNTED, "")
        blocks = tally.blocks if tally.blocks == self.blocks else f"{tally.blocks} of {self.blocks}"
        codes = f"{tally.codes_used} of {len(tally.codes)}"
        counts = tally.zero_blocks, tally.nan_blocks, tally.saturated, f"{self.amax:.4g}"
        return dict(zip(COUNTED, (blocks, codes, *counts)))

    def to_dict(self) -> dict:
        tally = self.tally
        counts = tally and {
            "blocks": self.blocks,
            "blocks_counted": tally.blocks,
            "codes": len(tally.codes),
            "codes_used": tally.codes_used,
            "zero_blocks": tally.zero_blocks,
            "nan_blocks": tally.nan_blocks,
            "saturated": tally.saturated,
            "amax": self.amax if np.isfinite(self.amax or 0) else None,
            "scales_by_binade": {str(binade): count for binade, count in tally.binades.items()},
        }
        return {
            "name": self.name,
            "shape": self.shape,
            "ambiguous": self.differences or None,
            "readings": [reading.to_dict() for reading in self.readings],
            "tensor_scale": [g if np.isfinite(g) else str(g) for g in self.tensor_scale],
            "counts": counts,
        }


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """The outcome of `inspect_file`."""

    path: Path
    tensors: tuple[InspectedTensor, ...]
    others: tuple[str, ...]
    """The names of the arrays of no quantized tensor."""
    suspicions: tuple[Suspicion, ...]

    @property
    def ambiguous(self) -> tuple[InspectedTensor, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.is_ambiguous)

    def to_dict(self) -> dict:
        return {
            "path": str(self.path),
            "tensors": [tensor.to_dict() for tensor in self.tensors],
            "others": list(self.others),
            "suspicions": [suspicion.to_dict() for suspicion in self.suspicions],
        }


def inspect_file(
    path: Path | str,
    /,
    stored_as: str | None = None,
    *,
    names: str | None = None,
    reads: str | None = None,
    whole: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Inspection:
    """Describe the quantized tensors of a file, or of a model in a folder, and look for mistakes.

    Nothing is guessed: a tensor is ambiguous if several layouts fit that read different numbers.

    Parameters
    ----------
    path : a file that `containers.read` opens, or a folder with shards
    stored_as : the layout, if several fit: a dialect, or one of its layouts as ``quark:mxfp6_e2m3``
    names, reads : names of arrays that fit no layout, as ``codes={}.weight,scale={}.weight_scale_inv``, and their
        formats, as ``scale=e8m0`` (`named_arrays`)
    whole : count every block; by default a sample of about 130,000 blocks of a large tensor
    progress : receives the number of tensors done and the number of all tensors

    Returns
    -------
    Inspection
        the readings of each tensor with their evidence and counts, and the suspicions

    Raises
    ------
    ValueError
        for a damaged or foreign file, a damaged configuration of a model, an unknown layout, and a layout that no
        tensor has
    OSError
        if a file cannot be read

    >>> import mxcast, numpy as np
    >>> q = mxcast.quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> report = mxcast.inspect_file(mxcast.save(q, "weight.safetensors"))
    >>> report.suspicions
    ()
    """
    path, named = Path(path), NamedArrays.given(names, reads)
    if path.is_dir():
        contents, found = recognised_in(path, stored_as, named)
    else:
        contents = read(path)
        found = recognised(path, contents, stored_as, named)
    inspected: list[InspectedTensor] = []
    judged: list[Judged] = []
    for done, tensor in enumerate(found, start=1):
        layout, one = tensor.readings[0].layout, None
        if isinstance(layout, ScaledLayout):
            inspected.append(_inspected(tensor, None) if tensor.is_ambiguous else _counted(tensor, layout, whole))
        else:
            try:
                one = None if tensor.is_ambiguous else _judged(tensor, layout, whole)
            except ValueError as error:
                raise ValueError(f"tensor {tensor.name!r} of {path}: {error}") from None
            inspected.append(_inspected(tensor, one))
        if one:
            judged.append(one)
        if progress:
            progress(done, len(found))
    taken = {array for tensor in found for array in tensor.arrays}
    others = {name: stored for name, stored in contents.tensors.items() if name not in taken}
    found_wrong = [
        Suspicion(kind=Kind.CONTRADICTION, tensor=tensor.name, sentence=tensor.contradiction, figures={})
        for tensor in found
        if tensor.contradiction
    ]
    found_wrong += [
        Suspicion(kind=Kind.CONTRADICTION, tensor=array, sentence=sentence, figures={})
        for array, sentence in incomplete_arrays(path, contents, found, stored_as)
    ]
    taken |= {array for one in found_wrong for array in (one.tensor, *scales_of(contents.tensors, one.tensor))}
    shards = {} if path.is_dir() else shards_beside(path)
    elsewhere = {name: shard for name, shard in shards.items() if name not in contents.tensors}
    for array, sentence in list(apart(others, elsewhere)):
        found_wrong.append(Suspicion(kind=Kind.UNRECOGNISED, tensor=array, sentence=sentence, figures={}))
        taken.add(array)
        del others[array]
    for arrays, words in unrecognised(contents.tensors, taken):
        sentence = f"{words}: {NOT_READ}{suggestions(contents.tensors, arrays)}"
        found_wrong.append(Suspicion(kind=Kind.UNRECOGNISED, tensor=arrays[0], sentence=sentence, figures={}))
        others = {name: stored for name, stored in others.items() if name not in arrays}
    known = {one.name: [one.readings[0].layout.codes.of(one.name), *one.arrays] for one in found}
    for name, sentence in more_than_codes(contents.tensors, {} if KEY in contents.metadata else known).items():
        found_wrong.append(Suspicion(kind=Kind.UNRECOGNISED, tensor=name, sentence=sentence, figures={}))
    found_wrong += _of_scales(inspected)
    found_wrong += [one for tensor in found if tensor.is_ambiguous for one in _in_every_reading(tensor, whole)]
    found_wrong += [suspicion for one in judged for suspicion in suspicions(one)]
    found_wrong += [*suspicions_of_code_order(judged, others), *_of_fused_layers(judged), *of_activations(others)]
    return Inspection(path=path, tensors=tuple(inspected), others=tuple(others), suspicions=tuple(found_wrong))


def _counted(tensor: Recognised, layout: ScaledLayout, whole: bool) -> InspectedTensor:
    """An FP8 tensor with scales that are numbers."""
    tally = ScaledTally(ScaledTensor(tensor.arrays, layout, tensor.name), whole)
    return InspectedTensor(
        name=tensor.name,
        readings=tensor.readings,
        shape=tensor.shape,
        blocks=tally.tiles,
        tally=tally,
        amax=tally.largest,
    )


def _in_every_reading(tensor: Recognised, whole: bool) -> list[Suspicion]:
    """Suspicions about an ambiguous tensor that hold in each of its readings; none if it may not be quantized."""
    try:
        found = [_impossible(tensor, one.layout, whole) for one in tensor.readings if not tensor.may_be_plain]
    except ValueError:  # codes that a reading does not have
        return []
    return [one for kind, one in found[0].items() if all(kind in other for other in found)] if found else []


def _impossible(tensor: Recognised, layout: AnyLayout, whole: bool) -> dict[Kind, Suspicion]:
    """Suspicions about impossible numbers in one reading, by kind."""
    if isinstance(layout, ScaledLayout):
        return {one.kind: one for one in _of_scales([_counted(tensor, layout, whole)])}
    judged = _judged(tensor, layout, whole)
    return {one.kind: one for check in IMPOSSIBLE for one in check(judged)} if judged else {}


def _of_scales(tensors: Sequence[InspectedTensor]) -> Iterator[Suspicion]:
    """FP8 tensors with scales that no library writes, or with elements that are NaN or Inf."""
    for tensor in tensors:
        if not isinstance(tensor.tally, ScaledTally):
            continue
        for sentence, figures in tensor.tally.wrong():
            yield Suspicion(kind=Kind.SCALE_NUMBERS, tensor=tensor.name, sentence=sentence, figures=figures)
        if count := tensor.tally.not_finite_elements:
            sentence = f"{elements_in_words(count)} NaN or Inf"
            yield Suspicion(kind=Kind.NOT_FINITE, tensor=tensor.name, sentence=sentence, figures={"elements": count})


def _judged(tensor: Recognised, layout: Layout, whole: bool) -> Judged | None:
    """The counts of a tensor; None for codes of more than a byte, and for blocks of two axes."""
    if layout.element_bits > 8 or len(layout.block_format.shape) > 1:
        return None
    stored = StoredBlocks(tensor.arrays, layout, tensor.name)
    return Judged(tensor=tensor, stored=stored, tally=tallied(stored, whole))


def _inspected(tensor: Recognised, judged: Judged | None) -> InspectedTensor:
    if judged is None:
        differences = tensor.differences if tensor.is_ambiguous else ""
        return InspectedTensor(name=tensor.name, readings=tensor.readings, shape=tensor.shape, differences=differences)
    g = judged.stored.tensor_scale
    return InspectedTensor(
        name=tensor.name,
        readings=tensor.readings,
        shape=tensor.shape,
        blocks=judged.stored.count,
        tally=judged.tally,
        amax=judged.amax,
        tensor_scale=() if g is None else tuple(g.tolist()),
    )


FUSED = ("gate_proj", "up_proj"), ("w1", "w3"), ("gate", "up")
"""Parts of the names of layers that libraries fuse into one layer with one tensor scale."""


def _of_fused_layers(judged: Sequence[Judged]) -> Iterator[Suspicion]:
    """Gate and up with different tensor scales. Libraries of layouts without an array of scales do not fuse layers."""
    scaled = {one.name: one for one in judged if one.layout.scales}
    scales = {name: g for name, one in scaled.items() if (g := one.stored.tensor_scale) is not None}
    for name, scale in scales.items():
        for gate, up in FUSED:
            other = re.sub(rf"(?<![^.]){gate}(?![^.])", up, name)
            if other in scales and not np.array_equal(scale, scales[other], equal_nan=True):
                figures = {gate: float(np.median(scale)), up: float(np.median(scales[other]))}
                yield scaled[name].suspicion(
                    Kind.GATE_AND_UP,
                    f"its tensor scale is {figures[gate]:.6g}, and the one of {other!r} is {figures[up]:.6g}: "
                    "libraries that fuse the two take one for both",
                    figures,
                )
