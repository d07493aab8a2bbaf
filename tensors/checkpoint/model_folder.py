"""A folder with a model: shards of tensors, and the index of the tensors of each shard."""

from __future__ import annotations

from pathlib import Path

from ...host.files import UNFINISHED, parsed_json
from ...spec.catalogue import excerpt
from ..containers.containers import read
from ..containers.contents import Contents
from ..layouts.library_metadata import merged
from ..layouts.own_metadata import KEY

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"


class Checkpoint:
    """A folder with a model: its shards, and the tensors of all shards as ``contents``.

    The shards are in the index. Without one they are `model.safetensors`, or all `.safetensors` files.
    """

    def __init__(self, folder: Path) -> None:
        """Raises ValueError for a folder without a model, for an index that contradicts the shards, and for tensors of
        the same name.
        """
        self.folder, self.has_index = folder, (folder / INDEX).exists()
        self.arrays: dict[str, list[str]] = {}
        """Tensor names by shard."""
        for name, shard in (_index(folder / INDEX) if self.has_index else {}).items():
            self.arrays.setdefault(shard, []).append(name)
        self.shards = {shard: read(folder / shard) for shard in sorted(self.arrays or _without_index(folder))}
        found: dict[str, str] = {}
        for shard, contents in self.shards.items():
            names = self.arrays.setdefault(shard, list(contents.tensors))
            if other := set(names) ^ set(contents.tensors):
                raise ValueError(f"{folder / INDEX} and {shard} do not agree on the tensor {excerpt(min(other))}")
            if both := found.keys() & contents.tensors.keys():
                name = min(both)
                raise ValueError(f"{found[name]} and {shard} of {folder} both have the tensor {excerpt(name)}")
            found |= dict.fromkeys(contents.tensors, shard)
        tensors = {name: one for contents in self.shards.values() for name, one in contents.tensors.items()}
        self.contents = Contents(tensors=tensors, metadata=merged(one.metadata for one in self.shards.values()))

    @property
    def is_ours(self) -> bool:
        """Is the model in the layout of mxcast?"""
        return any(KEY in contents.metadata for contents in self.shards.values())


def check_complete(folder: Path) -> None:
    """Raise ValueError for a folder that a conversion has begun and not ended."""
    if (folder / UNFINISHED).is_dir():
        raise ValueError(f"{folder} is not complete: give the command that makes it again")


def _without_index(folder: Path) -> list[str]:
    """The names of the shards of a folder without an index. Raises ValueError for a folder that lacks them, or
    is not complete.
    """
    check_complete(folder)
    found = [SINGLE] if (folder / SINGLE).exists() else [path.name for path in folder.glob("*.safetensors")]
    if not found:
        raise ValueError(f"{folder} has no {INDEX}, and no .safetensors files")
    return found


def left_out(folder: Path) -> list[str]:
    """The `.safetensors` files of a folder that are no shards of its model, as the index does not name them."""
    read_there = Checkpoint(folder).shards
    return [path.name for path in sorted(folder.glob("*.safetensors")) if path.name not in read_there]


def shards_beside(path: Path) -> dict[str, str]:
    """The shard of each tensor, by the index in the folder of a shard; empty for a file outside an index, and for a
    damaged index.
    """
    try:
        shards = _index(path.parent / INDEX)
    except (ValueError, OSError):
        return {}
    return shards if path.name in shards.values() else {}


def _index(path: Path) -> dict[str, str]:
    try:
        index = parsed_json(path.read_text())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    found = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(found, dict) or not found:
        raise ValueError(f"{path} has no weight_map")
    for name, shard in found.items():
        if not isinstance(shard, str) or not _is_name(shard) or not shard.endswith(".safetensors"):
            raise ValueError(f"{path} has {excerpt(shard)} for the shard of {excerpt(name)}")
    return found


MOST_NAME = 255
"""Bytes of the name of a file."""


def _is_name(text: str) -> bool:
    """Is this the name of a possible file in a folder?"""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return False
    return Path(text).name == text and "\0" not in text and size <= MOST_NAME
