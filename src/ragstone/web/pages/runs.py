"""`/`: the runs of the folder."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.messages import messages
from ragstone.report.section import Canvas
from ragstone.web.page import address, language_of, library_of, page

__all__ = ["ROUTES"]

_LIST = """
{% if not runs %}<p>{{ w.none }}</p>{% else %}
<div class="scroll" role="region" aria-label="{{ w.heading }}" tabindex="0"><table class="rows"><thead><tr><th scope="col">{{ w.run }}</th></tr></thead>
<tbody>{% for name, href in runs %}<tr data-row><th scope="row"><a href="{{ href }}"><bdi>{{ name }}</bdi></a></th></tr>
{% endfor %}</tbody></table></div>{% endif %}
"""  # noqa: E501  a template


def _runs(request: Request) -> Response:
    language = language_of(request)
    canvas, words = Canvas(language), messages(__name__, language)
    runs = [(name, address(request, "/run", {"run": name})) for name in library_of(request).runs()]
    body = canvas.html(_LIST, runs=runs, w=words)
    return page(request, canvas, [("runs", words["heading"], body)], heading=words["heading"])


ROUTES = (Route("/", _runs),)
