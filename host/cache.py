"""Results cached by content, in one folder for the whole package. A damaged result counts as missing and is computed
again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from platformdirs import user_cache_path

from .errors import ToolError
from .files import PLAIN, locked, regular, sha256, temporary_folder, write_whole
from .signals import uninterrupted

VARIABLE = "MXCAST_CACHE"
"""The environment variable that names the folder."""

MARKER = "complete.json"
"""The file that is written last into a folder of results, with the digests of the others."""

RESULT = "result.json"


class CacheError(OSError):
    """The cache folder cannot be used. The message names it and the variable."""


def cache_folder(kind: str = "") -> Path:
    """The cache folder, or its folder for results of this ``kind``. It exists and is writable.

    The cache is the folder that `VARIABLE` names, or else ``mxcast`` in the user's cache folder or, if that is not
    writable, a private folder among the temporary files. Raises `CacheError` if no folder can be used.
    """
    cache = _cache_root()
    return _subfolder(cache, kind) if kind else cache


def _subfolder(cache: Path, kind: str) -> Path:
    """A folder in the cache, created if it is missing."""
    if problem := _problem(cache / kind):
        raise CacheError(
            f"the folder {cache / kind} of the cache cannot be used: {problem} ({VARIABLE} names another cache)"
        )
    return cache / kind


def _cache_root() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        try:
            folder = Path(named).absolute()
        except OSError as error:  # the working folder is gone
            raise CacheError(
                f"the cache folder {named}, which {VARIABLE} names, cannot be used: {error.strerror}"
            ) from None
        if problem := _problem(folder):
            raise CacheError(f"the cache folder {folder}, which {VARIABLE} names, cannot be used: {problem}")
        return folder
    folder = user_cache_path("mxcast")
    if folder.is_absolute() and not _problem(folder):
        return folder
    return _private_folder()


def _private_folder() -> Path:
    """The folder of this user among the temporary files of all users."""
    folder = Path(tempfile.gettempdir()) / f"mxcast-{os.getuid()}"
    if problem := _problem(folder, 0o700) or _not_private(folder):
        raise CacheError(f"the cache folder {folder} cannot be used: {problem} ({VARIABLE} names another one)")
    return folder


def _problem(folder: Path, mode: int = 0o777) -> str | None:
    """Why a folder cannot be used, or None. The folder is created if it is missing."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except FileExistsError:
        return "it is not a folder"
    except OSError as error:
        return error.strerror
    return None if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else "it is not writable"


def _not_private(folder: Path) -> str | None:
    """Why a folder among the temporary files of all users cannot be trusted, or None."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        return "another user could write there"
    return None


@contextlib.contextmanager
def scratch(plain: bool = False) -> Iterator[Path]:
    """An empty folder for the files of one run of a tool, removed when the block ends. With ``plain`` its name has
    no character that is special to tools.
    """
    cache = cache_folder()
    if plain and not PLAIN.fullmatch(str(cache)):
        cache = _private_folder()
        if not PLAIN.fullmatch(str(cache)):
            raise CacheError(
                f"the folders for temporary files, {cache_folder()} and {cache}, must have names of letters, digits "
                f"and ./+-_ for this tool ({VARIABLE} and TMPDIR name others)"
            )
    with temporary_folder(_subfolder(cache, "scratch")) as folder:
        yield folder


_refreshed: ContextVar[set[Path] | None] = ContextVar("refreshed", default=None)


@contextlib.contextmanager
def refreshed(wanted: bool = True) -> Iterator[None]:
    """In this block every cached result is computed again, once. Without ``wanted`` nothing changes."""
    token = _refreshed.set(set() if wanted else _refreshed.get())
    try:
        yield
    finally:
        _refreshed.reset(token)


def kept_folder(
    kind: str, key: Iterable[str | bytes], make: Callable[[Path], object], *, renewable: bool = True
) -> Path:
    """The folder of results for ``key``. If it is missing or damaged, ``make`` fills it, under a temporary name.

    If two processes fill the same folder at once, both succeed, and one result is kept. The folder is read-only
    afterwards. A folder that is not ``renewable`` holds parts that a tool compiled of itself: `refreshed` leaves it,
    and a process waits while another one fills it.
    """
    folder = cache_folder(kind) / sha256(*key)[:32]
    if not renewable:
        if not _is_whole(folder):
            with locked(folder.parent / "lock"):
                if not _is_whole(folder):
                    _make(folder, make)
        return folder
    renewed = _refreshed.get()
    if (renewed is None or folder in renewed) and _is_whole(folder):
        return folder
    _make(folder, make)
    if renewed is not None:
        renewed.add(folder)
    return folder


def _make(folder: Path, make: Callable[[Path], object]) -> None:
    with temporary_folder(folder.parent) as temporary:
        with _full_disk_named(folder):
            make(temporary)
            (temporary / MARKER).write_text(json.dumps(_digests(temporary)))
        # uninterrupted: between the two renames the result is missing
        with temporary_folder(folder.parent) as old, uninterrupted():
            with contextlib.suppress(FileNotFoundError):
                folder.rename(old / "old")
            try:
                temporary.rename(folder)
            except OSError:
                if not _is_whole(folder):  # otherwise another process was first
                    raise


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a full disk or quota."""


