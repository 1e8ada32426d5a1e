"""`/annotate`: experts label items, one at a time, blind to who answered and how it was scored.

Every form is a label of its own: what is chosen, marked or written is kept at once. The store has the versions, so that
undo goes back over items, another browser goes on where this one stopped, and two experts do not meet.
"""

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.errors import UsageError
from ragstone.labels import Label, LabelItem, LabelStore, Marked, Task
from ragstone.labels.records import checked_name
from ragstone.messages import messages
from ragstone.report.label_item import item_html
from ragstone.report.section import Canvas
from ragstone.structs import from_json
from ragstone.web.assets import STATIC_VERSION
from ragstone.web.forms import Form, labels_of, posted, seen
from ragstone.web.page import address, canvas_of, link, page, parameter


def desk(request: Request, canvas: Canvas, title: str, body: Markup) -> Response:
    """A page for experts, with the style and the scripts of labelling."""
    head = canvas.html("experts/labelling_head.html", v=STATIC_VERSION)
    return page(request, canvas, [("desk", title, body)], heading=title, more_head=head)


def _round(request: Request) -> Response:
    """The choice of an expert, then the tasks of this expert."""
    canvas, words = canvas_of(request, __name__)
    expert, item = request.query_params.get("expert", "").strip(), request.query_params.get("item", "")
    with labels_of(request) as store:
        kinds = {store.item(item).kind} if item else {task.kind for task in store.tasks()}
        team = bool(store.get("team"))
        if expert:
            _check(store, expert)
        tasks: list[tuple[str, str, int, int, bool]] = []
        for task in (task for task in store.tasks() if expert and task.kind in kinds):
            work = store.work(expert, task.name)
            size, count = len(work) if team else store.size(task.name), sum(done for _, _, done in work)
            first = count < size and not any(row[-1] for row in tasks)
            tasks.append((task.name, task.question.to(canvas.language), count, size, first))
        experts = [(name, link(request, "/annotate", expert=name, item=item)) for name in store.experts()]
    links = [(address(request, "/disputes", {"expert": expert}), words["disputes"]),
             (address(request, "/gold", {"by": expert}), words["gold"])]  # fmt: skip
    body = canvas.html(
        "experts/round.html", w=words, expert=expert, experts=experts, team=team, tasks=tasks, links=links,
        done=request.query_params.get("done") == "1", lang=request.query_params.get("lang", ""),
        item=item, others=link(request, "/annotate", item=item), next=address(request, "/annotate/next"),
    )  # fmt: skip
    return desk(request, canvas, words["title"], body)


def _check(store: LabelStore, expert: str) -> None:
    """Raises UsageError for a name that cannot be one, or is not of the team."""
    checked_name(expert)
    if store.get("team") and expert not in store.experts():
        raise UsageError(f"{expert[:40]!r} is not one of the experts of this round: {', '.join(store.experts())}.")


def _item(request: Request) -> Response:
    """One item with its fields."""
    canvas, words = canvas_of(request, __name__)
    expert, settles = parameter(request, "expert"), request.query_params.get("settles") == "1"
    with labels_of(request) as store:
        _check(store, expert)
        task, item = store.task(parameter(request, "task")), store.item(parameter(request, "item"))
        given = [label for label in store.labels(task.name) if label.item == item.id]
        work = store.work(expert, task.name)
        total = len(work) if store.get("team") else store.size(task.name)
    entered = next((other for other in given if (other.expert, other.adjudicated) == (expert, settles)), None)
    hidden = {"expert": expert, "task": task.name, "item": item.id, "settles": "1" if settles else ""}
    ids = [found for found, _, _ in work]
    place = ids.index(item.id) if item.id in ids else len(ids)
    said = words["undone"] if request.query_params.get("undone") else ""
    body = canvas.html(
        "experts/desk.html", w=words, expert=expert, place=place + 1, total=max(total, place + 1), said=said,
        done=sum(done for _, _, done in work), body=item_html(canvas, item, task, entered), hidden=hidden,
        above=_opinions(canvas, item, task, [other for other in given if not other.adjudicated]) if settles else "",
        up=address(request, "/disputes" if settles else "/annotate", {"expert": expert}),
        save=address(request, "/annotate/label"), undo=address(request, "/annotate/undo"),
        edit=_gold(request, expert, item, task),
        back=link(request, "/annotate/item", **(hidden | {"item": ids[place - 1]})) if place and not settles else "",
    )  # fmt: skip
    return desk(request, canvas, task.question.to(canvas.language), body)


