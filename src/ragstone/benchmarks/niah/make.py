"""The needle test from what a user says about it: haystacks are read and counted, and every cell is planned."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragstone.benchmarks.niah.benchmark import MARKS, NIAH
from ragstone.benchmarks.niah.contexts import Haystack
from ragstone.benchmarks.niah.grid import depths_of, lengths_of
from ragstone.benchmarks.niah.needles import KINDS, read_needles
from ragstone.benchmarks.niah.planning import Planner, counted_hays
from ragstone.benchmarks.niah.retrieved_context import Rag, Searcher
from ragstone.benchmarks.niah.templates import NeedleTemplate, find_template
from ragstone.benchmarks.options import fields_of
from ragstone.benchmarks.plugin import Context
from ragstone.datasets.haystack import haystack
from ragstone.errors import UnknownName, UsageError
from ragstone.models.tokenizers import ESTIMATE, TOKENIZERS, open_counter
from ragstone.retrieval import check_retriever, parse

if TYPE_CHECKING:
    from ragstone.benchmarks.niah.plugin import NeedleOptions

__all__ = ["ANSWER_TOKENS", "make"]

ANSWER_TOKENS = 128  # the longest answer of the templates
_UNCOUNTED = ("local/extractive", "local/retrieval", "scripted/")  # which nobody counts for
_MOST_CELLS = 1_000_000


async def make(options: "NeedleOptions", context: Context) -> NIAH:
    """Plans every cell. Raises UsageError before anything is asked."""
    spans, places = lengths_of(options.lengths), depths_of(options.depths, options.depth_spacing)  # type: ignore[arg-type]
    languages, needles, models, repeat = options.data_languages, options.needles, context.models, options.repeat
    rags = _rags(options.retrievers, options.chunks, options.ks)
    whole = options.whole or not rags
    cells_each = len(spans) * len(places) * len(options.templates) * (len(rags) + whole)
    window, longest = options.window, max(spans) if whole else 0
    _check(languages, needles, repeat, cells_each, longest, window)
    templates = _templates(options.templates)
    _check_unused(options)
    own = read_needles(options.needle_file) if options.needle_file is not None else ()
    source = options.haystack_source
    settings = {
        "lengths": spans, "depths": places, "languages": list(languages),
        "needles": list(needles), "templates": list(templates), "repeat": repeat, "haystack": source,
        "control": options.control, "retrievers": list(dict.fromkeys(rag.retriever for rag in rags)),
        "chunks": list(dict.fromkeys(rag.chunk for rag in rags)), "ks": list(dict.fromkeys(rag.k for rag in rags)),
    }  # fmt: skip
    stacks = {language: haystack(language, source=source) for language in languages}  # type: ignore[arg-type]
    chosen = options.tokenizer is not None
    counting = options.tokenizer or next((name for name in models if not name.startswith(_UNCOUNTED)), "") or ESTIMATE
    async with open_counter(counting, context.model_options, chosen=chosen) as counter:
        if whole and window is None and counter.window is not None and longest > counter.window:
            raise UsageError(
                f"A length of {longest:,} tokens is beyond the window of {counter.id}, {counter.window:,} tokens. "
                "Ask for shorter --lengths, or say --window if you know better."
            )
        hays = await counted_hays(counter, {language: stack.texts for language, stack in stacks.items()}, repeat)
        about = {
            "keys": options.keys, "values": options.values, "queries": options.queries,
            "distractors": options.distractors, "own": own,
        }  # fmt: skip
        answer_tokens = context.sampling.get("max_tokens") or ANSWER_TOKENS
        planner = Planner(counter, hays, templates, answer_tokens, options.seed, about)
        cells = []
        for language in languages:
            for kind in needles:
                for number in range(repeat):
                    asked = planner.needles(language, kind, number, spans, places)
                    cells += await planner.cells(language, kind, number, asked, control=options.control)
        name, widest = counter.id, window or counter.window
    searcher = Searcher(
        dataclasses.replace(context.model_options, base_url=options.retriever_base_url),
        {parse(name).name: name for name in options.retrievers},
    )
    cells = [*(cells if whole else ()), *(replace(cell, rag=rag) for rag in rags for cell in cells)]
    local = bool(models) and all(model.startswith("local/") for model in models)
    niah = NIAH(
        cells, hays, templates, {language: stack.sha256 for language, stack in stacks.items()}, name, options.seed,
        options.lanes or (1 if local else 16), settings,
        (*_warnings(name, models), *(_repeating(hays, max(spans)) if rags else ())), searcher if rags else None,
    )  # fmt: skip
    if widest is not None and niah.window - MARKS > widest:
        raise UsageError(
            f"{max(options.chunks)} × {max(options.ks)} tokens of chunks and the prompt may be more than the window of "
            f"{widest:,} tokens: ask for fewer chunks (--top-k) or smaller ones (--chunk)."
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
    if window is not None and longest > window:
        raise UsageError(f"A length of {longest:,} tokens is beyond the window of {window:,} (--window).")
    if (total := cells * len(languages) * len(needles) * repeat) > _MOST_CELLS:
        raise UsageError(f"{total:,} cells are too many: ask for fewer lengths, depths or repeats.")
    if not cells * len(languages) * len(needles):
        raise UsageError("Nothing to ask: name at least one language, needle and template.")


def _check_unused(options: "NeedleOptions") -> None:
    """Raises UsageError for options that nothing uses, because what they belong to was forgotten."""
    fields = fields_of(type(options))
    for names, used, missing in (
        (("needle_file",), "file" in options.needles, "--needle file"),
        (("keys", "values", "queries"), "multi" in options.needles, "--needle multi"),
        (("distractors",), "distractor" in options.needles, "--needle distractor"),
        (("chunks", "ks", "whole", "retriever_base_url"), options.retrievers, "--retriever NAME"),
    ):
        given = [fields[name].flag for name in names if getattr(options, name) != fields[name].default]
        if given and not used:
            raise UsageError(f"{', '.join(given)}: nothing here uses it; say {missing}, too, or leave it out.")


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


def _repeating(hays: Mapping[tuple[str, int], Haystack], longest: int) -> Iterator[str]:
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
