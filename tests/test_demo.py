"""What `make demo` shows once everything is installed, and how much work it is: its script, run as it is."""

import html
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.waiting import until_elsewhere

import ragstone
from ragstone.runs import open_run
from ragstone.web.app import create_app
from ragstone.web.library import Library

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_600),
]  # of the whole demo, on a machine that does other things, too

ROOT = Path(__file__).resolve().parent.parent
PAGES = {f"{name}{part}.html": language for name in ("report", "niah", "diagnosis")
         for part, language in (("", "en"), (".zh", "zh"))}  # fmt: skip
# How a verdict begins that decides nothing, or a page of a run that is not finished.
UNDECIDED = re.compile(
    r"too few|not enough|cannot|could not|no answer|nothing|unfinished|太少|无法|不能判断|未完成|没有"
)

TOO_FEW = re.compile(r"too few|太少")  # no line below may say this either


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the script of the demo fills."""
    folder = tmp_path_factory.mktemp("demo")
    program = folder / "bin" / "ragstone"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ragstone "$@"\n')
    program.chmod(0o755)
    (folder / "examples").symlink_to(ROOT / "examples")
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME") if name in os.environ
    }
    environment = {**kept, "LANG": "C.UTF-8", "PYTHONPATH": str(Path(ragstone.__file__).parents[1])}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["sh", str(ROOT / "scripts" / "demo.sh"), str(program.parent)], cwd=folder, env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=1_500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (folder / "demo" / "processor.txt").write_text(f"{spent:.1f}")
    return folder / "demo"


def verdicts(page: str) -> list[str]:
    found = re.findall(r'<p class="verdict[^"]*">(.*?)</p>', page, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", " ", html.unescape(text)).split()) for text in found]


def opened(client: TestClient, where: str) -> list[str]:
    return verdicts(client.get(where).text)


def viewed(demo: Path) -> Iterator[tuple[str, str, str]]:
    """The pages of the runs in the viewer that the demo opens at its end."""
    app = create_app(Library([demo], None))
    with TestClient(app, base_url="http://127.0.0.1:8720") as client:
        for run in ("rgb.run", "niah.run", "diagnosis.run"):
            for language in ("en", "zh"):
                where = f"/run?run={run}&lang={language}"
                until_elsewhere(partial(opened, client, where))  # a page of many answers is made meanwhile
                yield run, language, client.get(where).text


def test_every_page_of_the_demo_opens_with_a_decided_sentence(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(demo / "cache"))
    assert {path.name for path in demo.glob("*.html")} == set(PAGES)
    pages = [(name, language, (demo / name).read_text("utf-8")) for name, language in PAGES.items()]
    for name, language, page in [*pages, *viewed(demo)]:
        first, *others = verdicts(page)
        assert re.search(r"\d%", first), (name, first)
        assert not UNDECIDED.search(first.lower()), (name, first)
        assert [line for line in others if TOO_FEW.search(line.lower())] == [], name
        assert bool(re.search("[一-鿿]", first)) == (language == "zh"), (name, first)


def test_the_demo_takes_at_most_90_seconds_of_a_processor(demo: Path) -> None:
    """It had taken 169; processor time does not grow with what else the machine does."""
    assert 1 < float((demo / "processor.txt").read_text()) <= 90


def test_the_demo_is_a_small_bounded_amount_of_work(demo: Path) -> None:
    """The small model is what takes long: eight short answers to 5,000 tokens of prompts, in one language."""
    asked = dict[str, int]()
    tokens = answered = 0
    for name in ("rgb", "niah", "diagnosis"):
        with open_run(demo / f"{name}.run") as run:
            records = list(run.records())
            asked[name] = len(records)
            if name == "niah":
                assert {record.case.query.language for record in records} == {"en"}
                usages = [record.response.usage for record in records if record.response is not None]
                tokens = sum(usage.prompt_tokens for usage in usages if usage is not None)
                answered = sum(usage.completion_tokens for usage in usages if usage is not None)
                assert len(usages) == len(records)
            else:
                assert "local/smollm2" not in {record.system_id for record in records}
    assert asked["niah"] <= 8
    assert 0 < tokens <= 6_000
    assert 0 < answered <= 8 * 16
    assert asked["rgb"] <= 2_500
    assert asked["diagnosis"] <= 700
