"""Makes what the READMEs show of a run, from a run: the first table, and the pictures of its report.

    python docs/refresh.py RUN [--chromium PATH]

Both languages. Needs the extras `report` and `dev`, and a Chromium. The pictures are in docs/images.
"""

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import FloatRect, sync_playwright

from ragstone.api import read_run
from ragstone.report.text import table_text

ROOT = Path(__file__).resolve().parent.parent
READMES = {"en": "README.md", "zh": "README.zh-CN.md"}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTH = 1000
# From the top of the section "At a glance" to the end of the first row of curves.
CLIP = """() => {
    const top = document.querySelector('#s2').getBoundingClientRect().top;
    const charts = [...document.querySelectorAll('#s3 figure')].slice(0, 2);
    const ends = charts.map(chart => chart.getBoundingClientRect().bottom);
    return [top + 20, Math.max(...ends) + 24];
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.chromium, args=ARGUMENTS)
        for language, readme in READMES.items():
            with read_run(args.run) as run:
                page_file = run.write_report(Path(folder) / f"{language}.html", language=language)
                table = run.tables(language=language)[0]
            shown = table_text(table, width=WIDTH // 10, color=False, language=language).rstrip()
            excerpt = re.split(r"\n(?=Scoring:|评分：)", shown, maxsplit=1)[0]  # the notes after it are long
            path = ROOT / readme
            block = f"<!-- excerpt -->\n```text\n{excerpt}\n```\n<!-- /excerpt -->"
            before, _, rest = path.read_text("utf-8").partition("<!-- excerpt -->")
            after = rest.partition("<!-- /excerpt -->")[2]
            path.write_text(before + block + after, "utf-8")
            page = browser.new_page(viewport={"width": WIDTH, "height": 900})
            page.goto(page_file.as_uri())
            top, bottom = page.evaluate(CLIP)
            clip: FloatRect = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top}
            page.screenshot(path=ROOT / "docs" / "images" / f"report.{language}.png", full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
