"""Builds the needle test from its options: reads lengths and depths, counts haystacks, and plans every cell."""

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from ragstone.benchmarks.niah.benchmark import CHAT_TOKENS, NIAH
from ragstone.benchmarks.niah.cells import CellPlan
from ragstone.benchmarks.niah.contexts import Haystack
from ragstone.benchmarks.niah.kinds import Kind, Maker, Stack, Suite
from ragstone.benchmarks.niah.needle_files import read_needles
from ragstone.benchmarks.niah.needles import KINDS, TOPICS, make_needle
from ragstone.benchmarks.niah.planner import Planner, count_haystacks, count_sources
from ragstone.benchmarks.niah.retrieved_context import RagSetting, Searcher
from ragstone.benchmarks.niah.suites import SUITES
from ragstone.benchmarks.niah.templates import NeedleTemplate, find_template
from ragstone.benchmarks.niah.word_lists import ListSource
from ragstone.benchmarks.options import fields_of
from ragstone.benchmarks.plugin import Context
from ragstone.datasets.haystack import haystack
from ragstone.errors import UsageError, check_name
from ragstone.models import ModelOptions
from ragstone.models.tokenizers import ESTIMATE, TOKENIZERS, open_counter
from ragstone.retrieval import check_retriever, parse

if TYPE_CHECKING:
    from ragstone.benchmarks.niah.options import NeedleOptions

ANSWER_TOKENS = 128  # the longest answer of the templates
_WITHOUT_TOKENIZER = ("local/extractive", "local/retrieval", "scripted/")
_MOST_CELLS = 1_000_000
_LENGTHS, _KIND = "1k:32k:15", "number"  # what is asked without options
_CONTROLS = {"length": True, "none": False}  # as runs record them


async def make(options: "NeedleOptions", context: Context) -> NIAH:
    """Plan every cell. Raises UsageError before any request is sent."""
    suite = None if options.suite is None else _suite(options.suite)
    default = suite.lengths if suite else _LENGTHS
    lengths = lengths_of(default if options.lengths is None else options.lengths)
    depths = depths_of(options.depths, options.depth_spacing)  # type: ignore[arg-type]
    languages, models, repeat = options.data_languages, context.models, options.repeat
    _check_unused(options)
    kinds = _kinds_of(suite, options.needles) if suite else list(_kinds(options))
    retriever_options = dataclasses.replace(context.model_options, base_url=options.retriever_base_url)
    settings = _retrieval_settings(options.retrievers, options.chunks, options.ks, retriever_options, keys=context.asks)
    with_whole = options.whole or not settings
    cells_each = len(lengths) * len(depths) * len(options.templates) * (len(settings) + with_whole)
    window, longest = options.window, max(lengths) if with_whole else 0
    _check(languages, kinds, repeat, cells_each, longest, window)
    if options.control == "cell" and not any(kind.controls for kind in kinds):
        raise UsageError(f"--control cell: --suite {options.suite} has no controls. Leave it out.")
    if settings:
        _check_searchable(kinds, lengths)
    templates, source = _templates(options, kinds), options.haystack_source
    all_templates = templates | {kind.template.name: kind.template for kind in kinds if kind.template is not None}
    in_haystack = any(kind.source(length) is None for kind in kinds for length in lengths)
    sources = {language: haystack(language, source=source) for language in languages if in_haystack}  # type: ignore[arg-type]
    chosen = options.tokenizer is not None
    with_tokenizer = (name for name in models if not name.startswith(_WITHOUT_TOKENIZER))
    tokenizer = options.tokenizer or next(with_tokenizer, ESTIMATE)
    async with open_counter(tokenizer, context.model_options, explicit=chosen) as counter:
        if with_whole and window is None and counter.window is not None and longest > counter.window:
            raise UsageError(
                f"A length of {longest:,} tokens exceeds the window of {counter.id}, {counter.window:,} tokens. "
                "Use shorter --lengths, or set --window if the model's window is larger."
            )
        haystacks: dict[tuple[str, int], Stack] = {}
        haystacks |= await count_haystacks(counter, sources, repeat, max(lengths))
        haystacks |= await count_sources(counter, kinds, languages, lengths, repeat)
        answer_tokens = context.sampling.get("max_tokens") or ANSWER_TOKENS
        planner = Planner(counter, haystacks, templates, answer_tokens, options.seed)
        cells = []
        for language in languages:
            for kind in kinds:
                for number in range(repeat):
                    questions = planner.needles(language, kind, number, lengths, depths)
                    cells += await planner.cells(language, kind, number, questions, control=options.control)
        name, model_window = counter.id, window or counter.window
    searcher = Searcher(retriever_options, {parse(name).name: name for name in options.retrievers})
    cells = [*(cells if with_whole else ()), *(replace(cell, rag=rag) for rag in settings for cell in cells)]
    local = bool(models) and all(model.startswith("local/") for model in models)
    hashes = {language: stack.sha256 for language, stack in sources.items()} | _source_hashes(kinds, languages)
    warnings = (*_warnings(name, models), *_repetition_warnings(haystacks, cells))
    niah = NIAH(
        cells, haystacks, all_templates, hashes, name, options.seed, options.lanes or (1 if local else 16),
        _recorded(options, lengths, depths, kinds, all_templates, settings), warnings, searcher if settings else None,
    )  # fmt: skip
    if model_window is not None and niah.window - CHAT_TOKENS > model_window:
        raise UsageError(
            f"{max(options.chunks)} × {max(options.ks)} tokens of chunks and the prompt may exceed the window of "
            f"{model_window:,} tokens: use fewer chunks (--top-k) or smaller ones (--chunk)."
        )
    return niah


