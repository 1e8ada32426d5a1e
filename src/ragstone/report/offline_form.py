"""One HTML file of items that a colleague labels in a browser, without a server or network, and sends back as JSON.

Its content security policy allows one style sheet and two scripts, by their hashes, and no request. The scripts hold no
data: texts are in the page, escaped, and what is entered stays in the browser until it is saved as a file.
"""

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files

from markupsafe import Markup

from ragstone.errors import UsageError
from ragstone.labels import LabelItem, Task
from ragstone.messages import checked_language, messages
from ragstone.report.html import HTML_LANG
from ragstone.report.label_item import item_html
from ragstone.report.section import Canvas

FORMAT = "ragstone labels"
"""The `format` of the file that the page saves: an object with `version` (1), `form`, `expert`, and `labels`, objects
with `item`, `task`, `value`, `spans` (objects with `start`, `end` and `answer`), `comment`, `seconds` and `when`
(seconds since 1970)."""

_PAGE = """<!DOCTYPE html>
<html lang="{{ html_lang }}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{{ style_hash }}'; \
script-src{% for script in scripts %} 'sha256-{{ script[0] }}'{% endfor %}; img-src data:; base-uri 'none'; form-action 'none'; \
require-trusted-types-for 'script'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="ragstone {{ version }}">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
<style>{{ style }}</style>
</head>
<body>
<a class="skip" href="#items">{{ w.skip_to }}</a>
<div class="desk" data-form="{{ form }}" data-format="{{ format }}" data-file="{{ file }}" data-expert="{{ expert }}"
 data-progress="{{ w.progress }}" data-where="{{ w.where }}" data-resumed="{{ w.resumed }}" data-undone="{{ w.undone }}"
 data-saved="{{ w.saved }}" data-not-kept="{{ w.not_kept }}" data-name-missing="{{ w.name_missing }}"
 data-undecided="{{ w.undecided }}">
<header class="deskbar">
<h1>{{ title }}</h1>
<span class="count" id="where"></span>
<span class="grow"></span>
<label>{{ w.name }} <input type="text" id="expert" autocomplete="name" maxlength="100"></label>
<progress id="bar" max="{{ items|length }}" value="0" aria-labelledby="done"></progress>
<span class="count" id="done"></span>
<button type="button" id="save" class="primary" data-key="s">{{ w.save }} <kbd>s</kbd></button>
</header>
<p class="status" id="said" role="status"></p>
<noscript><p>{{ w.no_script }}</p></noscript>
<main id="items">
{% for item, task, body in items %}
<form class="item" id="i{{ loop.index }}" data-item="{{ item }}" data-task="{{ task }}" autocomplete="off"{% if loop.index0 %} hidden{% endif %}>
{{ body }}
</form>
{% endfor %}
</main>
<p class="moves">
<button type="button" id="previous" data-key="k">← {{ w.previous }} <kbd>k</kbd></button>
<button type="button" id="next" data-key="j">{{ w.next }} → <kbd>j</kbd></button>
<button type="button" id="undo" data-key="u">{{ w.undo }} <kbd>u</kbd></button>
<button type="button" id="first-open" data-key="n">{{ w.first_open }} <kbd>n</kbd></button>
</p>
<footer><p>{{ w.how_to }}</p><p>{{ w.made_by_form.format(version=version) }}</p></footer>
</div>
{% for _, script in scripts %}<script>{{ script }}</script>
{% endfor %}
</body>
</html>
"""  # noqa: E501  a template


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
    style = _read("report.css") + _read("labelling.css")
    scripts = [_read("labelling.js"), _read("offline_form.js")]
    html = canvas.html(
        _PAGE, w=words, html_lang=HTML_LANG[language], version=version("ragstone"), title=title or words["title"],
        style=Markup(style), style_hash=_hash(style), scripts=[(_hash(text), Markup(text)) for text in scripts],
        form=form, format=FORMAT, file=file, expert=expert, items=items,
    )  # fmt: skip
    return str(html).encode("utf-8", "backslashreplace").decode("utf-8")


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _read(name: str) -> str:
    return files("ragstone.report").joinpath(name).read_text("utf-8")
