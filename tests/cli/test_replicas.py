"""Tests of several endpoints of one model, from the command line and from ragstone.toml."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told, one_line
from tests.evaluation.test_eval import judging, ran
from tests.evaluation.test_evaluate import rows
from tests.servers.fake_endpoint import Act, FakeEndpoint


async def test_bench_goes_on_where_one_of_its_endpoints_fails(tmp_path: Path) -> None:
    async with FakeEndpoint(lambda *_: Act("reset")) as sick, FakeEndpoint() as well:
        urls = ("--base-url", sick.base_url, "--base-url", well.base_url)
        small = ("--fictional-size", "2", "--limit", "2", "--no-cache", "--quiet", "--run", "a.run", "--json")
        told = await ran(tmp_path, "bench", "rgb", "--model", "compat/m", *urls, *small)
        assert told.code == 0, told.err
        assert told.document["complete"]
        assert sick.seen
        wrong = await ran(tmp_path, "bench", "rgb", "--model", "compat/m", *urls, "--base-url", "ftp://x", *small)
    assert wrong.code == 2
    assert "ftp://x" in wrong.err


@pytest.mark.parametrize("urls", [["http://127.0.0.1:9/v1"], ["http://127.0.0.1:9/v1", "http://127.0.0.1:8/v1"]])
def test_endpoints_that_no_model_is_asked_at_are_refused(ragstone: Callable[..., Told], urls: list[str]) -> None:
    given = [word for url in urls for word in ("--base-url", url)]
    bench = ("bench", "rgb", "--model", "local/extractive", "--fictional-size", "2", *given)
    one_line(ragstone(*bench), "--base-url has no effect: local/extractive runs on this machine.")
    Path("doc.txt").write_text("The plum harvest began late, in the year 1999, and ended in May.\n")
    one_line(ragstone("build", "questions", "doc.txt", "-o", "out", "--model", "local/template", *given), "no effect")
    assert ragstone(*bench, "--model", "compat/m", "--dry-run").code == 0


async def test_the_project_file_names_several_endpoints_of_the_judge(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text('def ask(question):\n    return {"answer": "Yes.", "contexts": ["Yes."]}\n')
    (tmp_path / "q.csv").write_text("question\n" + "\n".join(row["question"].replace(",", "") for row in rows()))
    async with FakeEndpoint(answer=judging) as one, FakeEndpoint(answer=judging) as other:
        (tmp_path / "ragstone.toml").write_text(
            '[run]\nsystem = "app.py:ask"\njudge = "compat/j"\nmetrics = "faithfulness"\n'
            f'judge-base-url = ["{one.base_url}", "{other.base_url}"]\n'
        )
        told: Any = await ran(tmp_path, "run", "q.csv", "--quiet", "--no-cache", "--run", "r.run", "--json")
        assert told.code == 0, told.err
        assert one.seen
        assert other.seen
