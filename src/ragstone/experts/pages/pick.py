"""`/annotate/case`: from the page of a case to its labels and its gold, whether or not it was drawn for the round."""

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.datasets.tabular.items import Item
from ragstone.labels import LabelStore, items_of, task_named
from ragstone.labels.items import Candidate
from ragstone.labels.sampling import PICKED
from ragstone.messages import messages
from ragstone.report.section import Canvas
from ragstone.types import Record
from ragstone.web.forms import Form, labels_of, posted, seen
from ragstone.web.page import address, library_of


def case_buttons(request: Request, canvas: Canvas, run: str, record: Record) -> Markup:
    """The buttons of a case page that lead to labelling its answer and to editing its gold; nothing where the viewer
    has no file of labels. `run`: the name of the run."""
    if library_of(request).labels is None:
        return Markup()
    fields = {
        name: Markup.escape(value)
        for name, value in (("run", run), ("system", record.system_id), ("id", record.case.id))
    }
    return canvas.html(
        "experts/pick.html",
        w=messages(__name__, canvas.language),
        fields=fields,
        action=address(request, "/annotate/case"),
    )


def _pick(request: Request, form: Form) -> Response:
    """Makes an item of a case if it is none yet, and its question one of the file's; then leads to the one or the
    other."""
    library = library_of(request)
    with library.opened(form.get("run")) as run, library.index(form.get("run")) as index, labels_of(request) as store:
        record = index.record(form.get("system"), form.get("id"))
        _add_sample(store, record)
        if form.get("then") == "gold":
            return seen(request, "/gold/question", {"id": record.case.sample.id})
        key = ("answer", record.system_id, record.case.id)
        items = list(items_of([record], {key: Candidate(key)}, source=run.run.file_id, by=PICKED))
        if not any(task.kind == "answer" for task in store.tasks()):
            store.add_tasks([task_named("correct")])
        store.add_items(items)
    return seen(request, "/annotate", {"item": items[0][0].id if items else ""})


def _add_sample(store: LabelStore, record: Record) -> None:
    case = record.case
    rows = [source.row for source in store.samples()]
    store.add_samples([Item(case.sample, row=max(rows, default=0) + 1, history=case.query.history)])


ROUTES = (Route("/annotate/case", posted(_pick), methods=["POST"]),)
