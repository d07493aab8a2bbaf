"""Layouts of the arrays of a file, by their names, dtypes and shapes, and by declarations of libraries.

Nothing is guessed: if several layouts fit that read the bytes differently, all of them are the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...models.arrays.layout_parts import stored_shapes
from ...models.arrays.source import code_dtype
from ...spec import Encode, Nvfp4Encode
from ...spec.layouts.catalogue import Layout, OwnLayout, Packing, Part, ScaleOrder
from ...spec.layouts.scaled import AnyLayout, ScaledLayout, Tile, layouts_of
from ..checkpoint.model_folder import Checkpoint, check_complete, shards_beside
from ..containers.contents import Contents, Stored
from ..containers.native_types import is_native, native_layouts
from ..unrecognised.fitting import fitting
from ..unrecognised.incomplete_tensors import incompleteness
from ..unrecognised.named_arrays import NamedArrays
from .declarations import DECLARATIONS, DeclarationReader, configuration, configuration_reader
from .library_metadata import declared_layouts, merged
from .own_metadata import KEY, about, has_tensor_scale, part_names, stored_parts
from .readings import Reading, Recognised
from .stored_tensors import LaidTensor
from .tensor_scales import with_stored_scale

OWN = "mxcast"
"""The dialect of what `quantize_file` writes."""
BYTES = ("U8", "I8", "F8_E4M3", "F8_E8M0")
"""Dtypes of scales of one byte; files confuse them."""


def recognised(
    path: Path, contents: Contents, stored_as: str | None = None, named: NamedArrays | None = None
) -> list[Recognised]:
    """The quantized tensors of an open file, in file order.

    Parameters
    ----------
    path : the path of the file
    contents : its contents by `containers.read`
    stored_as : a dialect, or one of its layouts as ``quark:mxfp6_e2m3``; by default all
    named : arrays that the user names

    Raises ValueError for an unknown layout, for a layout that no tensor has, and for damaged metadata.
    """
    if KEY in contents.metadata:
        if stored_as is not None:
            raise ValueError(f"{path} was written by mxcast quantize: it says itself how it is stored")
        return list(_own(path, contents))
    if named is not None:
        return _with_named(path, contents, stored_as, named)
    if is_native(path):
        return list(_native(path, contents, stored_as))
    layouts = layouts_of(stored_as)
    apart, joined = ([one for one in layouts if (one.scales is None) is alone] for alone in (False, True))
    said = declared_layouts(contents.metadata)
    found: dict[str, Recognised] = {}
    groups = configuration(path)
    declarations, tiles = [*DECLARATIONS, configuration_reader(groups)], groups.tiles if groups else ()
    passes: tuple[tuple[list[AnyLayout], tuple[str, ...]], ...] = (apart, ()), (apart, BYTES), (joined, ())
    for candidates, dtypes in passes:
        taken = {array for tensor in found.values() for array in tensor.arrays}
        for array, stored in contents.tensors.items():
            is_guess = candidates is joined and stored_as is None and array not in said
            if array in taken or (is_guess and len(stored.shape) < 2):
                continue
            try:
                tensor = _fitting(contents, array, candidates, dtypes, declarations, tiles)
            except ValueError as error:  # a damaged declaration
                raise ValueError(f"{path}: {error}") from None
            if tensor:
                found[array] = replace(tensor, may_be_plain=is_guess)
    if stored_as is not None and not found:
        why = next((f": {sentence}" for _, sentence in incomplete_arrays(path, contents, (), stored_as)), "")
        raise ValueError(f"{path} has no tensors in the layout {stored_as}{why}")
    order = {array: place for place, array in enumerate(contents.tensors)}
    return [found[array] for array in sorted(found, key=order.__getitem__)]


def _with_named(path: Path, contents: Contents, stored_as: str | None, named: NamedArrays) -> list[Recognised]:
    """The tensors that the user names, and the others."""
    try:
        relabelled, layouts = named.applied(contents)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    tensors, evidence = relabelled.tensors, ("the arrays that the command names",)
    found = [
        Recognised(
            name=name,
            readings=(Reading(layouts=(layout,), evidence=evidence),),
            arrays={part: tensors[part] for part in layout.names(name)},
        )
        for name, layout in layouts.items()
    ]
    taken = {array for tensor in found for array in tensor.arrays}
    rest = replace(contents, tensors={name: one for name, one in contents.tensors.items() if name not in taken})
    return [*found, *(recognised(path, rest, stored_as) if rest.tensors else ())]


def recognised_in(
    folder: Path, stored_as: str | None = None, named: NamedArrays | None = None
) -> tuple[Contents, list[Recognised]]:
    """The contents of all files in a folder as one, and the quantized tensors. Codes and scales may be in different
    files. Raises the errors of `recognised` and `Checkpoint`, and for a folder that is not complete.
    """
    check_complete(folder)
    files = Checkpoint(folder).shards
    found = [
        tensor
        for name, contents in files.items()
        if KEY in contents.metadata
        for tensor in recognised(folder / name, contents, stored_as)
    ]
    others = [contents for contents in files.values() if KEY not in contents.metadata]
    rest = Contents(
        tensors={name: stored for one in others for name, stored in one.tensors.items()},
        metadata=merged(one.metadata for one in others),
    )
    if rest.tensors:
        found += recognised(folder, rest, stored_as, named)
    every = {name: stored for one in files.values() for name, stored in one.tensors.items()}
    return Contents(tensors=every, metadata=rest.metadata), found


def _own(path: Path, contents: Contents) -> Iterator[Recognised]:
    """The tensors of a file of `quantize_file`."""
    numerics, shapes = about(path, contents)
    for name in shapes:
        stored_parts(path, contents, numerics, shapes, name)  # which refuses what does not fit
        names = part_names(name, path, numerics, len(shapes))
        layout = _own_layout(names, numerics)
        yield Recognised(
            name=name,
            readings=(Reading(layouts=(layout,), evidence=(f"the metadata {KEY!r}",)),),
            arrays={part: contents.tensors[part] for part in names},
        )


def incomplete_arrays(
    path: Path, contents: Contents, found: Sequence[Recognised], stored_as: str | None
) -> Iterator[tuple[str, str]]:
    """The arrays that have the name of codes and belong to no tensor that was found, each with a sentence. Scales of a
    shard may be in another shard.
    """
    if KEY in contents.metadata or is_native(path):
        return
    elsewhere = shards_beside(path).keys() - contents.tensors.keys()
    taken = {array for tensor in found for array in tensor.arrays}
    layouts = layouts_of(stored_as)
    for array in contents.tensors:
        if array not in taken and (sentence := incompleteness(contents.tensors, array, layouts, elsewhere)):
            yield array, sentence


def _native(path: Path, contents: Contents, stored_as: str | None) -> Iterator[Recognised]:
    """The tensors of a container with types for their codes, each with the arrays of its layout. Raises ValueError for
    arrays that do not fit together.
    """
    dialect = None if stored_as is None else stored_as.partition(":")[0]
    layouts, tensors = native_layouts(path.suffix, dialect, None), contents.tensors
    for array, stored in tensors.items():
        layout = layouts.get(stored.dtype)
        name = None if layout is None else layout.codes.tensor_of(array)
        if layout is None or name is None:
            continue
        scales = layout.scales and tensors.get(layout.scales.of(name))
        if layout.scales is not None and (scales is None or scales.dtype != layout.scales.dtype):
            continue
        try:
            layout = with_stored_scale(layout, name, tensors)
            LaidTensor(path, contents, layout, name, True)
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {path}: {error}") from None
        shape = stored_shapes(layout, stored.shape)[layout.codes]
        arrays = {part.of(name): tensors[part.of(name)] for part in layout.parts if part.of(name) in tensors}
        yield Recognised(
            name=name,
            readings=(Reading(layouts=(layout,), evidence=(f"the type {stored.dtype} of a {path.suffix} file",)),),
            arrays=arrays | {array: replace(stored, dtype=layout.codes.dtype, shape=shape)},
        )


def _own_layout(names: Sequence[str], numerics: Encode | Nvfp4Encode) -> Layout:
    codes, scales, *others = (name.replace("{", "{{").replace("}", "}}") for name in names)
    is_wide = code_dtype(numerics.block.element).itemsize > 1
    return OwnLayout(
        dialect=OWN,
        block=numerics.block.name,
        own=numerics.block,
        source="mxcast quantize",
        codes=Part(name=codes, dtype="U16" if is_wide else "U8"),
        scales=Part(name=scales, dtype="U8"),
        tensor_scale=Part(name=others[0], dtype="F32") if has_tensor_scale(numerics) else None,
        convention=numerics.block.convention,
        packing=Packing.BYTES,
    )


def _fitting(
    contents: Contents,
    array: str,
    layouts: Sequence[AnyLayout],
    other_dtypes: Collection[str],
    declarations: Sequence[DeclarationReader],
    tiles: tuple[Tile, ...],
) -> Recognised | None:
    """The tensor whose codes are in an array, in these layouts. ``other_dtypes`` of its scales are accepted too."""
    tensors = contents.tensors
    by_name = fitting(tensors, array, layouts, other_dtypes, tiles)
    if not by_name:
        return None
    said = declared_layouts(contents.metadata)
    if len(by_name) > 1 and by_name.keys() & said:
        by_name = {tensor: fits for tensor, fits in by_name.items() if tensor in said}
    if len(by_name) > 1:
        raise ValueError(f"the array {array!r} may be of the tensor {' or '.join(map(repr, by_name))}: name the layout")
    ((name, fits),) = by_name.items()
    kept, evidence, contradiction = _declared(contents, name, fits, declarations)
    try:
        kept = [with_stored_scale(one, name, tensors) if isinstance(one, Layout) else one for one in kept]
    except ValueError as error:
        contradiction = str(error)
    groups: dict[tuple, list[AnyLayout]] = {}
    for layout in kept:
        groups.setdefault(layout.reading, []).append(layout)
    for part in kept[0].parts:
        there = tensors.get(part.of(name))
        if there is not None and there.dtype != part.dtype:
            contradiction = f"{part.of(name)!r} is {there.dtype}, and the layout {kept[0].name} has {part.dtype} there"
    return Recognised(
        name=name,
        readings=tuple(
            Reading(layouts=tuple(group), evidence=(*evidence, *_evidence(group[0], name, tensors)))
            for group in groups.values()
        ),
        arrays={part: tensors[part] for layout in kept for part in layout.names(name) if part in tensors},
        contradiction=contradiction,
    )


def _evidence(layout: AnyLayout, name: str, tensors: Mapping[str, Stored]) -> tuple[str, ...]:
    """The evidence for a layout that fits, without the name of the tensor."""
    there = [part for part in layout.parts if part.of(name) in tensors]
    said = [
        f"arrays {', '.join(part.name for part in there)}",
        f"dtypes {', '.join(tensors[part.of(name)].dtype for part in there)}",
    ]
    if isinstance(layout, ScaledLayout):
        said.append(f"shape: a scale for a {layout.tile_in_words}")
    elif layout.scales is None:
        unit = layout.together * (1 + layout.block_bytes)
        said.append(f"shape: rows of a multiple of {unit} bytes")
    else:
        tiled = ", rows and columns completed to tiles" if layout.order is not ScaleOrder.LINEAR else ""
        said.append(f"shape: a scale for {layout.width} elements{tiled}")
    return tuple(said)


def _declared(
    contents: Contents, name: str, fits: list[AnyLayout], declarations: Sequence[DeclarationReader]
) -> tuple[list[AnyLayout], list[str], str]:
    """The layouts that agree with the declarations, the declarations in words, and a contradiction to the shapes."""
    kept, evidence, contradiction = fits, [], ""
    for read in declarations:
        if (declaration := read(contents, name)) is None:
            continue
        if allowed := [layout for layout in kept if declaration.allows(layout)]:
            kept = allowed
            evidence.append(declaration.text)
        else:
            contradiction = f"{declaration.text}, and names and shapes fit {' or '.join(one.name for one in kept)}"
    return kept, evidence, contradiction
