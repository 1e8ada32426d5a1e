"""The files of the viewer that are the same for all pages: style sheets and scripts of our own, and htmx."""

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


def _read() -> Mapping[str, bytes]:
    shared = ("report.css", "labelling.css", "labelling.js")
    found = {name: files("ragstone.report").joinpath(name).read_bytes() for name in shared}
    for file in files("ragstone.web").joinpath("static").iterdir():
        if file.name.rpartition(".")[2] in _TYPES:
            found[file.name] = file.read_bytes()
    return found


_FILES = _read()
STATIC_VERSION = sha256(b"".join(_FILES[name] for name in sorted(_FILES))).hexdigest()[:12]
"""Changes with the contents, so that a browser may keep the files."""


async def static_file(request: Request) -> Response:
    """One of the files by its name."""
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404)
    kept = "public, max-age=31536000, immutable" if request.query_params.get("v") == STATIC_VERSION else "no-cache"
    return Response(_FILES[name], media_type=_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": kept})
