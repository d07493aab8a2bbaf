"""Layouts of FP8 tensors whose scales are floating-point numbers.

One scale belongs to a tile of the last two axes: the tensor, a row, a column, a group of a row, or a block. A number is
the code times the scale. Libraries differ in the names of the arrays and in the dtype and shape of the scales.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..catalogue import Rule, excerpt, known_name
from ..formats.block import BlockFormat
from ..formats.names import block_format, whole_name
from ..formats.number import E4M3, E5M2, FP32, NumberFormat
from .catalogue import LAYOUTS, Layout, Part, layout_named

Tile = tuple[int, int]
"""Rows and columns that share a scale, 0 for all of them: (0, 0) is a tensor, (1, 0) a row."""
Shape = tuple[int, ...]


TILES: dict[str, Tile] = {"tensor": (0, 0), "row": (1, 0), "column": (0, 1)}
"""Tiles by name; other tiles are written as rows x columns."""


class Grain(Rule):
    """Numbers that share one scale."""

    TENSOR = "tensor", "a tensor, or each matrix of a tensor of three axes"
    ROW = "row", "a row, which is an output channel"
    COLUMN = "column", "a column, which is an input channel"
    GROUP = "group", "some neighbouring elements of a row"
    BLOCK = "block", "a block of rows and columns"


def grain_of(tile: Tile) -> Grain:
    """The kind of a tile."""
    rows, columns = tile
    if rows == 1:
        return Grain.GROUP if columns else Grain.ROW
    if rows and columns:
        return Grain.BLOCK
    return Grain.COLUMN if columns else Grain.TENSOR


@dataclass(frozen=True, kw_only=True)
class ScaledLayout:
    """The places of FP8 codes and their scales in the arrays of a library.

    ``tile`` is None in the catalogue. `fitted` sets it for the arrays of one tensor.
    """

    dialect: str
    source: str
    element: NumberFormat
    codes: Part
    scales: Part
    """Its dtype is the one that the library writes, or the one in the file."""
    dtypes: tuple[str, ...]
    """Dtypes of scales that can be read; for blocks of several rows also `E8`, as no MX format has these."""
    forms: Mapping[Grain, tuple[str, ...]] = field(hash=False)
    """Shape of the scales that the library writes, after the leading axes of the codes: ``r`` and ``c`` are the numbers
    of tiles down and across, ``1`` is an axis of length 1. Empty for a layout that can only be read."""
    size: Tile | None = None
    """The block that the library writes, and that it reads by default."""
    tile: Tile | None = None
    extent: Tile | None = None
    """The tile in its tensor: 0 along axes that it covers completely."""
    read_as: str | None = None
    """The dtype of the scales' bytes, if it is not the dtype of their array."""
    tensor_scale: None = field(default=None, init=False)

    @property
    def block(self) -> str:
        """The block format in names of layouts."""
        return f"fp8_{self.element.name}"

    @property
    def name(self) -> str:
        return f"{self.dialect}:{self.block}"

    @property
    def full_name(self) -> str:
        """The name with the tile, as `layouts_of` reads it."""
        if self.tile is None:
            return self.name
        words = [name for name, tile in TILES.items() if tile == self.tile] or ["x".join(map(str, self.tile))]
        return f"{self.name}:{words[0]}"

    @property
    def parts(self) -> tuple[Part, Part]:
        return self.codes, self.scales

    def names(self, tensor: str) -> tuple[str, ...]:
        """The names of the arrays of a tensor."""
        return tuple(part.of(tensor) for part in self.parts)

    @property
    def reading(self) -> tuple[object, ...]:
        """Layouts with the same reading give the same numbers for arrays that they fit."""
        return self.codes.name, self.scales.name, self.read_as or self.scales.dtype, self.element, self.extent

    def is_read_as(self, other: ScaledLayout) -> bool:
        """Does another layout read its arrays in the same way? A layout without a tile matches any tile."""
        names = [(one.codes.name, one.scales.name, one.element) for one in (self, other)]
        return names[0] == names[1] and self.tile in (None, other.tile)

    @property
    def tile_in_words(self) -> str:
        if self.tile is None:
            return "any"
        grain = grain_of(self.tile)
        sizes = {Grain.GROUP: f" of {self.tile[1]}", Grain.BLOCK: f" of {self.tile[0]} x {self.tile[1]}"}
        return str(grain) + sizes.get(grain, "")

    @property
    def scales_in_words(self) -> str:
        """The name and dtypes of the scales, and the tiles that the library writes."""
        tiles = f"for a {' or '.join(map(str, self.forms))}" if self.forms else "read only"
        return f"{self.scales.name} {' or '.join(self.dtypes)}, {tiles}"

    def described(self) -> dict[str, str]:
        """Properties of the bytes, in words."""
        return {"elements": self.element.name, "a scale for a": self.tile_in_words, "scales": self.scales.dtype}

    def takes(self, dtype: str, tile: Tile) -> bool:
        """Can scales of this dtype be read for these tiles?"""
        is_block = Grain.BLOCK in self.forms and grain_of(tile) is Grain.BLOCK
        return dtype in self.dtypes or (is_block and dtype == E8)

    def fitted(self, tile: Tile, dtype: str, codes: Shape) -> ScaledLayout:
        """The layout of codes of this shape with these tiles, and scales of this dtype."""
        rows, columns = (size if size < length else 0 for size, length in zip(tile, ((1, 1) + codes)[-2:]))
        return replace(self, tile=tile, extent=(rows, columns), scales=replace(self.scales, dtype=dtype))

    def block_format(self, columns: int) -> BlockFormat:
        """Blocks along the rows of a matrix with this number of columns, with one FP32 scale each."""
        width = (self.tile or (0, 0))[1] or max(columns, 1)
        return BlockFormat(name=self.block, element=self.element, scale=FP32, shape=(width,))