def _recorded(
    options: "NeedleOptions", lengths: Sequence[int], depths: Sequence[float], kinds: Sequence[Kind],
    templates: Iterable[str], settings: Sequence[RagSetting],
) -> dict[str, Any]:  # fmt: skip
    """The options as a run records them."""
    return {
        "lengths": lengths, "depths": depths, "languages": list(options.data_languages),
        "needles": list(dict.fromkeys(kind.name for kind in kinds)), "repeat": options.repeat,
        "haystack": options.haystack_source, "templates": list(templates),
        "suites": [options.suite] if options.suite else [],
        "control": _CONTROLS.get(options.control, options.control),
        "retrievers": list(dict.fromkeys(rag.retriever for rag in settings)),
        "chunks": list(dict.fromkeys(rag.chunk for rag in settings)),
        "ks": list(dict.fromkeys(rag.k for rag in settings)),
    }  # fmt: skip


def _suite(name: str) -> Suite:
    check_name("suite", name, SUITES)
    return SUITES[name]


def _kinds_of(suite: Suite, needles: Sequence[str] | None) -> list[Kind]:
    """The tasks of a suite, or the named ones of them. Raises UsageError."""
    kinds = {kind.name: kind for kind in suite.kinds}
    names = list(kinds) if needles is None else dict.fromkeys(needles)
    for name in names:
        check_name("task", name, kinds)
    return [kinds[name] for name in names]


def _kinds(options: "NeedleOptions") -> Iterator[Kind]:
    """The kinds of needles with their settings: a chain once for each number and length of its hops. Raises UsageError
    for hops that do not fit into a context."""
    file_needles = read_needles(options.needle_file) if options.needle_file is not None else ()
    for name in dict.fromkeys((_KIND,) if options.needles is None else options.needles):
        check_name("needle", name, KINDS)
        if name == "multi":
            given = {"keys": options.keys, "values": options.values, "queries": options.queries}
            variant = ",".join(f"{key}={value}" for key, value in given.items())
            yield Kind(name, _maker(name, **given), variant, fresh=True)
        elif name == "distractor":
            given = {"distractors": options.distractors}
            yield Kind(name, _maker(name, **given), f"distractors={options.distractors}", fresh=True)
        elif name == "chain":
            for hops, hop in product(dict.fromkeys(options.hops), options.hop):
                if hop * (hops - 1) > 1:
                    raise UsageError(
                        f"--hop {hop:g}: a chain of {hops} hops does not fit into the context; at most "
                        f"{math.floor(100 / (hops - 1)) / 100:g}."
                    )
                variant = f"hops={hops},hop={hop:g},distractors={options.distractors}"
                maker = _maker(name, hops=hops, distractors=options.distractors)
                yield Kind(name, maker, variant, hop, fresh=True)
        elif name == "file":
            several = any(len(needle.needles) > 1 for needle in file_needles)
            yield Kind(name, _maker(name, from_file=file_needles), "spread" if several else "")
        elif name == "topic":
            yield Kind(name, _maker(name), f"topics={TOPICS}")
        else:
            yield Kind(name, _maker(name), fresh=name == "number")


def _maker(name: str, **given: Any) -> Maker:
    return lambda language, rng, excluded, _: make_needle(name, language, rng, excluded=excluded, **given)