@contextlib.contextmanager
def _full_disk_named(folder: Path) -> Iterator[None]:
    """Name the folder in errors of a full disk."""
    try:
        yield
    except (OSError, ToolError) as error:
        number = getattr(error, "errno", None)
        if number not in FULL and not shutil.disk_usage(folder.parent).free:
            number = errno.ENOSPC
        if number in FULL:
            raise OSError(number, os.strerror(number), str(folder)) from None
        raise


def kept_result(kind: str, key: Iterable[str | bytes], compute: Callable[[Path], object]) -> object:
    """The result of ``compute`` for ``key``, as read from JSON. ``compute`` receives an empty folder, which is kept
    with its files.
    """

    def make(folder: Path) -> None:
        (folder / RESULT).write_text(json.dumps(compute(folder), indent=1))

    return json.loads((kept_folder(kind, key, make) / RESULT).read_text())


def _digests(folder: Path) -> dict[str, str]:
    def digest(path: Path) -> str:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return {
        str(path.relative_to(folder)): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / MARKER
    }


_whole: dict[Path, list[tuple]] = {}
"""Complete folders, and the versions of their files when this process checked them."""


def _is_whole(folder: Path) -> bool:
    """Whether the folder has all its files. An unchanged file is read once."""
    try:
        present = [_version(path) for path in sorted(folder.rglob("*"))]
        if _whole.get(folder) != present or not present:
            if json.loads(regular(folder / MARKER).read_text()) != _digests(folder):
                return False
            _whole[folder] = present
        return True
    except (OSError, ValueError, RecursionError):
        return False


def _version(path: Path) -> tuple[Path, int, int, int, int]:
    """A version of a file, which changes when the file is written."""
    found = path.stat()
    return path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def keep_json(kind: str, name: str, content: object) -> Path:
    """Store a JSON document in place of the one with the same ``name``."""
    text, path = json.dumps(content), cache_folder(kind) / f"{name}.json"
    if os.path.lexists(path) and not path.is_file():  # also a broken link
        with temporary_folder(path.parent) as old:
            path.rename(old / "old")
    return write_whole(path, json.dumps({"sha256": sha256(text), "content": json.loads(text)}, indent=1) + "\n")


def kept_json(kind: str, name: str) -> object | None:
    """The document that `keep_json` stored last, or None if it is missing or damaged."""
    try:
        document = json.loads(regular(cache_folder(kind) / f"{name}.json").read_text())
        content = document["content"]
        return content if document["sha256"] == sha256(json.dumps(content)) else None
    except CacheError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


@lru_cache
def sources(*packages: str) -> str:
    """SHA-256 of the code in these folders of the package, a part of the key of results that depend on it."""
    parts: list[str | bytes] = []
    for package in packages:
        folder = Path(str(files(f"mxcast.{package}")))
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".cpp", ".h", ".v"):
                parts += [f"{package}/{file.relative_to(folder)}", file.read_bytes()]
    return sha256(*parts)
