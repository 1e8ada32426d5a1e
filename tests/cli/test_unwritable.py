"""Folders and homes that cannot be written: the reason and the remedy in one line, no warnings of other libraries."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.cli.tools import SMALL, one_line, process
from tests.servers.fake_endpoint import FakeEndpoint

pytestmark = pytest.mark.skipif(not Path("/dev/null").exists(), reason="there is no /dev/null here")

# Nothing can be made below a file, not even by the administrator.
NOWHERE = {"HOME": "/dev/null", "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}


def test_a_report_is_written_without_a_home_and_nothing_else_is_said(tmp_path: Path, run_file: Path) -> None:
    told = process("report", run_file, "-o", "a.html", folder=tmp_path, **NOWHERE)
    assert (told.code, told.err) == (0, "")
    assert (tmp_path / "a.html").stat().st_size > 10_000


async def test_a_run_goes_on_without_a_cache_and_says_how_to_have_one(tmp_path: Path) -> None:
    async with FakeEndpoint() as endpoint:
        retriever = ("--retriever", "compat/e", "--retriever-base-url", endpoint.base_url)
        arguments = ("bench", "mirage", *retriever, "--fictional-size", "1", "--run", "a.run", "--quiet")
        told = await asyncio.to_thread(process, *arguments, folder=tmp_path, **NOWHERE)
        assert endpoint.seen
    assert told.code == 0
    assert len(told.err.splitlines()) == 1, told.err
    assert "/dev/null/.cache/ragstone" in told.err
    assert "Set XDG_CACHE_HOME to a writable folder" in told.err


@pytest.mark.parametrize(
    ("target", "reason"), [("/dev/null/a.run", "a file has its name"), ("/proc/a.run", "its folder")]
)
def test_a_run_file_in_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, target: str, reason: str) -> None:
    told = process("bench", "rgb", "--model", "local/extractive", *SMALL, "--run", target, folder=tmp_path, **NOWHERE)
    one_line(told, target, reason, "Name ")


def test_files_that_cannot_be_stored_are_one_line_with_the_option(tmp_path: Path) -> None:
    told = process("data", "pull", "rgb", "--from", tmp_path, folder=tmp_path, **NOWHERE)
    last = told.err.splitlines()[-1]
    assert told.code == 2
    assert last.startswith("ragstone: /dev/null/.local/share/ragstone")
    assert "--to DIR" in last


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_folder_without_the_permission_is_told_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    told = process("bench", "rgb", "--model", "local/extractive", *SMALL, "--run", folder / "a.run", folder=tmp_path)
    one_line(told, "closed", "Permission denied", "Name ")


@pytest.mark.parametrize("arguments", [("export", "--format", "csv"), ("export", "--format", "xlsx"), ("report",)])
def test_an_output_that_cannot_be_there_is_one_line_and_no_matter_of_space(
    tmp_path: Path, run_file: Path, arguments: tuple[str, ...]
) -> None:
    told = process(arguments[0], run_file, *arguments[1:], "-o", "/dev/null/a.out", folder=tmp_path)
    assert "space" not in one_line(told, "/dev/null/a.out", "Not a directory", "Name another place.")
