"""What takes longer than a page may."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until_elsewhere
from tests.web.conftest import Browse

import ragstone
from ragstone.comparison.pages import trend as trend_page
from ragstone.errors import UsageError
from ragstone.web.pending import Pending


def test_what_is_made_apart_is_made_by_another_process_and_its_error_is_told() -> None:
    pending = Pending()
    assert pending.apart(os.getpid) != os.getpid()
    with pytest.raises(UsageError, match="at least two runs"):
        pending.apart(partial(ragstone.trend, []))
    pending.close()


def test_closing_ends_what_never_ends_and_starts_nothing_more() -> None:
    pending = Pending()
    endless = partial(pending.apart, signal.pause)
    assert pending.of("a", endless, wait=0.0) is None
    until_elsewhere(lambda: len(pending._processes) == 1)
    pending.close()
    with pytest.raises(UsageError, match="was ended: load the page again"):
        pending.of("a", endless, wait=60.0)
    with pytest.raises(UsageError, match="was ended"):
        pending.apart(os.getpid)


SERVER = """
import os, signal, sys
from functools import partial
from threading import Thread
from ragstone.web.pending import Pending
from tests.web.test_pending import told

if __name__ == "__main__":
    Pending().apart(partial(told, sys.argv[1]))
"""


def told(path: str) -> None:
    """Writes down who works, and goes on without an end."""
    Path(f"{path}.new").write_text(str(os.getpid()))
    Path(f"{path}.new").rename(path)
    signal.pause()


def test_what_computes_a_page_ends_with_a_server_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, tmp_path / "server.py", tmp_path / "pid"], env=environ) as server:
        until_elsewhere((tmp_path / "pid").exists)
        worker = Path("/proc") / (tmp_path / "pid").read_text() / "stat"
        server.kill()
    until_elsewhere(lambda: not worker.exists() or worker.read_text().rpartition(")")[2].split()[0] in "ZX")


def test_a_trend_of_large_runs_is_read_by_another_process(
    browse: Browse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"question": f"{n}?", "answer": f"in {n}", "reference": f"in {n}"} for n in range(12)]
    for name in "ab":
        ragstone.evaluate(rows, "answer_match", run=tmp_path / "runs" / f"{name}.run", name="recorded")
    monkeypatch.setattr(trend_page, "_AT_ONCE_BYTES", 0)
    monkeypatch.setattr(trend_page, "_WAIT_LARGE", 60.0)
    apart, made = Pending.apart, list[Any]()

    def noted(self: Pending, make: Any) -> Any:
        made.append(make)
        return apart(self, make)

    monkeypatch.setattr(Pending, "apart", noted)
    page = browse(tmp_path / "runs").get("/trend").text
    assert len(made) == 1
    assert "answer_match" in page