def _gold(request: Request, expert: str, item: LabelItem, task: Task) -> str:
    """The address of the edit of the question, if a choice of the task says that it was."""
    if not any(choice.edits for choice in task.choices):
        return ""
    return address(request, "/gold/question", {"id": item.sample_id, "by": expert})


def _opinions(canvas: Canvas, item: LabelItem, task: Task, given: list[Label]) -> Markup:
    """The experts' opinions, for whoever settles the dispute."""
    rows = [
        (label.expert, _title(task, label.value, canvas.language), label.comment, [span.text for span in label.spans])
        for label in given
    ]
    return canvas.html("experts/opinions.html", w=messages(__name__, canvas.language), given=rows)


def _title(task: Task, value: str, language: str) -> str:
    return task.choice(value).title.to(language) or value


def _label(request: Request, form: Form) -> Response:
    """Keeps what is entered, and goes on to the next item; a script only has it kept."""
    expert, name, item = form.get("expert"), form.get("task"), form.get("item")
    with labels_of(request) as store:
        _check(store, expert)
        label = Label(
            item, name, expert, form.get("value"), _spans(form.get("spans")), form.get("comment").strip(),
            _seconds(form.get("seconds")), adjudicated=form.get("settles") == "1", source="web",
        )  # fmt: skip
        if label.value:
            _keep(store, label)
        if form.get("stay"):
            return Response(status_code=204)
        if label.adjudicated:
            return seen(request, "/disputes", {"expert": expert})
        return _go(request, store, expert, name, item)


def _keep(store: LabelStore, label: Label) -> None:
    """Writes a label unless it is the one that stands: a form that is sent twice is one version."""
    label = label.checked(store.item(label.item))
    standing = [
        other for other in store.labels(label.task, expert=label.expert)
        if (other.item, other.adjudicated) == (label.item, label.adjudicated)
    ]  # fmt: skip
    if not any(label.same_as(other) for other in standing):
        store.put(label)


def _spans(text: str) -> tuple[Marked, ...]:
    try:
        return tuple(from_json(text or "[]", list[Marked]))
    except ValueError:
        raise UsageError("The marks of the form are not readable: open the item again.") from None


def _seconds(text: str) -> float | None:
    try:
        return round(float(text), 1) if text else None
    except ValueError:
        raise UsageError("The time of the form is no number: open the item again.") from None


def _go(request: Request, store: LabelStore, expert: str, name: str, after: str = "") -> Response:
    """The item after this one, else the next one that this expert should label, else the end."""
    work = store.work(expert, name)
    ids = [item for item, _, _ in work]
    open_items = [item for item, _, done in work if not done and item != after]
    later = ids[ids.index(after) + 1 :] if after in ids else open_items
    if not later:
        new = store.next_item(expert, name, skip=[(item, name) for item in {*open_items, after} if item])
        later = [new.item.id] if new is not None else open_items
    fields = {"expert": expert, "task": name}
    return seen(request, "/annotate/item", fields | {"item": later[0]}) if later else seen(
        request, "/annotate", {"expert": expert, "done": "1"}
    )  # fmt: skip


def _next(request: Request, form: Form) -> Response:
    with labels_of(request) as store:
        _check(store, form.get("expert"))
        task = store.task(form.get("task")).name
        if item := form.get("item"):
            return seen(request, "/annotate/item", {"expert": form.get("expert"), "task": task, "item": item})
        return _go(request, store, form.get("expert"), task)


def _undo(request: Request, form: Form) -> Response:
    """Takes back the last step of this expert, and shows the item that it was about."""
    with labels_of(request) as store:
        _check(store, form.get("expert"))
        undone = store.undo(form.get("expert"))
    fields = {name: form.get(name) for name in ("expert", "task", "item", "settles")}
    if undone is not None:
        fields |= {
            "task": undone.task,
            "item": undone.item,
            "settles": "1" if undone.adjudicated else "",
            "undone": "1",
        }
    return seen(request, "/annotate/item", fields)


ROUTES = (
    Route("/annotate", _round),
    Route("/annotate/item", _item),
    Route("/annotate/next", posted(_next), methods=["POST"]),
    Route("/annotate/label", posted(_label), methods=["POST"]),
    Route("/annotate/undo", posted(_undo), methods=["POST"]),
)
