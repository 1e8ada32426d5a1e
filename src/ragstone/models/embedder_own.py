"""An embedder of the user's own: code by its location, a live object, or an HTTP address.

    mine.py:embed                 a function (texts) or (texts, kind) or a coroutine that returns a vector for each text
    mine.py:model                 an object: of ragstone, of LangChain or LlamaIndex, of sentence-transformers
    mine.py:Model                 a class or a function without parameters that makes one of these
    http(http://localhost:8000/embed,body={"inputs": "{texts}"},vectors=data[].embedding)

Named code runs in a process of its own. Options of `http`: `method`, `headers` (JSON; `$NAME` is read from the
environment), `body` (JSON with `{texts}` and `{kind}`, which is query or passage), and `vectors` (JMESPath).
"""

import base64
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ragstone.errors import BadReply, SystemFailed, UsageError
from ragstone.models.embedder_cached import CachedEmbedder, identity_of, unit_vectors
from ragstone.models.nested_names import Spec, is_http, parse
from ragstone.models.options import ModelOptions
from ragstone.types import Embedder
from ragstone.user_code.calls import Served, guarded, makes_object, result_of, with_article
from ragstone.user_code.isolated import IsolatedCode, open_isolated_code, source_hash

if TYPE_CHECKING:
    import numpy as np

_DEFAULT_BODY = '{"texts": "{texts}"}'
_VECTORS = ("vectors", "embeddings", "data", "embedding", "outputs")
Function = Callable[[list[str], str], Any]


@dataclass
class OwnEmbedder:
    """Calls `function(texts, kind)` of the user's, which returns vectors or an awaitable of them. blocks: it runs in a
    thread. timeout: seconds for one call. Raises BadReply, with the line of the user's code."""

    id: str
    function: Function
    blocks: bool = True
    timeout: float = 120.0

    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        try:
            value = await guarded(lambda: result_of(self.function, list(texts), kind, blocks=self.blocks), self.timeout)
        except SystemFailed as error:
            raise BadReply(f"{self.id}: {' '.join(str(error).split())}") from None
        return unit_vectors(_listed(value), len(texts), self.id)


def embedder_from(target: Any, name: str, *, timeout: float = 120.0) -> Embedder:
    """The embedder that `target` is or makes. `name` becomes its id, if it has none. Raises UsageError."""
    made = target() if makes_object(target) else target
    if hasattr(made, "id") and hasattr(made, "embed") and not isinstance(made, type):
        embedder: Embedder = made
        return embedder
    if (function := _function_of(made)) is not None:
        return OwnEmbedder(name, function, timeout=timeout)
    if not callable(made):
        raise UsageError(
            f"{name} is {with_article(type(made).__name__)}, which is not an embedder: pass PROVIDER/MODEL, an object "
            f"with an `embed` method, one of LangChain, LlamaIndex or sentence-transformers, or a function of texts."
        )
    called = made if inspect.isroutine(made) else made.__call__
    takes_kind = _takes_kind(called, name)
    return OwnEmbedder(
        name, lambda texts, kind: called(texts, **({"kind": kind} if takes_kind else {})),
        blocks=not inspect.iscoroutinefunction(called), timeout=timeout,
    )  # fmt: skip


def can_embed(target: Any) -> bool:
    """Whether an object can be an embedder. Nothing is called or made."""
    return hasattr(target, "embed") or callable(target) or _function_of(target) is not None


def _function_of(target: Any) -> Function | None:
    """How to call an object of LangChain, LlamaIndex or sentence-transformers; None for another one."""
    if hasattr(target, "embed_documents") and hasattr(target, "embed_query"):
        return lambda texts, kind: (
            [target.embed_query(text) for text in texts] if kind == "query" else target.embed_documents(texts)
        )
    if hasattr(target, "get_text_embedding_batch"):
        return lambda texts, kind: (
            [target.get_query_embedding(text) for text in texts]
            if kind == "query"
            else target.get_text_embedding_batch(texts)
        )
    if hasattr(target, "encode"):
        for_queries = getattr(target, "encode_query", target.encode)
        for_passages = getattr(target, "encode_document", target.encode)
        return lambda texts, kind: for_queries(texts) if kind == "query" else for_passages(texts)
    return None


