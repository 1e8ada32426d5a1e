"""The HTML document around the sections.

As a file, its content security policy allows one style sheet, by its hash, and images in data: URLs, but no scripts or
requests, so that even a mistake in a template can neither run nor fetch anything. The viewer brings its own `Frame`.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TypeAlias

from markupsafe import Markup

from ragstone.analysis.expert_agreement import ExpertFindings
from ragstone.messages import checked_language
from ragstone.report.html import HTML_LANG
from ragstone.report.section import SECTIONS, Canvas, View, view_of
from ragstone.types import Benchmark, Run

CASE_BYTES = 1_400_000  # the limit of wrong answers, so that a report stays below 2 MB

Part: TypeAlias = "tuple[str, str, Markup | str]"
"""Id, title and body of a section."""

_PAGE = """<!DOCTYPE html>
<html lang="{{ html_lang }}">
<head>
<meta charset="utf-8">
{{ frame.policy }}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="ragstone {{ version }}">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
{{ frame.head }}
</head>
<body>
<a class="skip" href="#main">{{ words.skip }}</a>
{{ frame.bar }}
<header class="top{{ ' opened' if folded or frame.bar }}">
{% if not frame.bar %}<p class="brand">ragstone <span>{{ words.report }}</span></p>{% endif %}

<h1><bdi>{{ heading }}</bdi></h1>
<p class="lead">{% for system in systems %}<bdi>{{ system }}</bdi>{% if not loop.last %}<i> · </i>{% endif %}{% endfor %}</p>
</header>
<div class="frame">
{% if sections | length > 1 or folded or not frame.bar %}<nav aria-label="{{ words.contents }}"><ol>
{% for id, title, _ in sections %}
<li><a href="#{{ id }}">{{ title }}</a></li>
{% endfor %}
{% if folded %}<li><a href="#made">{{ words.how_made }}</a></li>{% endif %}
</ol></nav>{% endif %}
<main id="main">
{% for id, title, body in sections %}
<section id="{{ id }}" aria-labelledby="{{ id }}-h">
<h2 id="{{ id }}-h">{{ title }}</h2>
{{ body }}
</section>
{% endfor %}
{% if folded %}<section id="made"><details class="made"><summary><h2>{{ words.how_made }}</h2></summary>
{% for id, title, body in folded %}
<div id="{{ id }}"><h3 class="part">{{ title }}</h3>
{{ body }}
</div>
{% endfor %}
</details></section>{% endif %}
</main>
</div>
<footer>{{ frame.foot }}</footer>
</body>
</html>
"""  # noqa: E501  a template


_FILE_POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'sha256-{{ style_hash }}'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">"""
_FILE_HEAD = "<style>{{ style }}</style>"
_FILE_FOOT = "<p>{{ words.made_by.format(version=version) }}</p>"


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
    for number, (_, section) in enumerate(sorted(SECTIONS, key=lambda item: (item[1].order, item[0])), 1):
        if (body := section.body(view)) is not None:
            # Ids are numbers, because the names of plug-ins are not trusted.
            part = (f"s{number}", section.title.get(view.language) or section.title["en"], body)
            (folded if section.folded else sections).append(part)
    return sections, folded


def heading_of(view: View) -> str:
    """What a run is headed with: the title of its summary, else its benchmark."""
    name = view.benchmark.name
    heading = name.upper() if name.isascii() and len(name) <= 5 else name
    return next((summary.title for summary in view.summaries.values() if summary.title), heading)


def document(
    canvas: Canvas, sections: Sequence[Part], folded: Sequence[Part] = (), *, heading: str, systems: Sequence[str],
    frame: Frame | None = None,
) -> str:  # fmt: skip
    """The whole page around sections, safe to encode as UTF-8. A page with `folded` ones opens with its verdict, so its
    head is small. `frame`: by default that of a file."""
    shown = ", ".join(systems[:3]) + ("…" if len(systems) > 3 else "")
    page = canvas.html(
        _PAGE, html_lang=HTML_LANG[canvas.language], words=canvas.words, version=version("ragstone"),
        frame=frame or _file_frame(canvas), sections=sections, folded=folded, systems=systems[:12], heading=heading,
        title=" · ".join(filter(None, (heading, shown, "ragstone"))),
    )  # fmt: skip
    # Markup from a plug-in may contain characters that UTF-8 cannot encode.
    return str(page).encode("utf-8", "backslashreplace").decode("utf-8")


def _file_frame(canvas: Canvas) -> Frame:
    style = files("ragstone.report").joinpath("report.css").read_text("utf-8")
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    return Frame(
        canvas.html(_FILE_POLICY, style_hash=style_hash), canvas.html(_FILE_HEAD, style=Markup(style)),
        canvas.html(_FILE_FOOT, words=canvas.words, version=version("ragstone")),
    )  # fmt: skip
