"""What pages that write share: the fields of a form, and the file of labels."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ragstone.errors import UsageError
from ragstone.labels import LabelStore
from ragstone.web.page import library_of, link
from ragstone.web.security import check_expert

_MOST_FIELDS = 2_000


class Form:
    """The fields that a page sent, in their order."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self._fields = fields

    def all(self, name: str) -> list[str]:
        """All values of a field, with the line ends of a text."""
        return [value.replace("\r\n", "\n") for known, value in self._fields if known == name]

    def get(self, name: str) -> str:
        """The first value of a field, "" if it is not there."""
        return next(iter(self.all(name)), "")


def posted(handler: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that reads a form and answers in a thread, as reading and writing files takes time."""

    async def endpoint(request: Request) -> Response:
        try:
            text = (await request.body()).decode("utf-8")
            fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise UsageError("The fields of the form are not readable: open the page again.") from None
        check_expert(request.scope, fields)
        return await run_in_threadpool(handler, request, Form(fields))

    return endpoint


def seen(request: Request, path: str, pairs: Mapping[str, str]) -> Response:
    """The answer to a form that was done: the page to look at next."""
    return RedirectResponse(link(request, path, **pairs), 303)


def labels_of(request: Request) -> LabelStore:
    """The file of labels that is served, open until the caller closes it; only a form writes. Raises UsageError
    if there is none."""
    path = library_of(request).labels
    if path is None:
        raise UsageError("The viewer was started without a file of labels: start it with --labels FILE.")
    if not path.exists():
        raise UsageError(f"{path} is not there: ragstone annotate makes it.")
    return LabelStore.open(path, write=request.method == "POST")
