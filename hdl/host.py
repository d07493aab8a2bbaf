"""The machine around the package: files that appear whole or not at all, a cache by content, and missing tools."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

__all__ = ["ToolError", "write_whole", "sha256", "cache_folder", "cached_folder", "sources"]


STALE = 24 * 3600
"""Seconds after which a temporary folder of the cache is nobody's any more."""


class ToolError(RuntimeError):
    """A tool is missing, too old or has failed. The message is one sentence that says what to do; ``log`` is what the tool said."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file under a temporary name, then rename it: readers see the old content or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256(*parts: str | bytes) -> str:
    """Hex digest over the parts and their lengths."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@lru_cache
def sources(*rooms: str) -> str:
    """SHA-256 of the code in these folders of the package: what results that are kept by content depend on."""
    parts = []
    for room in rooms:
        for file in sorted(files(f"mxcast.{room}").iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".cpp", ".v")):
                parts += [f"{room}/{file.name}", file.read_bytes()]
    return sha256(*parts)


def cache_folder() -> Path:
    """Where results are kept by content: ``MXCAST_CACHE``, or ``mxcast`` in the user's cache folder."""
    if folder := os.environ.get("MXCAST_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mxcast"


def cached_folder(kind: str, key: Iterable[str | bytes], make: Callable[[Path], None], force: bool = False) -> Path:
    """The folder of results for ``key``; ``make`` fills it in a temporary place if it does not exist yet.

    Two processes that make the same folder at once both succeed; one result is kept.
    """
    folder = cache_folder() / kind / sha256(*key)[:32]
    if folder.is_dir() and not force:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(".making-*"):  # by a process that was killed
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    try:
        make(temporary)
        if force and folder.is_dir():
            shutil.rmtree(folder)
        try:
            os.rename(temporary, folder)
        except OSError:
            if not folder.is_dir():  # not because another process was first
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder
