"""Containers with types for quantized elements, which decide the layout of a tensor."""

from __future__ import annotations

from pathlib import Path

from ...spec import LAYOUTS, BlockFormat, layout_named
from ...spec.catalogue import known_name
from ...spec.layouts.catalogue import Layout

FP4, FP6 = {"F4": "mxfp4_e2m1"}, {"F6_E3M2": "mxfp6_e3m2", "F6_E2M3": "mxfp6_e2m3"}
FP8 = {"F8_E5M2": "mxfp8_e5m2", "F8_E4M3": "mxfp8_e4m3"}
NATIVE: dict[str, tuple[str, dict[str, str]]] = {
    ".gguf": ("ggml", {"MXFP4": "mxfp4_e2m1", "NVFP4": "nvfp4"}),
    ".onnx": ("onnx", FP4 | FP6 | FP8),
}
"""The dialect of each container by its suffix, and its block formats by their types. A tensor of such a type has the
shape of its numbers.
"""


def is_native(path: Path) -> bool:
    """Does the container of a file have types for quantized elements?"""
    return path.suffix in NATIVE and not path.is_dir()


def dialect_of(path: Path) -> str | None:
    """The only layout of the container of a file, or None."""
    return NATIVE[path.suffix][0] if path.suffix in NATIVE else None


def native_layouts(suffix: str, stored_as: str | None, block: BlockFormat | None) -> dict[str, Layout]:
    """The layouts of a container by their types: all, or the one of a block format.

    Raises ValueError for a layout that the container does not have.
    """
    dialect, blocks = _of(suffix, stored_as)
    layouts = {dtype: LAYOUTS[dialect][name] for dtype, name in blocks.items()}
    return {
        dtype: layout for dtype, layout in layouts.items() if block is None or layout == layout_named(dialect, block)
    }


def native_type(suffix: str, layout: Layout) -> str | None:
    """The type of a container for the codes of a layout; None for a container without such types.

    Raises ValueError for a layout that the container does not have.
    """
    if suffix not in NATIVE:
        return None
    _, blocks = _of(suffix, layout.dialect)
    return next(dtype for dtype, name in blocks.items() if name == layout.block)


def _of(suffix: str, asked: str | None) -> tuple[str, dict[str, str]]:
    dialect, blocks = NATIVE[suffix]
    if asked is not None and known_name("layout", asked, LAYOUTS) != dialect:
        raise ValueError(f"a {suffix} file has the layout {dialect}, not {asked}")
    return dialect, blocks
