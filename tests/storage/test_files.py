"""Files that are written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.storage import replacing, write_file


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder" / ("名" * 85)
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        write_file(target, "x")
    assert write_file(target, "名\r\n", parents=True) == target
    assert target.read_bytes() == "名\r\n".encode()

    def half() -> None:
        with replacing(target) as stream:
            stream.write(b"half")
            stream.flush()
            assert target.read_bytes() == "名\r\n".encode()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert [(path.name, path.read_bytes()) for path in target.parent.iterdir()] == [("名" * 85, "名\r\n".encode())]


def test_a_new_file_has_the_usual_permissions_and_an_earlier_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    usual = (tmp_path / "plain").stat().st_mode
    assert write_file(tmp_path / "new", b"x").stat().st_mode == usual
    (tmp_path / "new").chmod(0o640)
    assert write_file(tmp_path / "new", b"y").stat().st_mode & 0o777 == 0o640


def test_a_file_that_may_not_be_written_is_refused_and_one_that_is_mounted_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x"
    target.write_bytes(b"earlier")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)  # root may write everything
        with pytest.raises(UsageError, match=r"x: cannot be written \(Permission denied\)"):
            write_file(target, b"new")
    assert target.read_bytes() == b"earlier"

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    write_file(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
