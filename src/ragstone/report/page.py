"""The HTML document around the sections.

As a file, its content security policy allows one style sheet, by its hash, and images in data: URLs, but no scripts or
requests, so that even a mistake in a template can neither run nor fetch anything. The viewer brings its own `Frame`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TypeAlias

from markupsafe import Markup

from ragstone.analysis.expert_agreement import ExpertFindings
from ragstone.messages import checked_language
from ragstone.report.html import HTML_LANG, hash_of, static_text
from ragstone.report.section import SECTIONS, Canvas, Section, View, view_of
from ragstone.types import Benchmark, Run

_log = logging.getLogger(__name__)
CASE_BYTES = 1_400_000  # the limit of wrong answers, so that a report stays below 2 MB

Part: TypeAlias = "tuple[str, str, Markup | str]"
"""Id, title and body of a section."""


@dataclass(frozen=True)
class Frame:
    """What surrounds the sections: `policy` and `head` are elements of the head (what the page may load, and what it
    loads), `bar` is above the heading, `foot` below the sections."""

    policy: Markup
    head: Markup
    foot: Markup
    bar: Markup | str = ""


def render(
    run: Run, benchmark: Benchmark, *, language: str = "en", cases_shown: int = 200,
    experts: ExpertFindings | None = None,
) -> str:  # fmt: skip
    """The report as HTML; see `ragstone.report.render`."""
    view = view_of(
        run, benchmark, language=checked_language(language), cases_shown=cases_shown, case_bytes=CASE_BYTES,
        experts=experts,
    )  # fmt: skip
    sections, folded = parts_of(view)
    return document(view, sections, folded, heading=heading_of(view), systems=list(view.digest.systems))


def parts_of(view: View) -> tuple[list[Part], list[Part]]:
    """The sections of a run that have something to say, and those that are folded at the end."""
    sections: list[Part] = []
    folded: list[Part] = []
    for number, (name, section) in enumerate(sorted(SECTIONS, key=lambda item: (item[1].order, item[0])), 1):
        if (body := _body_of(name, section, view)) is not None:
            # Ids are numbers, because the names of plug-ins are not trusted.
            part = (f"s{number}", section.title.get(view.language) or section.title["en"], body)
            (folded if section.folded else sections).append(part)
    return sections, folded


def _body_of(name: str, section: Section, view: View) -> Markup | str | None:
    """The body of a section. One of another package that raises is left out, and a warning names it."""
    try:
        return section.body(view)
    except Exception as error:
        if (owner := SECTIONS.owner(name)) is None:
            raise
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        _log.warning(
            "The report section '%s' of %s is left out (%s). Fix or uninstall the package.", name, owner, reason
        )
        return None


def heading_of(view: View) -> str:
    """What a run is headed with: the title of its summary, else its benchmark."""
    titles = (summary.title for summary in view.summaries.values() if summary.title)
    return next(titles, title_of(view.benchmark.name, view.words))


def title_of(benchmark: str, words: Mapping[str, str]) -> str:
    """What a reader calls a benchmark. `words`: those of reports."""
    shown = benchmark.upper() if benchmark.isascii() and len(benchmark) <= 5 else benchmark
    return words.get(f"heading_{benchmark}", shown)


def document(
    canvas: Canvas, sections: Sequence[Part], folded: Sequence[Part] = (), *, heading: str, systems: Sequence[str],
    frame: Frame | None = None,
) -> str:  # fmt: skip
    """The whole page around sections, safe to encode as UTF-8. A page with `folded` ones opens with its verdict, so its
    head is small. `frame`: by default that of a file."""
    shown = ", ".join(systems[:3]) + ("…" if len(systems) > 3 else "")
    page = canvas.html(
        "report/page.html", html_lang=HTML_LANG[canvas.language], words=canvas.words, version=version("ragstone"),
        frame=frame or _file_frame(canvas), sections=sections, folded=folded, systems=systems[:12], heading=heading,
        title=" · ".join(filter(None, (heading, shown, "ragstone"))),
    )  # fmt: skip
    # Markup from a plug-in may contain characters that UTF-8 cannot encode.
    return str(page).encode("utf-8", "backslashreplace").decode("utf-8")


def _file_frame(canvas: Canvas) -> Frame:
    style = static_text("report.css")
    foot = canvas.html("<p>{{ words.made_by.format(version=version) }}</p>", words=canvas.words,
                       version=version("ragstone"))  # fmt: skip
    head = canvas.html("<style>{{ style }}</style>", style=Markup(style))
    return Frame(canvas.html("report/file_policy.html", style_hash=hash_of(style)), head, foot)
