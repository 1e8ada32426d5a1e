"""A full disk: the earlier file stays as it was, nothing else is left, one line tells why, and the exit code is 2."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.tools import Told, command, environment

EARLIER = b"<!doctype html>\nof an earlier time\n"

# Arguments, and the files that they write below the folder `out`.
WRITERS = {
    "csv": (("export", "RUN", "--format", "csv", "-o", "out/x", "--force"), ("x",)),
    "jsonl": (("export", "RUN", "--format", "jsonl", "-o", "out/x", "--force"), ("x",)),
    "junit": (("export", "RUN", "--format", "junit", "-o", "out/x", "--force"), ("x",)),
    "markdown": (("export", "RUN", "--format", "markdown", "-o", "out/x", "--force"), ("x",)),
    "latex": (("export", "RUN", "--format", "latex", "-o", "out/x", "--force"), ("x",)),
    "xlsx": (("export", "RUN", "--format", "xlsx", "-o", "out/x", "--force"), ("x",)),
    "parquet": (("export", "RUN", "--format", "parquet", "-o", "out/x", "--force"), ("x",)),
    "html": (("report", "RUN", "-o", "out/x"), ("x",)),
    "rubric": (("rubrics", "copy", "process_actionability", "out", "--force"), ("process_actionability.toml",)),
    "prompts": (("prompts", "copy", "out", "--force", "--name", "decompose", "--language", "en"),
                ("en/decompose.toml",)),
    "rgb": (("build", "fictional", "-o", "out", "--dataset", "en_refine", "--size", "9"), ("en_refine.json",)),
    "mirage": (("build", "fictional", "--format", "mirage", "-o", "out", "--data-language", "en", "--size", "9"),
               ("dataset.json", "doc_pool.json", "oracle.json")),
    "pulled": (("data", "pull", "rgb", "--from", "mirror", "--to", "out", "--only", "en"), ("en.json",)),
}  # fmt: skip


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def limited(arguments: tuple[str, ...], run_file: Path, folder: Path, *, blocks: int | None) -> Told:
    """Runs a command in a process that cannot write files beyond so many blocks of 512 bytes."""
    words = command(*(str(run_file) if argument == "RUN" else argument for argument in arguments))
    shell = ["sh", "-c", f'{"" if blocks is None else f"ulimit -f {blocks}; "}exec "$@"', "sh", *words]
    ended = subprocess.run(
        shell, cwd=folder, env=environment(folder), capture_output=True, timeout=120, check=False
    )  # fmt: skip
    return Told(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def earlier_files(folder: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    for name in names:
        path = folder / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(EARLIER)
    mirror = folder / "mirror"
    mirror.mkdir()
    (mirror / "en.json").write_bytes(b"{}\n" * 4000)
    return files_below(folder / "out")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no limit on the size of files")
@pytest.mark.parametrize("name", WRITERS)
def test_where_a_file_cannot_be_written_whole_the_earlier_one_stays(name: str, run_file: Path, tmp_path: Path) -> None:
    arguments, names = WRITERS[name]
    before = earlier_files(tmp_path, names)
    told = limited(arguments, run_file, tmp_path, blocks=1)
    assert told.code == 2, told
    lines = [line for line in told.err.splitlines() if line.startswith("ragstone: ")]
    assert len(lines) == 1, told.err
    assert "File too large" in lines[0]
    assert "ree some space" in lines[0]
    assert "Traceback" not in told.err
    assert "Exception ignored" not in told.err
    assert files_below(tmp_path / "out") == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of two pages."""
    folder = tmp_path / "out"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or sys.platform != "linux":
        pytest.skip("no file system can be mounted here")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["html", "xlsx", "csv", "parquet"])
def test_on_a_disk_that_is_really_full_too(name: str, run_file: Path, tmp_path: Path, small_disk: Path) -> None:
    arguments, names = WRITERS[name]
    before = earlier_files(tmp_path, names)
    told = limited(arguments, run_file, tmp_path, blocks=None)
    assert told.code == 2, told
    assert told.err.splitlines() == [
        f"ragstone: out/{names[0]}: cannot be written (No space left on device). Free some space or name another place."
    ]
    assert files_below(small_disk) == before


@pytest.mark.parametrize("name", ["html", "csv", "xlsx"])
def test_pipes_devices_and_links_are_written_as_ever(
    name: str, ragstone: Callable[..., Told], run_file: Path, tmp_path: Path
) -> None:
    arguments, _ = WRITERS[name]
    here = [run_file if argument == "RUN" else argument for argument in arguments]
    (tmp_path / "out").mkdir()
    assert ragstone(*here).code == 0
    whole = (tmp_path / "out" / "x").read_bytes()
    (tmp_path / "out" / "x").unlink()
    (tmp_path / "elsewhere").write_bytes(EARLIER)
    (tmp_path / "out" / "x").symlink_to("../elsewhere")
    assert ragstone(*here).code == 0
    assert (tmp_path / "out" / "x").is_symlink()
    assert abs(len((tmp_path / "elsewhere").read_bytes()) - len(whole)) < 64  # a workbook holds the time, compressed
    if name == "xlsx":  # which is written to and fro
        return
    words = [argument.replace("out/x", "/dev/stdout") for argument in arguments]
    told = limited(tuple(words), run_file, tmp_path, blocks=None)
    assert told.out.encode().startswith(whole)
    (tmp_path / "out" / "x").unlink()
    os.mkfifo(tmp_path / "out" / "x")
    with (tmp_path / "read").open("wb") as read, subprocess.Popen(["cat", "out/x"], cwd=tmp_path, stdout=read):
        assert ragstone(*here).code == 0
    assert (tmp_path / "read").read_bytes() == whole


def test_a_report_can_be_asked_of_a_pipe_before_the_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "page")
    with (tmp_path / "read").open("wb") as read, subprocess.Popen(["cat", "page"], cwd=tmp_path, stdout=read):
        told = limited(
            ("bench", "rgb", "--model", "local/extractive", "--data-language", "en", "--limit", "1", "--run", "a.run",
             "--fictional-size", "1", "--quiet", "--report", "page"), Path(), tmp_path, blocks=None,
        )  # fmt: skip
        with contextlib.suppress(OSError):  # where nothing was written, the reader waits no longer
            os.close(os.open(tmp_path / "page", os.O_WRONLY | os.O_NONBLOCK))
    assert told.code == 0, told
    page = (tmp_path / "read").read_bytes()
    assert page.startswith(b"<!DOCTYPE html>")
    assert page.endswith(b"</html>")