def _takes_kind(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C
        return False
    others = [item for item in parameters[1:] if item.name != "kind"]
    missing = [item.name for item in others if item.default is item.empty and item.kind not in (2, 4)]
    if not parameters or missing:
        problem = f"needs the parameter {missing[0]!r}, which ragstone does not know" if missing else "takes no texts"
        raise UsageError(f"{name} {problem}: an embedder is a function of a list of texts, and of `kind` if it likes.")
    return any(item.name == "kind" for item in parameters)


def _listed(value: Any) -> Any:
    """Vectors in a form that numpy reads: a generator as a list, tensors without their gradients."""
    if hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    return list(value) if hasattr(value, "__next__") else value


def serve_embedder(target: Any, settings: Mapping[str, Any]) -> Served:
    """The embedder in a process of its own, for `user_code.worker`: takes texts, returns float32 in base64."""
    place, timeout = settings["place"], settings["timeout"]
    embedder = embedder_from(target, place, timeout=timeout)

    own = embedder if isinstance(embedder, OwnEmbedder) else None

    async def call(value: Mapping[str, Any]) -> dict[str, Any]:
        texts, kind = value["texts"], value["kind"]
        raw = await (own.embed(texts, kind=kind) if own else guarded(lambda: embedder.embed(texts, kind=kind), timeout))
        vectors = unit_vectors(raw, len(texts), embedder.id)
        return {"shape": list(vectors.shape), "data": base64.b64encode(vectors.astype("<f4").tobytes()).decode("ascii")}

    kind = f"{type(embedder).__module__}.{type(embedder).__qualname__}"
    return Served({"id": embedder.id, "class": kind}, call, own is not None and own.blocks)


class _IsolatedEmbedder:
    """An embedder in a process of its own."""

    def __init__(self, code: IsolatedCode) -> None:
        self.id: str = code.about["id"]
        self._code = code

    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        import numpy as np  # noqa: PLC0415

        try:
            reply = await self._code.call({"texts": list(texts), "kind": kind})
        except SystemFailed as error:
            text = " ".join(str(error).split())
            raise BadReply(text if text.startswith(self.id) else f"{self.id}: {text}") from None
        return np.frombuffer(base64.b64decode(reply["data"]), dtype="<f4").reshape(reply["shape"])


class _HttpEmbedder:
    """An embedder at an address."""

    def __init__(self, spec: Spec, call: Any) -> None:
        from ragstone.models.http_call import compiled_path  # noqa: PLC0415

        self.id, self._call, self._path = spec.name, call, spec.options.get("vectors", "")
        self._vectors = compiled_path(self._path)

    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        reply = await self._call.ask({"texts": list(texts), "kind": kind})
        found = self._vectors(reply) if self._path else _usual_vectors(reply)
        if not isinstance(found, list):
            where = f"at {self._path!r}" if self._path else "in the reply"
            raise BadReply(f"{self._call.where}: there is no list of vectors {where}.")
        return unit_vectors(found, len(texts), self._call.where)


def _usual_vectors(reply: Any) -> Any:
    if isinstance(reply, dict):
        reply = next((reply[name] for name in _VECTORS if isinstance(reply.get(name), list)), None)
    if isinstance(reply, list) and reply and all(isinstance(item, dict) for item in reply):
        return [item.get("embedding", item.get("vector")) for item in reply]
    return reply


def http_embedder_call(name: str, options: ModelOptions) -> Any:
    """The spec and the call of an embedder at an address. Raises UsageError."""
    from ragstone.models.http_call import named_call  # noqa: PLC0415  (loads aiohttp)

    spec = parse(name).only("method", "headers", "body", "vectors")
    return spec, named_call(spec, options, names=("texts", "kind"), body=_DEFAULT_BODY)


@contextlib.asynccontextmanager
async def open_own_embedder(target: Any, options: ModelOptions) -> AsyncIterator[Embedder]:
    """Opens a location, an address or an object. Its vectors get unit length, and are cached where what made them is
    known: by the file of named code or of the object's class, or by the address. Raises UsageError."""
    async with contextlib.AsyncExitStack() as stack:
        own: Embedder
        identity: dict[str, str] | None = None
        if isinstance(target, CachedEmbedder):  # one that was opened here before
            yield target
            return
        if not isinstance(target, str):
            name = str(getattr(target, "__name__", "") or type(target).__name__)
            own = embedder_from(target, name, timeout=options.deadline)
            identity = None if isinstance(own, OwnEmbedder) else identity_of(own)
        elif is_http(target):
            spec, call = http_embedder_call(target, options)
            own, identity = _HttpEmbedder(spec, await stack.enter_async_context(call)), {"address": spec.name}
        else:
            opening = open_isolated_code(
                target, "embedder", "ragstone.models.embedder_own:serve_embedder", timeout=options.deadline,
                threads=options.in_flight,
            )  # fmt: skip
            code = await stack.enter_async_context(opening)
            own = _IsolatedEmbedder(code)
            sha = source_hash(target)
            identity = {"id": own.id, "class": code.about["class"], "place": target, "source": sha} if sha else None
        folder = options.cache if identity else None
        cached = CachedEmbedder(own, folder, identity=identity or {}, kinds=True)
        yield await stack.enter_async_context(cached)