AnyLayout = Layout | ScaledLayout


def fitting_tiles(
    codes: Shape, scales: Shape, usual: Tile | None = None, declared: tuple[Tile, ...] = ()
) -> list[Tile]:
    """The tiles for which scales of one shape fit codes of another; several if the shapes do not decide.

    ``declared`` are tiles named by a file or user. The others are the ``usual`` block, or if it does not fit
    groups of 128, blocks of 128 x 128, and groups and square blocks that divide the codes (multiples of 16).

    >>> fitting_tiles((256, 192), (2, 2)), fitting_tiles((256, 192), (256, 1)), fitting_tiles((256, 192), ())
    ([(128, 128)], [(1, 0)], [(0, 0)])
    """
    lead, matrix = codes[:-2], ((1, 1) + codes)[-2:]
    rest = scales[len(lead) :] if scales[: len(lead)] == lead else scales
    if len(rest) == 4 and rest[1] == rest[3] == 1:  # NVIDIA ModelOpt, FP8_PB_WO
        rest = rest[0], rest[2]
    if all(length == 1 for length in rest):
        blocks = (*declared, *([usual] if usual and len(rest) == 2 else []))
        return list(dict.fromkeys(tile for tile in blocks if _counts(matrix, tile) == (1, 1))) or [(0, 0)]
    if scales[: len(lead)] != lead:
        return []
    rows, columns = matrix
    if len(rest) == 1:
        return [(1, 0)] * (rest[0] == rows) + [(0, 1)] * (bool(lead) and rest[0] == columns)
    if len(rest) != 2:
        return []
    if rest == (rows, 1):
        return [(1, 0)]
    if rest == (1, columns):
        return [(0, 1)]
    known = [tile for tile in declared if all(tile) and _counts(matrix, tile) == rest]
    if usual is not None and _counts(matrix, usual) == rest:
        return list(dict.fromkeys([*known, usual]))
    found: dict[Tile, Tile] = {}
    for tile in (*known, (1, 128), (128, 128), *_dividing(matrix, rest)):
        if _counts(matrix, tile) == rest:
            found.setdefault((min(tile[0], rows), min(tile[1], columns)), tile)
    return list(found.values())


