"""Makes what the READMEs show of a run, from a run: the pictures of its report; and what they and pages of docs show of
`mirage`, `diagnose` and `eval`, from the examples: verdict and first screen, the first table and the claims of one
answer; and the viewer's pages of these runs.

    python docs/refresh.py [RUN] [--chromium PATH]

Without a run only what is shown of `mirage`, `diagnose` and `eval` is made.

Both languages. Needs the extras `report` and `dev`, and a Chromium. The pictures are in docs/images.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import Browser, FloatRect, sync_playwright

from ragstone.api import read_run
from ragstone.report.text import table_text

ROOT = Path(__file__).resolve().parent.parent
READMES = {"en": "README.md", "zh": "README.zh-CN.md"}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTH = 1000
SCREEN = (1280, 800)  # what a reader sees first


# Of the example: the answer whose claims are shown, by the beginning of its question.
SHOWN = {"en": "Who approves a business trip", "zh": "云杉科技的员工出差住宿"}
EXAMPLE = [
    "eval", "examples/answers.jsonl", "--judge", "scripted/examples/judge.jsonl", "--quiet", "--run",
]  # fmt: skip
OPEN = """(words) => {
    const entries = [...document.querySelectorAll('section details')];
    const entry = entries.find(one => one.querySelector('summary').innerText.includes(words));
    entry.open = true;
    entry.id = 'shown';
}"""


def ragstone(*arguments: str) -> str:
    """What a command prints, 100 columns wide."""
    done = subprocess.run(
        [sys.executable, "-m", "ragstone", *arguments], cwd=ROOT, env={**os.environ, "COLUMNS": "100"},
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return done.stdout


def evaluation(browser: Browser, folder: Path) -> None:
    """The first table of `eval` on the example, and one answer with its claims as the report shows it."""
    for language, readme in READMES.items():
        run = str(folder / f"{language}.run")
        metrics = "faithfulness,context_precision,context_recall"
        table = ragstone(*EXAMPLE, run, "--metrics", metrics, "--language", language)
        excerpt = re.split(r"\n\n(?=Scores\n|得分\n)", table, maxsplit=1)[0].rstrip()
        path = ROOT / readme
        before, _, rest = path.read_text("utf-8").partition("<!-- eval excerpt -->")
        after = rest.partition("<!-- /eval excerpt -->")[2]
        block = f"<!-- eval excerpt -->\n```text\n{excerpt}\n```\n<!-- /eval excerpt -->"
        path.write_text(before + block + after, "utf-8")
        ragstone(*EXAMPLE, run, "--metrics", "five,citations")
        report = folder / f"{language}.html"
        ragstone("report", run, "-o", str(report), "--language", language)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(report.as_uri())
        page.evaluate(OPEN, SHOWN[language])
        box = page.locator("#shown").bounding_box()
        assert box is not None
        clip: FloatRect = {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"] - 130}
        page.screenshot(path=ROOT / "docs" / "images" / f"claims.{language}.png", full_page=True, clip=clip)


HANDBOOK = "examples/handbook"
DIAGNOSIS = [
    "diagnose", f"{HANDBOOK}/questions.csv", "--system", f"{HANDBOOK}/app.py:ask", "--retriever",
    f"{HANDBOOK}/app.py:search", "--corpus", f"{HANDBOOK}/docs", "--quiet",
]  # fmt: skip


def diagnosis(browser: Browser, folder: Path) -> None:
    """What `diagnose` prints first of the handbook with a faulty rewriter, and the first screen of its report."""
    os.environ["HANDBOOK_FAULT"] = "rewriter"
    guides = {"en": "docs/diagnosis.md", "zh": "docs/diagnosis.zh-CN.md"}
    for language, readme in READMES.items():
        shown = ragstone(*DIAGNOSIS, "--run", str(folder / "diagnosis.run"), "--language", language)
        excerpt = "\n\n".join(shown.split("\n\n")[:3])
        block = f"<!-- diagnosis excerpt -->\n```text\n{excerpt}\n```\n<!-- /diagnosis excerpt -->"
        for path in (ROOT / readme, ROOT / guides[language]):
            before, _, rest = path.read_text("utf-8").partition("<!-- diagnosis excerpt -->")
            after = rest.partition("<!-- /diagnosis excerpt -->")[2]
            path.write_text(before + block + after, "utf-8")
        report = folder / f"diagnosis.{language}.html"
        ragstone("report", str(folder / "diagnosis.run"), "-o", str(report), "--language", language)
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(report.as_uri())
        box = page.locator(".opening").bounding_box()
        assert box is not None
        clip: FloatRect = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 4}
        page.screenshot(path=ROOT / "docs" / "images" / f"diagnosis.{language}.png", clip=clip)
    del os.environ["HANDBOOK_FAULT"]


MIRAGE = ["bench", "mirage", "--model", "local/extractive", "--retriever", "bm25", "--quiet", "--run"]


def retrievers(folder: Path) -> None:
    """The table of retrievers that `bench mirage` prints."""
    for language, page in {"en": "retrievers.md", "zh": "retrievers.zh-CN.md"}.items():
        ragstone(*MIRAGE, str(folder / "mirage.run"))
        with read_run(folder / "mirage.run") as run:
            (table,) = [one for one in run.tables(language=language) if one.id == "mirage-retrievers"]
        shown = table_text(table, width=WIDTH // 10, color=False, language=language).rstrip()
        excerpt = shown.partition("\n" + table.notes[0][:10])[0].rstrip()
        path = ROOT / "docs" / page
        before, _, rest = path.read_text("utf-8").partition("<!-- mirage excerpt -->")
        after = rest.partition("<!-- /mirage excerpt -->")[2]
        block = f"<!-- mirage excerpt -->\n```text\n{excerpt}\n```\n<!-- /mirage excerpt -->"
        path.write_text(before + block + after, "utf-8")


def viewer(browser: Browser, folder: Path) -> None:
    """The viewer's page of the runs of a folder, and that of the run of the diagnosis."""
    command = [sys.executable, "-m", "ragstone", "view", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8") as server:
        assert server.stdout is not None
        found = re.search(r"http://[^\s，。]+", server.stdout.readline())
        try:
            assert found is not None
            for language in READMES:
                page = browser.new_page(viewport={"width": SCREEN[0], "height": SCREEN[1]})
                for name, path in (("runs", "/"), ("run", "/run?run=diagnosis.run")):
                    page.goto(urljoin(found[0], f"{path}{'&' if '?' in path else '?'}lang={language}"))
                    page.wait_for_timeout(15_000)  # key figures are read while the page is open
                    page.screenshot(path=ROOT / "docs" / "images" / f"view-{name}.{language}.png")
                page.close()
        finally:
            server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.chromium, args=ARGUMENTS)
        for language in READMES if args.run else ():
            with read_run(args.run) as run:
                page_file = run.write_report(Path(folder) / f"{language}.html", language=language)
            page = browser.new_page(viewport={"width": SCREEN[0], "height": SCREEN[1]})
            page.goto(page_file.as_uri())
            page.screenshot(path=ROOT / "docs" / "images" / f"report.{language}.png")
        diagnosis(browser, Path(folder))
        retrievers(Path(folder))
        evaluation(browser, Path(folder))
        viewer(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
