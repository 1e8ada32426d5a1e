"""The needle test from what a user says about it: haystacks are read and counted, and every cell is planned."""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.niah.benchmark import MARKS, NIAH
from ragstone.benchmarks.niah.contexts import Hay
from ragstone.benchmarks.niah.grid import Spacing, depths_of, lengths_of
from ragstone.benchmarks.niah.needles import KINDS, read_needles
from ragstone.benchmarks.niah.planning import Planner, counted_hays
from ragstone.benchmarks.niah.rag import Rag, Searcher
from ragstone.benchmarks.niah.templates import NeedleTemplate, find_template
from ragstone.datasets.haystack import haystack
from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.models.tokenizers import ESTIMATE, TOKENIZERS, open_counter
from ragstone.retrieval import check_retriever, parse
from ragstone.retrieval.chunking import PRESETS

__all__ = ["ANSWER_TOKENS", "make_niah", "make_niah_async"]

ANSWER_TOKENS = 128  # the longest answer of the templates
_UNCOUNTED = ("local/extractive", "local/retrieval", "scripted/")  # which nobody counts for
_MOST_CELLS = 1_000_000


def make_niah(**options: Any) -> NIAH:
    """`make_niah_async`, where no event loop runs."""
    return asyncio.run(make_niah_async(**options))


async def make_niah_async(
    *,
    models: Sequence[str] = (),
    lengths: str | Sequence[float] = "1k:32k:15",
    depths: str | Sequence[float] = "0:100:15",
    depth_spacing: Spacing = "linear",
    languages: Sequence[str] = ("en",),
    needles: Sequence[str] = ("number",),
    templates: Sequence[str] = ("simple",),
    haystack_source: str | Path = "essays",
    needle_file: Path | None = None,
    control: bool = True,
    repeat: int = 1,
    seed: int = 0,
    tokenizer: str | None = None,
    window: int | None = None,
    answer_tokens: int = ANSWER_TOKENS,
    lanes: int | None = None,
    keys: int = 4,
    values: int = 1,
    queries: int = 2,
    distractors: int = 3,
    retrievers: Sequence[str] = (),
    chunks: Sequence[int] = (PRESETS["mirage"],),
    ks: Sequence[int] = (5,),
    whole: bool = False,
    retriever_base_url: str | None = None,
    model_options: ModelOptions | None = None,
) -> NIAH:
    """Plans every cell. `lengths`: tokens of prompt and answer together; `depths`: percent. `tokenizer`: who counts, by
    default the first model's own where somebody tells it. `window`: lengths beyond it are refused, by default the
    model's own where its server tells it. `retrievers`: contexts are cut into `chunks` of so many tokens, and the model
    gets the `ks` best that each of these finds, instead of the whole context; with `whole` that, too. The models that
    retrievers name are asked at `retriever_base_url`. Raises UsageError before anything is asked."""
    spans, places = lengths_of(lengths), depths_of(depths, depth_spacing)
    languages, needles = tuple(dict.fromkeys(languages)), tuple(dict.fromkeys(needles))
    rags = _rags(retrievers, chunks, ks)
    whole = whole or not rags
    cells_each = len(spans) * len(places) * len(templates) * (len(rags) + whole)
    _check(languages, needles, repeat, cells_each, max(spans) if whole else 0, window)
    held = _templates(templates)
    if needle_file is not None and "file" not in needles:
        raise UsageError(f"--needle-file {needle_file}: none of its needles is asked for; say --needle file, too.")
    own = read_needles(needle_file) if needle_file is not None else ()
    settings = {
        "lengths": spans, "depths": places, "languages": list(languages),
        "needles": list(needles), "templates": list(held), "repeat": repeat, "haystack": str(haystack_source),
        "control": control, **{name: list(dict.fromkeys(getattr(rag, one) for rag in rags))
                               for name, one in (("retrievers", "retriever"), ("chunks", "chunk"), ("ks", "k"))},
    }  # fmt: skip
    made = {language: haystack(language, source=haystack_source) for language in languages}  # type: ignore[arg-type]
    counting = tokenizer or next((name for name in models if not name.startswith(_UNCOUNTED)), "") or ESTIMATE
    async with open_counter(counting, model_options or ModelOptions(), chosen=tokenizer is not None) as counter:
        if whole and window is None and counter.window is not None and max(spans) > counter.window:
            raise UsageError(
                f"A length of {max(spans):,} tokens is beyond the window of {counter.id}, {counter.window:,} tokens. "
                "Ask for shorter --lengths, or say --window if you know better."
            )
        hays = await counted_hays(counter, {language: one.texts for language, one in made.items()}, repeat)
        about = {"keys": keys, "values": values, "queries": queries, "distractors": distractors, "own": own}
        planner = Planner(counter, hays, held, answer_tokens, seed, about)
        cells = []
        for language in languages:
            for kind in needles:
                for number in range(repeat):
                    asked = planner.needles(language, kind, number, spans, places)
                    cells += await planner.cells(language, kind, number, asked, control=control)
        name, widest = counter.id, window or counter.window
    searcher = Searcher(
        dataclasses.replace(model_options or ModelOptions(), base_url=retriever_base_url),
        {parse(name).name: name for name in retrievers},
    )
    cells = [*(cells if whole else ()), *(replace(cell, rag=rag) for rag in rags for cell in cells)]
    local = bool(models) and all(model.startswith("local/") for model in models)
    niah = NIAH(
        cells, hays, held, {language: one.sha256 for language, one in made.items()}, name, seed,
        lanes or (1 if local else 16), settings,
        (*_warnings(name, models), *(_repeating(hays, max(spans)) if rags else ())), searcher if rags else None,
    )  # fmt: skip
    if widest is not None and niah.window - MARKS > widest:
        raise UsageError(
            f"{max(chunks)} × {max(ks)} tokens of chunks and the prompt may be more than the window of {widest:,} "
            "tokens: ask for fewer chunks (--top-k) or smaller ones (--chunk)."
        )
    return niah


