"""Which tensors of a file are converted, and which kinds of files become each other."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from ...spec.catalogue import cut, excerpt
from ...spec.layouts.catalogue import Layout
from ..containers.contents import CONVERTED, NAMES, Contents, Stored

SOURCES = (".npy", ".npz", ".safetensors")
"""Files of numbers that are quantized."""
OWN_CONTAINERS = (".safetensors", ".npz")
"""Files of codes and scales in the layout of mxcast."""
CONTAINERS = (".safetensors", ".gguf", ".onnx")
"""Files that hold layouts of libraries, and become each other."""


def check_ends(source: Path, target: Path, possible: dict[str, tuple[str, ...]]) -> None:
    """Raise ValueError unless a file of one kind may become a file of the other kind, and both differ."""
    if source.suffix not in possible:
        raise ValueError(f"{source} must be a {_one_of(possible)} file")
    if target.suffix not in possible[source.suffix]:
        raise ValueError(f"what {source} becomes is a {_one_of(possible[source.suffix])} file, not {target}")
    if source.exists() and target.exists() and source.samefile(target):
        raise ValueError(f"{source} and {target} are the same file")


def _one_of(suffixes: Iterable[str]) -> str:
    *most, last = suffixes
    return f"{', '.join(most)} or {last}" if most else last


def check_blocks_of_rows(layout: Layout) -> None:
    """Raise ValueError for a layout whose blocks do not lie along rows, as files are quantized."""
    if layout.axis != -1:
        raise ValueError(
            f"quantize makes blocks along the last axis, and the layout {layout.name} has them along axis "
            f"{layout.axis}: mxcast.pack(mxcast.quantize(x, {layout.block!r}, axis={layout.axis}), "
            f"{layout.dialect!r}) makes its arrays in Python"
        )


def check_types(source: Path, target: Path, copied: Mapping[str, Stored]) -> None:
    """Raise ValueError for a copied tensor of a type that NumPy or `.safetensors` does not have."""
    foreign = next((name for name, stored in copied.items() if stored.dtype not in NAMES.values()), None)
    if foreign is not None and ".npz" in (source.suffix, target.suffix):
        raise ValueError(
            f"tensor {foreign!r} of {source} is {cut(copied[foreign].dtype)}, which a {target.suffix} file cannot hold"
        )


def asked_for(contents: Contents, include: Sequence[str], exclude: Sequence[str]) -> set[str]:
    """The names that the patterns choose. Raises ValueError for a pattern that no name matches."""
    for pattern in (*include, *exclude):
        if not any(fnmatchcase(name, pattern) for name in contents.tensors):
            raise ValueError(f"no tensor has a name that matches {excerpt(pattern)}")
    return {
        name
        for name in contents.tensors
        if (not include or any(fnmatchcase(name, pattern) for pattern in include))
        and not any(fnmatchcase(name, pattern) for pattern in exclude)
    }


def quantizable(
    path: Path, contents: Contents, size: int, pad: bool, asked_for: Container[str] | None = None
) -> dict[str, Stored]:
    """The floating-point tensors of a file, or those that are ``asked_for``.

    Raises ValueError for types that are not quantized, for rows that are not whole blocks of ``size`` without ``pad``,
    and if no tensor is left.
    """
    accepted = ", ".join(CONVERTED).replace(", BF16", " and BF16")
    of_names = {name: t for name, t in contents.tensors.items() if asked_for is None or name in asked_for}
    chosen = {name: t for name, t in of_names.items() if t.shape and t.dtype.startswith(("F", "BF"))}
    for name, stored in chosen.items():
        if stored.dtype not in CONVERTED:
            raise ValueError(f"tensor {name!r} is {stored.dtype}: mxcast converts {accepted}")
        if stored.data.size and stored.shape[-1] % size and not pad:
            raise ValueError(
                f"tensor {name!r} of shape {stored.shape} must have a last axis that is a multiple of "
                f"{size} long: --pad completes it with zeros"
            )
    if not contents.tensors:
        raise ValueError(f"{path} has no tensors")
    if not chosen:
        if not of_names:
            raise ValueError(f"the patterns of names leave no tensor of {path} to convert")
        there = sorted({t.dtype + ("" if t.shape else " scalars") for t in of_names.values()})
        raise ValueError(f"{path} has nothing to convert: mxcast converts {accepted}, not {', '.join(there)}")
    return chosen
