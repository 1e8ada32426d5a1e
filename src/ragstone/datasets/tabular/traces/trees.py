"""Puts the spans of traces together: one tree for each root."""

from collections.abc import Sequence

from ragstone.datasets.tabular.traces.span import TraceSpan

_PARTS = ("retriever", "reranker", "llm", "tool")  # kinds of spans that answer nothing by themselves


def roots_of(spans: Sequence[TraceSpan]) -> tuple[list[TraceSpan], int, int]:
    """The root spans, with their descendants as `children`, in the order of the data; how many roots were missing; and
    how many spans were in circles of parents.

    A span that was exported twice is one. Parts of an answer whose root is missing (it may come in a later export) are
    put together under a root without input and output. Of a circle, the earliest span is the root."""
    known: dict[tuple[str, str], TraceSpan] = {}
    for place, span in enumerate(spans):
        key = (span.trace, span.id or f"#{place}")
        earlier = known.get(key)
        if earlier is None or earlier.end is None or span.end is not None:
            known[key] = span
    roots: list[TraceSpan] = []
    missing: dict[tuple[str, str], TraceSpan] = {}
    for span in known.values():
        parent = known.get((span.trace, span.parent)) if span.parent else None
        if parent is not None and parent is not span:
            parent.children.append(span)
        elif span.parent and parent is None and span.kind in _PARTS:
            lost = missing.get((span.trace, span.parent))
            if lost is None:
                lost = missing[span.trace, span.parent] = TraceSpan(span.where, span.trace, span.parent, "")
                roots.append(lost)
            lost.children.append(span)
        else:
            roots.append(span)
    circles = _open_circles(list(known.values()), roots)
    for lost in missing.values():
        lost.start = min((span.start for span in lost.children if span.start is not None), default=None)
    return roots, len(missing), circles


def _open_circles(spans: Sequence[TraceSpan], roots: list[TraceSpan]) -> int:
    """Adds a root for each circle of parents; returns the number of spans that no root reached."""
    reached = {id(span) for root in roots for span in root.below()}
    lost = sorted((span for span in spans if id(span) not in reached), key=lambda span: span.start or 0.0)
    parents = {id(child): span for span in lost for child in span.children}
    for span in lost:
        if id(span) not in reached:
            parents[id(span)].children.remove(span)
            roots.append(span)
            reached.update(id(inner) for inner in span.below())
    return len(lost)
