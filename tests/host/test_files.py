"""Files appear whole or not at all; temporary ones are removed, whoever left them."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mxcast.host import files, signals
from mxcast.host.files import PART, Waiting, claimed, locked, regular, replaced, temporary_folder, write_whole

from .interruption import interrupted_everywhere


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    write_whole(tmp_path / "a", "old")
    with pytest.raises(KeyboardInterrupt), replaced(tmp_path / "a") as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert (tmp_path / "a").read_text() == "old" and left(tmp_path) == ["a"]


def test_mode_and_link_of_the_old_file_stay(tmp_path):
    write_whole(tmp_path / "real", "old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "real").read_text() == "new" and (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "a", "")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["a" * 255, "\u00e4" * 127, "[a]*?", 'a"b$c d'])
def test_any_name_that_the_system_takes(tmp_path, name):
    for content in ("one", "two"):
        write_whole(tmp_path / name, content)
    assert (tmp_path / name).read_text() == "two" and left(tmp_path) == [name]


def test_a_signal_at_any_moment_leaves_nothing(tmp_path):
    def one_file() -> None:
        with replaced(tmp_path / "a") as file:
            file.write(b"new")

    def one_folder() -> None:
        with temporary_folder(tmp_path) as folder:
            (folder / "b").write_text("")

    write_whole(tmp_path / "a", "old")
    for body in (one_file, one_folder):
        for place in interrupted_everywhere(body, files, signals):
            assert left(tmp_path) == ["a"], place
            assert (tmp_path / "a").read_text() in ("old", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_signal_ends_what_takes_long_at_once(tmp_path):
    """An interruptible block does not wait for the end of the outer block."""
    with pytest.raises(signals.Interrupted), pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            signals,
            "_State",
            type("_State", (signals._State,), {"depth": 0, "number": None, "since": 0.0, "waits": False}),
        )
        with temporary_folder(tmp_path), replaced(tmp_path / "a"):
            signals._arrive(signal.SIGTERM, None)
            pytest.fail("the block went on")


def test_what_is_no_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(ValueError, match="not a regular file"):
            write_whole(path, "x")
        with pytest.raises(ValueError, match="not a regular file"):
            regular(path)
    with pytest.raises(FileNotFoundError):
        regular(tmp_path / "nothing")


def test_a_full_disk_names_the_file(tmp_path):
    """A limit on the size of files gives the error of a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(OSError) as error:
            write_whole(tmp_path / "a", "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert error.value.filename == str(tmp_path / "a") and left(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from mxcast.host.files import replaced, temporary_folder
folder = Path(sys.argv[1])
with replaced(folder / "a") as file, temporary_folder(folder) as inner:
    file.write(b"half")
    file.flush()
    (inner / "b").write_text("half")
    print(len(list(folder.iterdir())), flush=True)
    {then}
"""


def one_file(folder: Path) -> None:
    write_whole(folder / "b", "")


def one_folder(folder: Path) -> None:
    with temporary_folder(folder):
        pass


@pytest.mark.parametrize("later", [one_file, one_folder])
def test_what_a_killed_process_left_is_removed_by_a_later_one(later, tmp_path):
    """Any text in the file is refused."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(then="os.kill(os.getpid(), signal.SIGKILL)"), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2\n" and done.returncode == -signal.SIGKILL and len(left(tmp_path)) == 2
    later(tmp_path)
    assert set(left(tmp_path)) <= {"b"}


def test_what_a_process_works_on_is_not_removed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED.format(then="sys.stdin.read()"), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "2\n"
        write_whole(tmp_path / "a", "ours")
        with temporary_folder(tmp_path):
            assert len([name for name in left(tmp_path) if name.endswith(PART)]) == 3
        other.communicate("")
    assert other.returncode == 0 and (tmp_path / "a").read_text() == "half" and left(tmp_path) == ["a"]


def test_many_threads_write_one_file(tmp_path):
    threads = [
        threading.Thread(target=lambda text=str(number) * 1000: [write_whole(tmp_path / "a", text) for _ in range(50)])
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (tmp_path / "a").read_text()
    assert len(text) == 1000 and len(set(text)) == 1 and left(tmp_path) == ["a"]


def test_a_pipe_that_looks_abandoned_does_no_harm(tmp_path):
    os.mkfifo(tmp_path / f".x.{PART}")
    write_whole(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_pipe_in_place_of_a_lock_does_no_harm(tmp_path):
    os.mkfifo(tmp_path / "lock")
    with locked(tmp_path / "lock"), open(os.open(tmp_path / "lock", os.O_RDWR | os.O_NONBLOCK), "rb") as second:
        with pytest.raises(BlockingIOError):
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("kind", ["folder", "link that leads nowhere", "link to itself"])
def test_what_stands_in_place_of_a_lock_is_moved_aside(tmp_path, kind):
    path = tmp_path / "lock"
    if kind == "folder":
        (path / "inner").mkdir(parents=True)
    else:
        path.symlink_to(path if kind == "link to itself" else tmp_path / "no" / "file")
    with locked(path):
        assert path.is_file() and not path.is_symlink()
    assert [file.name for file in tmp_path.iterdir()] == ["lock"]


def test_a_lock_is_for_one_at_a_time(tmp_path):
    inside, most = 0, 0

    def work():
        nonlocal inside, most
        for _ in range(20):
            with locked(tmp_path / "lock"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_claimed_folder_is_for_one_at_a_time(tmp_path):
    folder, order = tmp_path / "a" / "b", []

    def work():
        with claimed(folder):
            order.append("other")

    with pytest.warns(Waiting, match=f"another command works in {folder}: waiting until it has ended"):
        with claimed(folder), claimed(tmp_path / "a"):
            thread = threading.Thread(target=work)
            thread.start()
            time.sleep(0.2)
            order.append("one")
        thread.join()
    assert order == ["one", "other"] and left(folder) == []


def test_a_folder_that_another_process_takes_for_abandoned(tmp_path, monkeypatch):
    """If another process removes the file before it is locked, a second one is made."""
    make, made = Path.mkdir, []

    def mkdir(path: Path, *arguments: object, **options: object) -> None:
        make(path, *arguments, **options)
        if path.name.endswith(PART):
            made.append(path)
            if len(made) == 1:
                path.rmdir()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with temporary_folder(tmp_path) as folder:
        assert folder == made[1] and folder.is_dir()
    assert list(tmp_path.iterdir()) == []
