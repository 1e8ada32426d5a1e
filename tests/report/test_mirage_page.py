"""MIRAGE's report in a real browser: a whole command's run, in both languages, on a wide and on a narrow window."""

import json
import re
from pathlib import Path

import pytest
from tests.report.conftest import Open

from ragstone import bench
from ragstone.evaluation.bench import BenchResult


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> BenchResult:
    """A sweep with all that a report of MIRAGE can show, by a recorded model that counts tokens."""
    folder = tmp_path_factory.mktemp("mirage")
    lines = [{"contains": "Context", "text": "Nobody knows."}, {"default": "It was Tuesday."}]
    (folder / "m.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return bench(
            "mirage", model=["local/extractive", f"scripted/{folder / 'm.jsonl'}"], run=folder / "m.run", ks=(1, 3),
            retrievers=("bm25", "hybrid(bm25,bm25(k1=2,title=no))"), negatives=("bm25",), chunks=(0, 110),
            fictional_size=10, multi_hop=0.3,
        )  # fmt: skip


@pytest.mark.parametrize(("language", "table"), [("en", "Retrievers at k"), ("zh", "各检索器在前 k 个段落上的表现")])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_of_a_sweep_is_quiet_fits_the_window_and_tells_everything(
    swept: BenchResult, opened: Open, tmp_path: Path, language: str, table: str, width: int
) -> None:
    with swept.open() as run:
        html = run.write_report(tmp_path / "m.html", language=language).read_text(encoding="utf-8")
        titles = [one.title for one in run.tables(language=language)]
    seen = opened(html, width=width)
    page = seen.page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.quiet(), (seen.console, seen.requests)
    text = re.sub(r"\s+", " ", page.inner_text("body"))
    assert table in titles
    assert all(title in text for title in titles)
    assert "hybrid(bm25,bm25(k1=2,title=no)) @ 3" in text
    # Four shares and right answers of each of two systems, noise vulnerability of one, recall, quality against tokens.
    figures = page.locator("figure:has(svg)").all()
    assert len(figures) == 7
    for figure in figures:
        box = figure.locator("svg").first.bounding_box()
        assert box is not None
        assert box["width"] > 250
