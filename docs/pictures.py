"""Makes the pictures of the READMEs from a run: the glance and the noise curves of its report, in both languages.

    python docs/pictures.py RUN [--chromium PATH]

Needs the extras `report` and `dev`, and a Chromium. The pictures are in docs/images; commit them with the text that
quotes the same run.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from ragstone.api import read_run

IMAGES = Path(__file__).resolve().parent / "images"
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
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.chromium, args=ARGUMENTS)
        for language in ("en", "zh"):
            with read_run(args.run) as run:
                page_file = run.write_report(Path(folder) / f"{language}.html", language=language)
            page = browser.new_page(viewport={"width": WIDTH, "height": 900})
            page.goto(page_file.as_uri())
            top, bottom = page.evaluate(CLIP)
            clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top}
            page.screenshot(path=IMAGES / f"report.{language}.png", full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