def _counts(matrix: Shape, tile: Tile) -> Shape:
    """Numbers of tiles of a matrix down and across."""
    return tuple(-(-length // size) if size else 1 for length, size in zip(matrix, tile))


def _dividing(codes: Shape, tiles: Shape) -> Iterator[Tile]:
    """The group or square block with these numbers of tiles, if its width is a multiple of 16."""
    if all(length and count and length % count == 0 for length, count in zip(codes, tiles)):
        rows, columns = (length // count for length, count in zip(codes, tiles))
        if rows in (1, columns) and columns % 16 == 0:
            yield rows, columns


def scales_shape(layout: ScaledLayout, codes: Shape) -> Shape:
    """The shape in which the library writes the scales of codes of this shape, for the tile of the layout.

    Raises ValueError for a tile that the library does not have.
    """
    tile = layout.tile or (0, 0)
    form = layout.forms.get(grain_of(tile))
    is_other = layout.size is not None and all(tile) and tile != layout.size
    if form is None or is_other:
        of = f" of {layout.size[0]} x {layout.size[1]}" if layout.size else ""
        has = f"the layout {layout.dialect} has FP8 with a scale for a {' or '.join(map(str, layout.forms))}{of}"
        raise ValueError(f"{has}, not for a {layout.tile_in_words}")
    down, across = _counts(((1, 1) + codes)[-2:], tile)
    counts = {"1": 1, "r": down, "c": across}
    return (*codes[:-2], *(counts[axis] for axis in form))


NUMBERS = ("F32", "BF16", "F16")
CODES = ((E4M3, "F8_E4M3"), (E5M2, "F8_E5M2"))
E8 = "F8_E8M0"
T, R, G, B = Grain.TENSOR, Grain.ROW, Grain.GROUP, Grain.BLOCK
SQUARE = (128, 128)


def _layouts() -> Iterator[ScaledLayout]:
    own, suffixed = "{name}", "{name}_scale"
    qdata, qscale = "{module}_{leaf}_qdata", "{module}_{leaf}_scale"
    deepseek = "DeepSeek-V3, inference/kernel.py; transformers 5.24.0, integrations/finegrained_fp8.py"
    compressed = "compressed-tensors 0.20.0, float-quantized and naive-quantized"
    modelopt = "NVIDIA ModelOpt 0.47.0, FP8, FP8_PER_CHANNEL_PER_TOKEN and FP8_PB_WO; vLLM, modelopt.py"
    rows: tuple[tuple[str, str, str, str, str, tuple[str, ...], dict[Grain, str], Tile | None], ...] = (
        ("deepseek_v3", deepseek, own, "{name}_scale_inv", "F32", (*NUMBERS, E8), {T: "", B: "rc"}, SQUARE),
        ("deepseek_v4", "transformers 5.24.0; vllm issue 51946", own, "{module}scale", E8, (E8,), {B: "rc"}, SQUARE),
        ("compressed_tensors", compressed, own, suffixed, "F32", NUMBERS, {T: "1", R: "r1", G: "rc", B: "rc"}, None),
        ("modelopt", modelopt, own, suffixed, "F32", NUMBERS, {T: "", R: "r", B: "r1c1"}, SQUARE),
        ("fbgemm_fp8", "transformers 5.24.0, fbgemm_fp8.py", own, suffixed, "F32", NUMBERS, {R: "r1"}, None),
        ("fp8", "vLLM, fp8.py, a scale for each tensor", own, suffixed, "F32", NUMBERS, {T: ""}, None),
        ("quark", "amd-quark 0.13, fp8_e4m3", own, suffixed, "F32", NUMBERS, {}, None),
        ("comfy", "ComfyUI, QUANTIZATION.md", own, suffixed, "F32", NUMBERS, {T: ""}, None),
        ("comfy_scaled", "ComfyUI, ops.py, scaled_fp8", own, "{module}scale_weight", "F32", NUMBERS, {}, None),
        ("torchao", "torchao 0.18, Float8Tensor", qdata, qscale, "F32", NUMBERS, {}, None),
    )
    for dialect, source, codes, scales, dtype, dtypes, forms, size in rows:
        for element, stored in CODES:
            yield ScaledLayout(
                dialect=dialect,
                source=source,
                element=element,
                codes=Part(name=codes, dtype=stored),
                scales=Part(name=scales, dtype=dtype),
                dtypes=dtypes,
                forms={grain: tuple(form) for grain, form in forms.items()},
                size=size,
            )


def tile_named(text: str) -> Tile:
    """The tile with this name. Raises ValueError for an unknown name.

    >>> tile_named("row"), tile_named("128x128")
    ((1, 0), (128, 128))
    """
    if match := re.fullmatch(r"([1-9][0-9]{0,8})x([1-9][0-9]{0,8})", text):
        return int(match[1]), int(match[2])
    if text not in TILES:
        raise ValueError(f"a scale is for a {', '.join(TILES)} or rows and columns as 128x128, not {excerpt(text)}")
    return TILES[text]


def _with_tile(layout: AnyLayout, text: str) -> AnyLayout:
    """The layout with a tile by name. Raises ValueError for an unknown name, and for MX blocks."""
    if not isinstance(layout, ScaledLayout):
        raise ValueError(f"{layout.name} has scales for blocks of {layout.width}, not for a {excerpt(text)}")
    return with_tile(layout, tile_named(text))


def with_tile(layout: AnyLayout, tile: Tile) -> AnyLayout:
    """The layout with this tile if it is a `ScaledLayout`; any other layout unchanged."""
    return replace(layout, tile=tile) if isinstance(layout, ScaledLayout) else layout


SCALED_LAYOUTS: dict[str, dict[str, ScaledLayout]] = {}
"""Layouts of FP8 by dialect and block format."""
for _layout in _layouts():
    SCALED_LAYOUTS.setdefault(_layout.dialect, {})[_layout.block] = _layout


def layouts_of(stored_as: str | None = None, format: str | BlockFormat | None = None) -> list[AnyLayout]:
    """The layouts of a dialect, or of one name such as ``quark:mxfp6_e2m3``; without a name all layouts.

    ``format`` selects one block format. ``fp8_e4m3`` and ``fp8_e5m2`` are FP8 with floating-point scales. A name can
    contain the tile of their scales: ``modelopt:fp8_e4m3:128x128``. Raises ValueError for unknown names.

    >>> [layout.name for layout in layouts_of("deepseek_v4")]
    ['deepseek_v4:mxfp4_e2m1', 'deepseek_v4:fp8_e4m3', 'deepseek_v4:fp8_e5m2']
    """
    catalogues = LAYOUTS, SCALED_LAYOUTS
    if stored_as is None:
        return [layout for catalogue in catalogues for layouts in catalogue.values() for layout in layouts.values()]
    dialect, colon, block = stored_as.partition(":")
    dialect = known_name("layout", dialect, LAYOUTS | SCALED_LAYOUTS)
    found: dict[str, AnyLayout] = {**LAYOUTS.get(dialect, {}), **SCALED_LAYOUTS.get(dialect, {})}
    if colon:
        block, colon, tile = block.partition(":")
        layout = found[known_name(f"block format of {dialect}", whole_name(block), found)]
        return [_with_tile(layout, tile) if colon else layout]
    if format is None:
        return list(found.values())
    if isinstance(format, str) and format.lower() in found:
        return [found[format.lower()]]
    if dialect not in LAYOUTS:
        name = format if isinstance(format, str) else format.name
        raise ValueError(f"the layout {dialect} is of {', '.join(found)}, not of {name}")
    return [layout_named(dialect, block_format(format))]