def _check(
    languages: Sequence[str], needles: Sequence[str], repeat: int, cells: int, longest: int, window: int | None
) -> None:
    """Raises UsageError for what cannot be, before anything is counted."""
    for given, known, what in ((languages, ("en", "zh"), "language"), (needles, KINDS, "needle")):
        for name in given:
            if name not in known:
                raise UnknownName(what, name, known)
    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: each cell is asked at least once.")
    if window is not None and longest > window:
        raise UsageError(f"A length of {longest:,} tokens is beyond the window of {window:,} (--window).")
    if (total := cells * len(languages) * len(needles) * repeat) > _MOST_CELLS:
        raise UsageError(f"{total:,} cells are too many: ask for fewer lengths, depths or repeats.")
    if not cells * len(languages) * len(needles):
        raise UsageError("Nothing to ask: name at least one language, needle and template.")


def _templates(names: Sequence[str]) -> dict[str, NeedleTemplate]:
    """The templates by their names. Raises UsageError where two have one name, and what `find_template` raises."""
    held: dict[str, NeedleTemplate] = {}
    for asked in dict.fromkeys(names):
        template = find_template(asked)
        if template.name in held:
            raise UsageError(f"--template {asked}: another template is called {template.name!r}, too. Rename one.")
        held[template.name] = template
    return held


def _rags(retrievers: Sequence[str], chunks: Sequence[int], ks: Sequence[int]) -> list[Rag]:
    """Every way to search. Raises UsageError for a retriever, a chunk or a number of chunks that cannot be."""
    for name in retrievers:
        if "run:" in name:
            raise UsageError(
                f"--retriever {parse(name).name}: a recorded run knows no needles. Name a retriever that searches."
            )
        check_retriever(name)
    if retrievers and (not chunks or min(chunks) < 1):
        raise UsageError(f"--chunk {min(chunks, default=0)}: a haystack is one text; say how many tokens a chunk has.")
    if retrievers and (not ks or min(ks) < 1):
        raise UsageError(f"--top-k {min(ks, default=0)}: the model gets at least one chunk.")
    names = dict.fromkeys(parse(name).name for name in retrievers)
    return [Rag(*one) for one in product(names, dict.fromkeys(chunks), dict.fromkeys(ks))]


def _repeating(hays: Mapping[tuple[str, int], Hay], longest: int) -> Iterator[str]:
    """What to know where a context holds the same chunks several times."""
    shortest = min(hay.tokens[-1] for hay in hays.values())
    if longest > shortest:
        yield (
            f"The haystack has {shortest:,} tokens and is repeated in longer contexts, where a retriever finds chunks "
            "several times; --haystack DIR takes more texts."
        )


def _warnings(counted_by: str, models: Sequence[str]) -> tuple[str, ...]:
    """What to know about the lengths."""
    if counted_by != ESTIMATE or all(name.startswith(_UNCOUNTED) for name in models):
        return ()
    others = ", ".join(name for name in TOKENIZERS if name != ESTIMATE)
    return (f"Lengths are counted by {ESTIMATE}, which is within about a quarter; --tokenizer has others: {others}.",)