def _check(
    languages: Sequence[str], kinds: Sequence[Kind], repeat: int, cells: int, longest: int, window: int | None
) -> None:
    """Raises UsageError for impossible options, before any token is counted."""
    for name in languages:
        check_name("language", name, ("en", "zh"))
    if window is not None and longest > window:
        raise UsageError(f"A length of {longest:,} tokens exceeds the window of {window:,} (--window).")
    if (total := cells * len(languages) * len(kinds) * repeat) > _MOST_CELLS:
        raise UsageError(f"{total:,} cells are too many: use fewer lengths, depths or repeats.")
    if not cells * len(languages) * len(kinds):
        raise UsageError("There are no cells: name at least one language, needle and template.")


def _check_unused(options: "NeedleOptions") -> None:
    """Raises UsageError for options that have no effect because a related option is missing."""
    fields, needles = fields_of(type(options)), options.needles or ()
    for names, used, missing in (
        (("needle_file",), "file" in needles, "--needle file"),
        (("keys", "values", "queries"), "multi" in needles, "--needle multi"),
        (("distractors",), {"distractor", "chain"} & set(needles), "--needle distractor or chain"),
        (("hops", "hop"), "chain" in needles, "--needle chain"),
        (("chunks", "ks", "whole", "retriever_base_url"), options.retrievers, "--retriever NAME"),
    ):
        flags = [fields[name].flag for name in names if getattr(options, name) != fields[name].default]
        if flags and not used:
            raise UsageError(f"{', '.join(flags)}: no effect without {missing}. Add it, or leave this out.")


def _check_searchable(kinds: Sequence[Kind], lengths: Sequence[int]) -> None:
    """Raises UsageError for kinds that ask about the whole context, in which a retriever has nothing to find."""
    lists = [kind.name for kind in kinds if isinstance(kind.source(lengths[0]), ListSource)]
    if lists:
        others = ",".join(kind.name for kind in kinds if kind.name not in lists)
        advice = f"Leave them out: --needle {others}." if others else "Leave out --retriever."
        raise UsageError(
            f"--retriever has nothing to find for {' and '.join(lists)}: they ask about all of it. {advice}"
        )


def _templates(options: "NeedleOptions", kinds: Sequence[Kind]) -> dict[str, NeedleTemplate]:
    """The templates by name for the kinds without one of their own. Raises UsageError if two have the same name or none
    is used, and whatever `find_template` raises."""
    by_name: dict[str, NeedleTemplate] = {}
    if all(kind.template is not None for kind in kinds):
        if options.templates != fields_of(type(options))["templates"].default:
            raise UsageError("--template: the tasks of this suite have prompts of their own. Leave it out.")
        return by_name
    for name in dict.fromkeys(options.templates):
        template = find_template(name)
        if template.name in by_name:
            raise UsageError(f"--template {name}: another template is also called {template.name!r}. Rename one.")
        by_name[template.name] = template
    return by_name


def _retrieval_settings(
    retrievers: Sequence[str], chunks: Sequence[int], ks: Sequence[int], model_options: ModelOptions, *, keys: bool
) -> list[RagSetting]:
    """Every combination of retriever, chunk size and k. Raises UsageError for invalid ones."""
    for name in retrievers:
        if "run:" in name:
            raise UsageError(
                f"--retriever {parse(name).name}: a recorded run has no needles. Name a retriever that searches."
            )
        check_retriever(name, model_options, keys=keys)
    if retrievers and (not chunks or min(chunks) < 1):
        raise UsageError(f"--chunk {min(chunks, default=0)}: a haystack must be cut; give the tokens per chunk.")
    if retrievers and (not ks or min(ks) < 1):
        raise UsageError(f"--top-k {min(ks, default=0)}: the model gets at least one chunk.")
    names = dict.fromkeys(parse(name).name for name in retrievers)
    return [RagSetting(*values) for values in product(names, dict.fromkeys(chunks), dict.fromkeys(ks))]


def _source_hashes(kinds: Sequence[Kind], languages: Sequence[str]) -> dict[str, str]:
    return {
        f"{language}/{source.name}": source.sha256(language)
        for kind in kinds
        for _, source in kind.sources
        for language in languages
    }


