"""Which runs are served: those below the named folders, and nothing else on the machine."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.web.conftest import Browse

from ragstone.errors import UsageError
from ragstone.web.library import Library, NoSuchRun

OUTSIDE = (
    "../outside.run", "sub/../../outside.run", "/etc/passwd", "link.run", "linked/outside.run", ".hidden/a.run",
    "sub\\a.run", "sub//a.run", "./sub/a.run", "sub/a.run\0", "", "sub", "other.sqlite", "a" * 10_000,
)  # fmt: skip


@pytest.fixture
def runs(folder: Path, tmp_path: Path) -> Path:
    """A folder with a run, another program's database, links that lead out, and a run outside."""
    served = tmp_path / "served"
    (served / "sub").mkdir(parents=True)
    (served / ".hidden").mkdir()
    for target in (served / "sub" / "a.run", served / ".hidden" / "a.run", tmp_path / "outside.run"):
        shutil.copy(folder / "sub" / "a.run", target)
    (served / "link.run").symlink_to(tmp_path / "outside.run")
    (served / "linked").symlink_to(tmp_path)
    with closing(sqlite3.connect(served / "other.sqlite")) as other:
        other.execute("CREATE TABLE t (x)")
    (served / "notes.txt").write_bytes(b"x" * 512)
    return served


def test_the_runs_below_a_folder_are_found_by_their_paths(runs: Path) -> None:
    assert list(Library([runs]).runs()) == ["sub/a.run"]


def test_runs_of_several_places_have_names_of_their_own(runs: Path, tmp_path: Path) -> None:
    found = Library([runs, runs / "sub", tmp_path / "outside.run"]).runs()
    assert set(found) == {"served/sub/a.run", "sub/a.run", "outside.run"}


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_path_leads_out_of_the_folder(runs: Path, browse: Browse, name: str) -> None:
    with pytest.raises(NoSuchRun), Library([runs]).opened(name):
        pass
    page = browse(runs).get("/run", params={"run": name})
    assert (page.status_code, "local/extractive" in page.text) == (404, False)


def test_a_run_that_became_a_link_after_it_was_found_is_refused(runs: Path, tmp_path: Path) -> None:
    library = Library([runs])
    assert library.runs()
    (runs / "sub" / "a.run").unlink()
    (runs / "sub" / "a.run").symlink_to(tmp_path / "outside.run")
    with pytest.raises(NoSuchRun, match="links are not followed"), library.opened("sub/a.run"):
        pass


def test_what_is_no_folder_and_no_run_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for place, message in ((tmp_path / "none", "no such file"), (tmp_path / "a.txt", "neither a folder nor a run")):
        with pytest.raises(UsageError, match=message):
            Library([place])
