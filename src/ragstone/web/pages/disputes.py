"""`/disputes`: items on which experts do not agree, for somebody to settle."""

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.labels import Label, LabelStore
from ragstone.messages import messages
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.web.forms import labels_of
from ragstone.web.page import address, language_of, parameter
from ragstone.web.pages.annotate import desk

_MOST = 500

_QUEUE = """<div class="desk">
<p>{{ w.lead.format(n=count) }} <a href="{{ up }}">{{ w.up }}</a></p>
{% if rows %}<div class="scroll" role="region" aria-label="{{ w.title }}" tabindex="0"><table class="rows"><thead><tr><th scope="col">{{ w.question }}</th><th scope="col">{{ w.task }}</th><th scope="col">{{ w.said }}</th><th scope="col">{{ w.state }}</th></tr></thead><tbody>
{% for row in rows %}<tr data-row><th scope="row"><a href="{{ row.href }}"><bdi>{{ row.question }}</bdi></a></th><td class="txt"><bdi>{{ row.task }}</bdi></td>
<td class="txt">{% for expert, value in row.given %}<bdi>{{ expert }}</bdi>: {{ value }}{% if not loop.last %} · {% endif %}{% endfor %}</td>
<td class="txt">{% if row.settled %}<span class="badge good">{{ row.settled }}</span>{% else %}<span class="badge">{{ w.open }}</span>{% endif %}</td></tr>
{% endfor %}</tbody></table></div>{% endif %}
</div>
"""  # noqa: E501  a template


def _queue(request: Request) -> Response:
    """The disputes, open ones first."""
    language = language_of(request)
    canvas, words = Canvas(language), messages(__name__, language)
    expert = parameter(request, "expert")
    rows = []
    with labels_of(request) as store:
        found = sorted(_disputes(store), key=lambda dispute: bool(dispute[1]))
        for given, settled in found[:_MOST]:
            task = store.task(given[0].task)
            fields = {"expert": expert, "task": task.name, "item": given[0].item, "settles": "1"}
            titles = {choice.value: choice.title.to(language) or choice.value for choice in task.choices}
            rows.append({
                "href": address(request, "/annotate/item", fields), "task": task.question.to(language),
                "question": one_line(store.item(given[0].item).question, 160),
                "given": [(label.expert, titles[label.value]) for label in given],
                "settled": f"{titles[settled[-1].value]} ({settled[-1].expert})" if settled else "",
            })  # fmt: skip
    body = canvas.html(
        _QUEUE, w=words, rows=rows, count=sum(not settled for _, settled in found),
        up=address(request, "/annotate", {"expert": expert}),
    )  # fmt: skip
    return desk(request, canvas, words["title"], body)


def _disputes(store: LabelStore) -> Iterator[tuple[list[Label], list[Label]]]:
    """The labels of each item and task on which experts differ, and those that settle it."""
    groups: dict[tuple[str, str], tuple[list[Label], list[Label]]] = {}
    for label in store.labels():
        groups.setdefault((label.task, label.item), ([], []))[label.adjudicated].append(label)
    return (group for group in groups.values() if len({label.value for label in group[0]}) > 1)


ROUTES = (Route("/disputes", _queue),)
