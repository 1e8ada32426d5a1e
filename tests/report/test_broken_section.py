"""A report section of another package that raises is left out, and named in a warning; the others stay."""

import types
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ragstone.api import evaluate, read_run
from ragstone.report import page
from ragstone.report.section import SECTIONS, Section


def raising(_: object) -> str:
    raise ValueError("no <such> field")


def test_a_section_of_another_package_that_raises_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"question": "Who leads?", "answer": "Ines", "reference": "Ines"}]
    result = evaluate(rows, ["answer_match"], run=tmp_path / "a.run")
    before = result.write_report(tmp_path / "before.html").read_text("utf-8")
    monkeypatch.setitem(SECTIONS._plugins, "theirs", Section(1, {"en": "Theirs"}, raising))
    monkeypatch.setitem(SECTIONS._owners, "theirs", "their-package")
    with read_run(result.run) as run:
        after = run.write_report(tmp_path / "after.html").read_text("utf-8")
    assert "The worst answers" in before
    assert "The worst answers" in after
    assert "Theirs" not in after
    (warned,) = [record.getMessage() for record in caplog.records]
    assert "'theirs' of their-package is left out (ValueError: no <such> field)" in warned


def test_one_of_our_own_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECTIONS._plugins, "ours", Section(1, {"en": "Ours"}, raising))
    assert SECTIONS.owner("ours") is None
    with pytest.raises(ValueError, match="no <such> field"):
        page._body_of("ours", SECTIONS.get("ours"), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("lacking", ["folded", "question"])
def test_a_section_needs_all_that_a_page_asks_of_it(lacking: str, caplog: pytest.LogCaptureFixture) -> None:
    whole = {"order": 1, "title": {"en": "x"}, "body": raising, "folded": False, "question": None}
    plugin = types.SimpleNamespace(**{name: value for name, value in whole.items() if name != lacking})
    with pytest.raises(Exception, match=f"it has no '{lacking}'"):
        SECTIONS._checked(EntryPoint("x", "theirs:x", "ragstone.report_sections").value, plugin)
