"""`/disputes`: items on which experts do not agree, for somebody to settle."""

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.experts.pages.annotate import desk
from ragstone.labels import Label, LabelStore
from ragstone.report.sanitize import one_line
from ragstone.web.forms import labels_of
from ragstone.web.page import address, canvas_of, parameter

_MOST = 500


def _queue(request: Request) -> Response:
    """The disputes, open ones first."""
    canvas, words = canvas_of(request, __name__)
    expert = parameter(request, "expert")
    rows = []
    with labels_of(request) as store:
        found = sorted(_disputes(store), key=lambda dispute: bool(dispute[1]))
        for given, settled in found[:_MOST]:
            task = store.task(given[0].task)
            fields = {"expert": expert, "task": task.name, "item": given[0].item, "settles": "1"}
            titles = {choice.value: choice.title.to(canvas.language) or choice.value for choice in task.choices}
            rows.append({
                "href": address(request, "/annotate/item", fields), "task": task.question.to(canvas.language),
                "question": one_line(store.item(given[0].item).question, 160),
                "given": [(label.expert, titles[label.value]) for label in given],
                "settled": f"{titles[settled[-1].value]} ({settled[-1].expert})" if settled else "",
            })  # fmt: skip
    body = canvas.html(
        "experts/disputes.html", w=words, rows=rows, count=sum(not settled for _, settled in found),
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
