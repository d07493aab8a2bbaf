"""Files that the next command resumes: their complete parts, and when they start over."""

import errno
import os

import pytest

from mxcast.host import unfinished
from mxcast.host.unfinished import is_begun, resumable

BEGINNING, SIZE = b"head", 10


class Killed(BaseException):
    pass


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Every line is written at once."""
    monkeypatch.setattr(unfinished, "EVERY", 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "unfinished").mkdir()
    return tmp_path / "unfinished"


def begun(path, folder, part=b"abc"):
    """Leave an unfinished file with the complete part "first"."""
    with pytest.raises(Killed), resumable(path, folder, BEGINNING, SIZE) as (file, journal):
        assert journal.whole == {}
        file.seek(4)
        file.write(part)
        journal.finish(["first"], {"count": 3})
        file.write(b"x")
        raise Killed


def finished(path, folder, beginning=BEGINNING, size=SIZE):
    """Finish a file. Returns the parts that were complete before, and its bytes."""
    with resumable(path, folder, beginning, size) as (file, journal):
        if not journal.whole:
            file.seek(4)
            file.write(b"new")
        file.seek(7)
        file.write(b"end")
    return journal.whole, path.read_bytes()


def test_it_goes_on(path, folder):
    begun(path, folder)
    assert not path.exists() and is_begun(folder)
    assert finished(path, folder) == ({"first": {"count": 3}}, b"headabcend")


def test_what_has_its_name_is_not_made_again(path, folder):
    """A changed file is written again."""
    begun(path, folder)
    finished(path, folder)
    with resumable(path, folder, BEGINNING, SIZE) as (_, journal):
        assert journal.whole == {"first": {"count": 3}}
        assert not path.exists()
    assert path.read_bytes() == b"headabcend"
    path.write_bytes(b"head------")
    assert finished(path, folder) == ({}, b"headnewend")


def test_nothing_is_begun(path, folder):
    assert not is_begun(folder)
    with pytest.raises(Killed), resumable(path, folder, BEGINNING, SIZE):
        raise Killed
    assert not is_begun(folder)


@pytest.mark.parametrize("other", [{"beginning": b"tail"}, {"size": 11}])
def test_another_file(path, folder, other):
    begun(path, folder)
    whole, data = finished(path, folder, **other)
    assert not whole and data[4:10] == b"newend"


@pytest.mark.parametrize("length", [0, 9, 11])
def test_a_part_of_another_length(path, folder, length):
    begun(path, folder)
    os.truncate(folder / "file.part", length)
    assert finished(path, folder) == ({}, b"headnewend")


def test_a_part_is_missing(path, folder):
    begun(path, folder)
    (folder / "file.part").unlink()
    assert finished(path, folder) == ({}, b"headnewend")


def test_a_line_without_its_end(path, folder):
    """A killed process may leave a torn line."""
    begun(path, folder)
    journal = folder / "file.journal"
    text = journal.read_bytes()
    before, line = text[: text.index(b"\n") + 1], text[text.index(b"\n") + 1 :]
    for count in range(len(line)):
        journal.write_bytes(before + line[:count])
        with pytest.raises(Killed), resumable(path, folder, BEGINNING, SIZE) as (_, found):
            assert found.whole == {}
            raise Killed
        assert journal.read_bytes() == before


def test_data_reach_the_disk_before_the_line(path, folder, monkeypatch):
    """If the disk takes no data, the journal has no line about them."""
    with pytest.raises(OSError) as error, resumable(path, folder, BEGINNING, SIZE) as (_, journal):

        def fails(_):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, "fsync", fails)
        journal.finish(["first"])
    assert error.value.filename == str(path)
    assert not is_begun(folder)


def test_an_error_of_the_disk_is_told_once(path, folder, monkeypatch):
    """Linux loses the data of a failed wait, and the next wait succeeds."""
    errors = [OSError(errno.EIO, os.strerror(errno.EIO))]

    def fails(_):
        if errors:
            raise errors.pop()

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError), resumable(path, folder, BEGINNING, SIZE) as (_, journal):
        journal.finish(["first"])
    assert not errors and not is_begun(folder)


def test_another_beginning_or_a_link(path, folder, tmp_path):
    """A part with a damaged header, and a foreign part."""
    begun(path, folder)
    part = folder / "file.part"
    part.write_bytes(b"\0" + part.read_bytes()[1:])
    assert finished(path, folder) == ({}, b"headnewend")
    path.unlink()
    begun(path, folder)
    part.rename(tmp_path / "other")
    part.symlink_to(tmp_path / "other")
    before = (tmp_path / "other").read_bytes()
    assert finished(path, folder) == ({}, b"headnewend")
    assert (tmp_path / "other").read_bytes() == before and not path.is_symlink()


def test_a_long_name(tmp_path, folder):
    path = tmp_path / ("x" * 255)
    begun(path, folder)
    assert finished(path, folder) == ({"first": {"count": 3}}, b"headabcend")


def test_a_wait_for_the_disk_is_shared(path, folder, monkeypatch):
    """Lines of parts in quick succession are written together, at the latest at the end."""
    monkeypatch.setattr(unfinished, "EVERY", 3600.0)
    begun(path, folder)
    assert finished(path, folder)[0] == {"first": {"count": 3}}


def test_a_full_disk_leaves_nothing(path, folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError) as error, resumable(path, folder, BEGINNING, SIZE):
        pass
    assert error.value.filename == str(path) and error.value.errno == errno.ENOSPC
    assert [one.name for one in folder.iterdir()] == ["file.journal"] and not is_begun(folder)


@pytest.mark.parametrize("text", [b"\n", b"{}\n", b"[]\n", b'[["second"], null]\n', b"\xff\n", b"[" * 9999])
def test_a_damaged_line(text, path, folder):
    """Later lines are ignored, even complete ones."""
    begun(path, folder)
    journal = folder / "file.journal"
    first, line = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(first + text + line)
    with pytest.raises(Killed), resumable(path, folder, BEGINNING, SIZE) as (_, found):
        assert found.whole == {}
        raise Killed
    assert journal.read_bytes() == first
    journal.write_bytes(text + first + line)
    assert finished(path, folder) == ({}, b"headnewend")


def test_a_changed_line(path, folder):
    """A change of any byte is found."""
    begun(path, folder)
    journal = folder / "file.journal"
    first, line = journal.read_bytes().splitlines(keepends=True)
    for place in range(len(line)):
        journal.write_bytes(first + line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :])
        with pytest.raises(Killed), resumable(path, folder, BEGINNING, SIZE) as (_, found):
            assert found.whole == {}
            raise Killed


def test_a_folder_in_the_place_of_a_part(path, folder):
    begun(path, folder)
    (folder / "file.part").unlink()
    (folder / "file.part").mkdir()
    assert finished(path, folder) == ({}, b"headnewend")
