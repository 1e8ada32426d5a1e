"""How to reproduce the run: the command, all settings with their hashes, and the versions."""

import shlex

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.metadata import flattened
from ragstone.report.section import Section, View

_TEMPLATE = """
{% if command %}<h3>{{ w.command }}</h3><pre><bdi>{{ command }}</bdi></pre><p>{{ w.same }}</p>{% endif %}
{% for title, note, entries in blocks %}
<h3>{{ title }}</h3>
{% if note %}<p>{{ note }}</p>{% endif %}
<div class="scroll" role="region" aria-label="{{ title }}" tabindex="0"><table class="pairs">
<thead><tr><th scope="col">{{ w.name }}</th><th scope="col">{{ w.value }}</th></tr></thead>
<tbody>
{% for name, text in entries.items() %}
<tr><th scope="row"><bdi>{{ name }}</bdi></th><td class="text mono"><bdi>{{ text }}</bdi></td></tr>
{% endfor %}
</tbody></table></div>
{% endfor %}
"""

_SHOWN_ELSEWHERE = ("command", "question", "notices", "warnings", "citation", "license")


def _body(view: View) -> Markup:
    w = messages(__name__, view.language)
    meta = view.run.meta
    command = meta.get("command") or ""
    rest = {key: value for key, value in meta.items() if key not in _SHOWN_ELSEWHERE}
    blocks = [
        (w["question"], w["question_note"], flattened(meta.get("question") or view.benchmark.question)),
        (w["systems"], "", flattened(dict(view.run.systems))),
        (w["versions"], "", flattened(rest)),
    ]
    return view.html(
        _TEMPLATE, w=w, command=shlex.join(map(str, command)) if isinstance(command, list | tuple) else str(command),
        blocks=[block for block in blocks if block[2]],
    )  # fmt: skip


PLUGINS = {"reproduce": Section(70, {"en": "How to reproduce", "zh": "如何复现"}, _body, folded=True)}
