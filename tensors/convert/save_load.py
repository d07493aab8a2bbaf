"""One quantized array in a file of its own, in the layout of `quantize_file`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...models import Quantized
from ...models.arrays.block_codes import check_codes
from ...spec import Encode, Nvfp4Encode, profile_of
from ...spec.catalogue import excerpt
from ..containers.block_address import few
from ..containers.containers import read, written
from ..containers.contents import DTYPES, Contents
from ..layouts.own_metadata import about, code_name, described, layout_of, part_names, stored_parts

SUFFIXES = (".safetensors", ".npz")


def save(q: Quantized, path: Path | str, /, *, name: str = "tensor") -> Path:
    """Write codes, scales and rules of a quantized array to a `.safetensors` or `.npz` file, whole or not at all.

    Parameters
    ----------
    q : a result of `quantize`, with blocks along the last axis
    path : the file, which replaces an older one
    name : name of the tensor in a `.safetensors` file; a `.npz` file has ``codes``, ``scales`` and ``tensor_scale``

    Returns
    -------
    Path
        the file; `load`, ``mxcast dequantize`` and the library safetensors read it

    Raises
    ------
    TypeError
        unless ``q`` is a `Quantized` array and ``name`` a text
    ValueError
        for another suffix, blocks along another axis, and codes and scales that do not fit together
    OSError
        if the file cannot be written or read

    >>> import mxcast
    >>> q = mxcast.quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> mxcast.save(q, "weight.safetensors", name="weight").name
    'weight.safetensors'
    """
    if not isinstance(q, Quantized):
        raise TypeError(f"save takes what quantize returns, not {excerpt(q)}")
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, not {excerpt(name)}")
    path = _checked(path)
    check_codes(q)
    if q.axis % q.codes.ndim != q.codes.ndim - 1:
        raise ValueError(
            f"save takes blocks along the last axis, not along axis {q.axis}: quantize np.moveaxis(x, axis, -1)"
        )
    if len(q.block.shape) > 1 or (q.tensor_scale is not None and q.tensor_scale.size > 1):
        raise ValueError("save takes blocks along one axis and one scale of the tensor")
    parts = (code_name(q.numerics), q.codes), ("U8", q.scales), ("F32", np.asarray(q.tensor_scale))
    arrays = dict(zip(part_names(name, path, q.numerics, 1), parts))
    tensors = {name: (q.numerics.source.name.upper().replace("FP", "F"), q.shape)}
    metadata = described(q.numerics, profile_of(q.numerics), tensors)
    layout = layout_of({part: (dtype, array.shape) for part, (dtype, array) in arrays.items()}, {})
    with written(path, layout, metadata) as write:
        for part, (dtype, array) in arrays.items():
            write(part, 0, array.astype(DTYPES[dtype]))
    return path


def load(path: Path | str, /, name: str | None = None) -> Quantized:
    """Read a quantized array from a file of `save`, `quantize_file` or ``mxcast quantize``.

    Parameters
    ----------
    path : the file
    name : the tensor, if the file has several

    Returns
    -------
    Quantized
        with writable arrays of its own

    Raises
    ------
    ValueError
        for a damaged file or another kind of file, and for an unknown name
    OSError
        if the file cannot be written or read

    >>> import mxcast
    >>> q = mxcast.quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> mxcast.load(mxcast.save(q, "weight.npz")) == q
    True
    """
    path = _checked(path)
    contents = read(path)
    numerics, shapes = about(path, contents)
    if name is None and len(shapes) > 1:
        raise ValueError(f"{path} has {len(shapes)} tensors, so load needs the name of one: {few(shapes)}")
    name = next(iter(shapes)) if name is None else name
    if name not in shapes:
        raise ValueError(f"{path} has no quantized tensor {excerpt(name)}: {few(shapes)}")
    return quantized(path, contents, numerics, shapes, name)


def quantized(
    path: Path, contents: Contents, numerics: Encode | Nvfp4Encode, shapes: Mapping[str, tuple[int, ...]], name: str
) -> Quantized:
    """A tensor of an open file, as `load` gives it. Raises its errors."""
    shape = shapes[name]
    *parts, tensor_scale = stored_parts(path, contents, numerics, shapes, name)
    codes, scales = (np.array(part.data).reshape(part.shape) for part in parts)
    q = Quantized(codes=codes, scales=scales, numerics=numerics, length=shape[-1], tensor_scale=tensor_scale)
    check_codes(q)
    return q


def _checked(path: Path | str) -> Path:
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path} must be a {' or '.join(SUFFIXES)} file")
    return path
