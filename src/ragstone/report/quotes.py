"""Find the quotes of a judge in the passages, as highlights for the page."""

from collections.abc import Sequence

from ragstone.display import Span
from ragstone.metrics.judge.record import AnswerClaim, Judged, ReferenceClaim
from ragstone.text.quoting import find_quote

_SEARCHED = 60_000  # characters of a passage that are searched


def quote_spans(judged: Judged, texts: Sequence[str]) -> tuple[dict[int, list[Span]], set[str]]:
    """Highlights by passage (`match` where a quote supports its claim, `wrong` where it only contradicts), and the
    quotes that are missing from the passages they refer to. `texts` are the passages in order."""
    spans: dict[int, list[Span]] = {}
    missing: set[str] = set()
    claims: list[AnswerClaim | ReferenceClaim] = [*judged.answer_claims, *judged.reference_claims]
    for claim in claims:
        for quote in claim.quotes:
            located = False
            for place in [quote.place] if quote.place else (*claim.supported_by, *claim.contradicted_by):
                text = texts[place - 1][:_SEARCHED] if place <= len(texts) else ""
                if (position := find_quote(quote.text, text)) is not None:
                    located = True
                    kind = "match" if place in claim.supported_by else "wrong"
                    spans.setdefault(place, []).append(Span(str(place), *position, kind))  # type: ignore[arg-type]
            if not located:
                missing.add(quote.text)
    return spans, missing
