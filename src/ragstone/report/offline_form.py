"""One HTML file of items that a colleague labels in a browser, without a server or network, and sends back as JSON.

Its content security policy allows one style sheet and two scripts, by their hashes, and no request. The scripts hold no
data: texts are in the page, escaped, and what is entered stays in the browser until it is saved as a file.
"""

from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version

from markupsafe import Markup

from ragstone.errors import UsageError
from ragstone.labels import LabelItem, Task
from ragstone.messages import checked_language, messages
from ragstone.report.html import HTML_LANG, hash_of, static_text
from ragstone.report.label_item import item_html
from ragstone.report.section import Canvas

FORMAT = "ragstone labels"
"""The `format` of the file that the page saves: an object with `version` (1), `form`, `expert`, and `labels`, objects
with `item`, `task`, `value`, `spans` (objects with `start`, `end` and `answer`), `comment`, `seconds` and `when`
(seconds since 1970)."""


def offline_form(
    work: Iterable[tuple[LabelItem, Task]],
    *,
    language: str = "en",
    expert: str = "",
    title: str = "",
    file: str = "labels",
) -> str:
    """The page as HTML, safe to encode as UTF-8, with one item after the other, each with its task. `expert`: the name
    of who fills it in; an empty one is asked for. `title`: what the items are of. `file`: how the name of the saved
    file begins. Raises UsageError if there is no item."""
    canvas = Canvas(checked_language(language))
    words = messages(__name__, language)
    items = [(item.id, task.name, item_html(canvas, item, task)) for item, task in work]
    if not items:
        raise UsageError("There is nothing to label: choose a larger sample or another task.")
    form = sha256("\0".join(map("\0".join, items)).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    style = static_text("report.css") + static_text("labelling.css")
    scripts = [static_text("labelling.js"), static_text("offline_form.js")]
    html = canvas.html(
        "report/offline_form.html", w=words, html_lang=HTML_LANG[language], version=version("ragstone"),
        title=title or words["title"],
        style=Markup(style), style_hash=hash_of(style), scripts=[(hash_of(text), Markup(text)) for text in scripts],
        form=form, format=FORMAT, file=file, expert=expert, items=items,
    )  # fmt: skip
    return str(html).encode("utf-8", "backslashreplace").decode("utf-8")
