"""A comparison as one self-contained HTML document: the verdict, the tables, and how the runs were made."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragstone.display import Table
from ragstone.messages import checked_language, messages
from ragstone.report.html import table_html
from ragstone.report.page import document
from ragstone.report.section import Canvas

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["render"]

_VERDICT = """
{% for line in notices %}
<p class="notice" role="note"><bdi>{{ line }}</bdi></p>
{% endfor %}
{% for line in lines %}
<p><b><bdi>{{ line }}</bdi></b></p>
{% endfor %}
"""

_FACTS = """
<dl class="facts">
{% for name, text in facts %}
<dt>{{ name }}</dt><dd><bdi>{{ text }}</bdi></dd>
{% endfor %}
</dl>
"""


def render(
    a: str, b: str, lines: Sequence[str], notices: Sequence[str], tables: Sequence[Table],
    facts: Mapping[str, Sequence[str]], *, language: str = "en",
) -> str:  # fmt: skip
    """The page. `a` and `b` are the names of the sides, `lines` the verdict, `notices` the warnings above it; `facts`
    describes the sides "a" and "b"."""
    canvas, words = Canvas(checked_language(language)), messages(__name__, language)
    pairs = [(words[side], text) for side in ("a", "b") for text in facts[side]]
    sections: list[tuple[str, str, Markup | str]] = [
        ("verdict", words["verdict"], canvas.html(_VERDICT, lines=lines, notices=notices)),
        *((f"t{number}", table.title, table_html(canvas, table)) for number, table in enumerate(tables, 1)),
        ("made", words["provenance"], canvas.html(_FACTS, facts=pairs)),
    ]
    return document(canvas, sections, heading=words["heading"], systems=[a, b])
