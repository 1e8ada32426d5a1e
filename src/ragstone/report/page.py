"""The HTML document around the sections.

Its content security policy allows one style sheet, by its hash, and images in data: URLs, but no scripts or requests,
so that even a mistake in a template can neither run nor fetch anything.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TypeAlias

from markupsafe import Markup

from ragstone.messages import checked_language
from ragstone.report.digest import digest
from ragstone.report.html import HTML_LANG
from ragstone.report.section import SECTIONS, Canvas, View
from ragstone.types import Benchmark, Run

__all__ = ["CASE_BYTES", "document", "render"]

CASE_BYTES = 1_400_000  # the limit of wrong answers, so that a report stays below 2 MB

_Part: TypeAlias = "tuple[str, str, Markup | str]"

_PAGE = """<!DOCTYPE html>
<html lang="{{ html_lang }}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{{ style_hash }}'; \
img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="ragstone {{ version }}">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
<style>{{ style }}</style>
</head>
<body>
<a class="skip" href="#main">{{ words.skip }}</a>
<header class="top{{ ' opened' if folded }}">
<p class="brand">ragstone <span>{{ words.report }}</span></p>
<h1><bdi>{{ heading }}</bdi></h1>
<p class="lead">{% for system in systems %}<bdi>{{ system }}</bdi>{% if not loop.last %}<i> · </i>{% endif %}{% endfor %}</p>
</header>
<div class="frame">
<nav aria-label="{{ words.contents }}"><ol>
{% for id, title, _ in sections %}
<li><a href="#{{ id }}">{{ title }}</a></li>
{% endfor %}
{% if folded %}<li><a href="#made">{{ words.how_made }}</a></li>{% endif %}
</ol></nav>
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
<footer><p>{{ words.made_by.format(version=version) }}</p></footer>
</body>
</html>
"""  # noqa: E501  a template


def render(run: Run, benchmark: Benchmark, *, language: str = "en", cases_shown: int = 200) -> str:
    """The report as HTML; see `ragstone.report.render`."""
    view = View(
        checked_language(language), run, benchmark, digest(run, benchmark, language=language, cases_shown=cases_shown),
        cases_shown=cases_shown, case_bytes=CASE_BYTES,
    )  # fmt: skip
    sections: list[_Part] = []
    folded: list[_Part] = []
    for number, (_, section) in enumerate(sorted(SECTIONS, key=lambda item: (item[1].order, item[0])), 1):
        if (body := section.body(view)) is not None:
            # Ids are numbers, because the names of plug-ins are not trusted.
            part = (f"s{number}", section.title.get(language) or section.title["en"], body)
            (folded if section.folded else sections).append(part)
    heading = benchmark.name.upper() if benchmark.name.isascii() and len(benchmark.name) <= 5 else benchmark.name
    heading = next((summary.title for summary in view.summaries.values() if summary.title), heading)
    return document(view, sections, folded, heading=heading, systems=list(view.digest.systems))


def document(
    canvas: Canvas, sections: Sequence[_Part], folded: Sequence[_Part] = (), *, heading: str, systems: Sequence[str]
) -> str:
    """The whole page around sections (id, title, body), safe to encode as UTF-8. A page with `folded` ones opens with
    its verdict, so its head is small."""
    style = _style()
    page = canvas.html(
        _PAGE, html_lang=HTML_LANG[canvas.language], words=canvas.words, version=version("ragstone"),
        style=Markup(style), style_hash=b64encode(sha256(style.encode()).digest()).decode(), sections=sections,
        folded=folded, systems=systems[:12], heading=heading,
        title=f"{heading} · {', '.join(systems[:3])}{'…' if len(systems) > 3 else ''} · ragstone",
    )  # fmt: skip
    # Markup from a plug-in may contain characters that UTF-8 cannot encode.
    return str(page).encode("utf-8", "backslashreplace").decode("utf-8")


def _style() -> str:
    return files("ragstone.report").joinpath("report.css").read_text("utf-8")
