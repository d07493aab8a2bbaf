"""Declarations of layouts next to the arrays: ComfyUI's description of a layer, the metadata of torchao and mxcast, and
the configuration of a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...host.files import parsed_json
from ...spec.catalogue import excerpt
from ...spec.layouts.scaled import AnyLayout, ScaledLayout
from ..configuration.groups import Groups
from ..configuration.reading import UnknownQuantization, groups_in
from ..containers.contents import Contents
from .library_metadata import COMFY, declared_layouts


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """The declaration of one tensor: in words, and a test of layouts."""

    text: str
    allows: Callable[[AnyLayout], bool]


DeclarationReader = Callable[[Contents, str], Declaration | None]
"""Finds the declaration of a tensor in the contents of its file, by its name; None without one."""

LONGEST = 1 << 16
"""Bytes of a description of ComfyUI that are read."""


def _of_comfy(contents: Contents, name: str) -> Declaration | None:
    stored = contents.tensors.get(COMFY.of(name))
    if stored is None or stored.dtype != COMFY.dtype:
        return None
    about = _json(COMFY.of(name), bytes(stored.data[:LONGEST]).decode("utf-8", "replace"))
    format = str(about.get("format"))
    return Declaration(text=f"{COMFY.name} says {excerpt(format)}", allows=lambda layout: _is_of_comfy(layout, format))


def _is_of_comfy(layout: AnyLayout, format: str) -> bool:
    """Is this the layout of a format of ComfyUI, such as ``nvfp4`` or ``float8_e4m3fn``?"""
    if isinstance(layout, ScaledLayout):
        return layout.dialect == "comfy" and format.startswith(f"float8_{layout.element.name}")
    return layout.dialect == "comfy" and bool(format) and layout.block.startswith(format)


def _of_torchao(contents: Contents, name: str) -> Declaration | None:
    """The metadata of torchao: the class of each tensor, and the fields of its instance."""
    if "tensor_names" not in contents.metadata or name not in contents.metadata:
        return None
    about = _json(name, contents.metadata[name])
    kind, data = str(about.get("_type")), about.get("_data")
    if not isinstance(data, dict):
        raise ValueError(f"the metadata {excerpt(name)} lack the fields of a torchao tensor: {excerpt(data)}")
    is_swizzled, element = data.get("is_swizzled_scales") is True, str(data.get("elem_dtype"))
    dialect = "torchao_swizzled" if is_swizzled else "torchao"

    def allows(layout: AnyLayout) -> bool:
        if isinstance(layout, ScaledLayout) or kind == "Float8Tensor":
            return isinstance(layout, ScaledLayout) and (kind, layout.dialect) == ("Float8Tensor", "torchao")
        own = layout.block == "nvfp4" if kind == "NVFP4Tensor" else layout.block_format.element.name in element
        return layout.dialect == dialect and own

    swizzled = "" if kind == "Float8Tensor" else f" with is_swizzled_scales {str(is_swizzled).lower()}"
    return Declaration(text=f"the metadata have the _type {excerpt(kind)}{swizzled}", allows=allows)


def _of_ours(contents: Contents, name: str) -> Declaration | None:
    """The metadata of mxcast, which name the tensors of each layout."""
    if (said := declared_layouts(contents.metadata).get(name)) is None:
        return None
    return Declaration(
        text=f"the metadata of mxcast say {said.full_name}",
        allows=lambda layout: layout.name == said.name and said.full_name in (said.name, layout.full_name),
    )


def _json(name: str, text: str) -> dict[str, object]:
    """The object in a text of JSON. Raises ValueError for other texts."""
    try:
        about = parsed_json(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{excerpt(name)} should be JSON: {error}") from None
    if not isinstance(about, dict):
        raise ValueError(f"{excerpt(name)} should be an object of JSON, not {excerpt(about)}")
    return about


def configuration(path: Path) -> Groups | None:
    """The groups in the configuration of a model in a folder, or next to a file; None for a quantization that is not
    known here. Raises ValueError for a damaged configuration of a model; one next to a file is ignored
    (`damage_beside`).
    """
    try:
        return groups_in(path if path.is_dir() else path.parent)
    except UnknownQuantization:
        return None
    except ValueError:
        if path.is_dir():
            raise
        return None


def damage_beside(path: Path) -> str:
    """The sentence about a damaged configuration next to a file; empty for any other, and for a folder."""
    try:
        None if path.is_dir() else groups_in(path.parent)
    except UnknownQuantization:
        return ""
    except ValueError as error:
        return str(error)
    return ""


def configuration_reader(groups: Groups | None) -> DeclarationReader:
    """The reader of declarations in the configuration next to a file."""

    def declaration(contents: Contents, name: str) -> Declaration | None:
        if groups is None or not groups.groups:
            return None
        group = groups.of(name)
        return Declaration(
            text=f"the configuration next to the file says {groups.in_words(name)}",
            allows=lambda layout: group is not None and group.has(layout),
        )

    return declaration


DECLARATIONS: tuple[DeclarationReader, ...] = (_of_comfy, _of_torchao, _of_ours)
"""Readers of the declarations inside a file."""
