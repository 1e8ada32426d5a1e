"""`ragstone bench|cases|score rgb`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.cli.benching import model_options, read_asked, run_benchmark, run_options
from ragstone.cli.options import MOST_PASSAGES, MOST_QUESTIONS, Names, Number, Ratios, both, json_option
from ragstone.cli.saying import say, say_json, stream_json

if TYPE_CHECKING:
    from ragstone.types import Case

__all__ = ["bench", "cases", "score"]

_VERDICT_TOKENS = 10  # {"verdict": "…"}
_ANSWER_TOKENS = 60  # of the answer that the judge reads

rgb_options = both(
    click.option(
        "--data", default="fictional", show_default=True, metavar="fictional|official|DIR|FILE",
        help="Generated data, what `ragstone data pull rgb` fetched, or files in the official format.",
    ),
    click.option("--dataset", metavar="NAME", help="This set alone (zh_refine…), one case a question, no closed book."),
    click.option("--language", "languages", type=Names(), default="en,zh", show_default=True, help="en, zh or both."),
    click.option(
        "--ability", "abilities", type=Names(), default="noise,rejection,integration,counterfactual",
        show_default=True, help="Which testbeds.",
    ),
    click.option("--noise", "noise_ratios", type=Ratios(), help="Noise ratios, instead of the paper's."),
    click.option(
        "--passages", type=click.IntRange(0, MOST_PASSAGES), default=5, show_default=True, help="Passages a question."
    ),
    click.option(
        "--correct-rate", type=Number(0, 1), default=0.0, show_default=True,
        help="Counterfactual sets: share of passages that state the true answer.",
    ),
    click.option("--selection", metavar="balanced|official", help="How passages are chosen.  [default: balanced]"),
    click.option("--scoring", metavar="default|official", help="Which scoring leads the tables; both are computed."),
    click.option("--protocol", metavar="official", help="official: --selection official --scoring official."),
    click.option("--template", metavar="paper|official", help="The published prompt.  [default: paper]"),
    click.option(
        "--merge-system", is_flag=True, help="System and user text in one message, as the official program does for "
        "models without a system role.",
    ),
    click.option("--limit", type=click.IntRange(1), help="The first so many questions of each set."),
    click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="Answers to each case."),
    click.option("--no-closed-book", is_flag=True, help="Do not ask counterfactual questions without passages."),
    click.option("--selection-seed", "seed", type=int, default=2333, show_default=True, help="Seed of the choice."),
    click.option("--fictional-seed", type=int, default=0, show_default=True, help="Seed of the fictional data."),
    click.option("--fictional-size", type=click.IntRange(1, MOST_QUESTIONS), help="Questions in each fictional set."),
)  # fmt: skip


def rgb_arguments(values: dict[str, Any]) -> dict[str, Any]:
    """What `rgb_options` parsed, as the arguments of `api.bench.make_rgb`. Takes its options out of `values`."""
    from ragstone.errors import UnknownName, UsageError  # noqa: PLC0415
    from ragstone.systems.template import joined, rgb_template  # noqa: PLC0415

    names = ("data", "dataset", "languages", "abilities", "noise_ratios", "passages", "correct_rate", "selection",
             "scoring", "template", "limit", "repeat", "seed", "fictional_seed", "fictional_size")  # fmt: skip
    taken = {name: values.pop(name) for name in names}
    protocol = values.pop("protocol")
    if protocol not in (None, "official", "default"):
        raise UnknownName("protocol", protocol, ("official", "default"))
    if protocol == "official":
        for name in ("selection", "scoring"):
            if taken[name] not in (None, "official"):
                raise UsageError(f"--protocol official sets --{name} official; it was given as {taken[name]!r} too.")
            taken[name] = "official"
        taken["template"] = taken["template"] or "official"
    if values.pop("merge_system"):
        taken["template"] = joined(rgb_template(taken["template"] or "paper"))
    taken["closed_book"] = not values.pop("no_closed_book")
    return taken


@click.command(name="rgb")
@model_options
@rgb_options
@run_options
def bench(**values: Any) -> int:
    """RGB: noise robustness, negative rejection, information integration, counterfactual robustness.

    Chen et al. 2024, in English and Chinese, on data that no model has seen unless --data says otherwise.
    """
    from ragstone.api.make_rgb import make_rgb  # noqa: PLC0415

    asked = read_asked(values)
    made = make_rgb(**rgb_arguments(values))
    return run_benchmark(made, asked, judge_tokens=_judge_tokens if asked.judge else None)


def _judge_tokens(case: "Case") -> int:
    """The tokens of what the judge is asked about a case, and of its verdict; 0 where it is not asked."""
    from ragstone.metrics.rgb_judge import RgbErrorJudge, RgbRejectionJudge, judge_turns  # noqa: PLC0415
    from ragstone.text import estimate_tokens  # noqa: PLC0415

    kinds = {"rejection": RgbRejectionJudge, "counterfactual": RgbErrorJudge}
    kind = kinds.get(str(case.condition["ability"]))
    if kind is None or case.condition["closed_book"]:
        return 0
    asked = sum(estimate_tokens(turn.content) for turn in judge_turns(kind, case.query.question, ""))
    return asked + _ANSWER_TOKENS + _VERDICT_TOKENS


@click.command(name="rgb")
@rgb_options
def cases(**values: Any) -> None:
    """One line a case: case_id, sample_id, condition, messages, passages."""
    from ragstone.api.make_rgb import make_rgb  # noqa: PLC0415

    made = make_rgb(**rgb_arguments(values))
    for warning in made.warnings:
        say(f"note: {warning}", err=True)
    for case in made.cases():
        line = {
            "case_id": case.id,
            "sample_id": case.sample.id,
            "condition": case.condition,
            "messages": [{"role": turn.role, "content": turn.content} for turn in made.template.messages(case.query)],
            "passages": [
                {"id": passage.id, "text": passage.text, "relevant": passage.relevant}
                | ({"kind": passage.meta["kind"]} if "kind" in passage.meta else {})
                for passage in case.query.passages or ()
            ],
        }
        stream_json(line)


@click.command(name="rgb")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--dataset", required=True, metavar="NAME", help="en, zh, en_refine, zh_refine, en_int, …, zh_fact.")
@click.option("--judge-replies", type=click.Path(path_type=Path), help="JSON lines with id and evaluation.")
@click.option("--data", metavar="DIR", help="The data, for files whose rows have no `ans`.")
@json_option
def score(files: tuple[Path, ...], dataset: str, judge_replies: Path | None, data: str | None, as_json: bool) -> None:
    """FILES: predictions as the official program writes them, JSON lines."""
    from ragstone.api.data import load_rgb  # noqa: PLC0415
    from ragstone.benchmarks.rgb.rescore import rescore  # noqa: PLC0415

    known = None if data is None else load_rgb(data, dataset=dataset)[1][dataset]
    results = rescore(files, dataset=dataset, judge_replies=judge_replies, data=known)
    if as_json:
        say_json(results)
        return
    for result in results:
        say(f"{result['file']} ({result['dataset']})")
        for key, value in result.items():
            if key in ("file", "dataset", "warnings"):
                continue
            shown = value if not isinstance(value, dict) else json.dumps(value, ensure_ascii=True)
            say(f"  {key}: {shown}")
        for warning in result.get("warnings", ()):
            say(f"  note: {warning}", err=True)