def _repetition_warnings(haystacks: Mapping[tuple[str, int], Stack], cells: Sequence[CellPlan]) -> Iterator[str]:
    """A warning if contexts repeat the haystack."""
    used = [haystacks[cell.stack, cell.start] for cell in cells]
    stacks = [stack for cell, stack in zip(cells, used, strict=True) if cell.sentences > stack.sentences]
    if short := [stack for stack in stacks if isinstance(stack, Haystack)]:
        yield (
            f"{len(short)} contexts repeat their haystack of {min(stack.tokens[-1] for stack in short):,} tokens, so "
            "that the needle is the only text said once, and a retriever finds the same chunk several times; use "
            "--haystack DIR to provide more texts."
        )


def _warnings(counted_by: str, models: Sequence[str]) -> tuple[str, ...]:
    """A warning if lengths are only estimated."""
    if counted_by != ESTIMATE or all(name.startswith(_WITHOUT_TOKENIZER) for name in models):
        return ()
    others = ", ".join(name for name in TOKENIZERS if name != ESTIMATE)
    return (f"Lengths are estimated by {ESTIMATE}, accurate to about 25%; exact --tokenizer names: {others}.",)


Spacing = Literal["linear", "sigmoid"]
_RANGE = re.compile(r"(?P<start>-?[\d.]+(?:ki?)?):(?P<stop>-?[\d.]+(?:ki?)?):(?P<count>\d+)", re.IGNORECASE)
_MOST_SPACED = 10_000
_EXAMPLES = {"lengths": "500,1000", "depths": "0,50,100"}
_SHORTEST, _LONGEST = 50, 10_000_000  # tokens


def lengths_of(lengths: str | Iterable[float]) -> list[int]:
    """Distinct lengths in tokens, ascending. Raises UsageError."""
    values = grid_of(lengths, what="lengths", low=_SHORTEST, high=_LONGEST) if isinstance(lengths, str) else lengths
    return [int(value) for value in _rounded(values, 0, what="Length", low=_SHORTEST, high=_LONGEST)]


def depths_of(depths: str | Iterable[float], spacing: Spacing = "linear") -> list[float]:
    """Distinct depths in percent, ascending, to two digits. `spacing` "sigmoid": denser at both ends, by the curve of
    Kamradt's program. Raises UsageError."""
    values = grid_of(depths, what="depths", low=0, high=100) if isinstance(depths, str) else depths
    values = _rounded(values, 4, what="Depth", low=0, high=100)
    if spacing == "sigmoid":
        values = [depth if depth in (0, 100) else 100 / (1 + math.exp(-0.1 * (depth - 50))) for depth in values]
    return _rounded(values, 2, what="Depth", low=0, high=100)  # case ids have two digits


def _plain(number: float) -> str:
    """10,000,000 and not 1e+07."""
    return f"{number:,.15g}" if abs(number) < 1e15 else f"{number:g}"


def grid_of(text: str, *, what: str, low: float, high: float) -> tuple[float, ...]:
    """ "1k:32k:15" (start:stop:count, evenly spaced, k = 1000) or "500,1000,2000" as numbers. Raises UsageError."""
    spaced = _RANGE.fullmatch(text.strip())
    try:
        if spaced:
            start, stop, count = _number(spaced["start"]), _number(spaced["stop"]), int(spaced["count"])
            if not 1 <= count <= _MOST_SPACED:
                raise UsageError(f"--{what} {text}: the count {count:,} is not between 1 and {_MOST_SPACED:,}.")
            step = (stop - start) / (count - 1) if count > 1 else 0.0
            values = [start + at * step for at in range(count)]
        else:
            values = [_number(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--{what} {text}: expected numbers such as {_EXAMPLES.get(what, '1,2')} or start:stop:count."
        ) from None
    for value in values:
        if not low <= value <= high:
            raise UsageError(f"--{what} {text}: {_plain(value)} is not between {_plain(low)} and {_plain(high)}.")
    return tuple(dict.fromkeys(values))


def _rounded(values: Iterable[float], digits: int, *, what: str, low: float, high: float) -> list[float]:
    """Distinct rounded numbers, ascending. Raises UsageError if there are none or one is out of range."""
    numbers = list(values)
    for value in numbers:
        if not low <= value <= high:  # also catches NaN
            raise UsageError(f"{what} {_plain(value)} is not between {_plain(low)} and {_plain(high)}.")
    if not numbers:
        raise UsageError(f"No {what.lower()}: give at least one.")
    return sorted({round(value, digits) for value in numbers})


def _number(text: str) -> float:
    text = text.strip().lower()
    unit = next((unit for unit in ("ki", "k") if text.endswith(unit)), "")
    value = float(text.removesuffix(unit)) * {"ki": 1024, "k": 1000, "": 1}[unit]
    if not math.isfinite(value):
        raise ValueError
    return value
