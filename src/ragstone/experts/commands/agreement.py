"""`ragstone agreement`."""

import asyncio
import contextlib
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.options import PATH, Address, Scale, both, embedder_options, json_option, language_option
from ragstone.commands.output import say, say_json, say_tables, say_text
from ragstone.commands.shell import keeping
from ragstone.errors import UsageError
from ragstone.messages import messages, preferred_language

if TYPE_CHECKING:
    from ragstone.analysis.next_labels import NextLabels
    from ragstone.display import Table
    from ragstone.experts.agreement import Ways

_MOST = 1_000  # passages a sample; beyond it a typing error is likelier than a wish

judge_options = both(
    click.option("--judge", required=True, metavar="PROVIDER/MODEL", help="Chat model used as the judge."),
    click.option("--judge-base-url", type=Address(), help="Endpoint of the judge, overriding its provider's."),
    embedder_options,
    click.option("--prompts", type=PATH, help="Folder of your own prompts."),
)


@click.group()
def command() -> None:
    """Measure how far different ways of judging agree."""


@command.command(name="experts")
@click.argument("labels", type=PATH)
@click.option("--run", "run_file", type=PATH,
              help="Run of the same questions: also compare its judge with the experts.")  # fmt: skip
@click.option("--system", metavar="NAME", help="System of the run, if it has several.")
@click.option("--metric", default="", metavar="NAME", help="Compare with this metric.  [default: that of the task]")
@click.option("--scale", type=Scale(), default="0..1", show_default=True, help="Lowest and highest label.")
@click.option(
    "--by",
    default="",
    metavar="COLUMN",
    help="Column of the data that stratifies the calibrated means.  [default: by the judge's score]",
)
@click.option("--keep", is_flag=True, help="Keep the findings beside the run, for its reports.")
@click.option("--next", "count", type=click.IntRange(1, 100_000), metavar="N",
              help="Also list N questions to label next: those that narrow the calibrated interval most.")  # fmt: skip
@click.option("--task", default="", metavar="NAME", help="Task that --next is for.  [default: the first one]")
@language_option
@json_option
def experts(labels: Path, **values: Any) -> int:
    """Measure how far experts agree, and how far the judge of a run agrees with them.

    LABELS is a file of `ragstone annotate`, or CSV, JSONL or JSON with the columns id, expert, and either task and
    label or a column per task (correct, faithful, relevant, or a metric). With 50 labels or more, means of the judge
    are calibrated by them."""
    from ragstone.experts.experts import agreement_of_experts, next_to_label  # noqa: PLC0415

    low, high = values["scale"]
    how = {"system": values["system"], "scale": (low, high), "by": values["by"], "metric": values["metric"]}
    run = values["run_file"]
    if run is None and (values["keep"] or values["count"]):
        raise UsageError(f"{'--keep' if values['keep'] else '--next'} is about the answers of a run: add --run RUN.")
    found = agreement_of_experts(labels, run, **how)
    following = next_to_label(labels, run, values["count"], task=values["task"], **how) if values["count"] else None
    kept = found.keep() if values["keep"] else None
    language = values["language"] or preferred_language()
    tables = found.tables(language=language)
    if values["as_json"]:
        document: dict[str, Any] = {
            "summary": found.summary(language=language).splitlines(),
            "tables": tables,
        }
        if following is not None:
            document |= {"next": {"metric": following[0], **dataclasses.asdict(following[1])}}
        say_json(document)
        return 0
    for line in found.summary(language=language).splitlines():
        say(line)
    say_text("")
    say_tables(tables, language=language)
    if following is not None:
        _say_next(*following, language)
    if kept is not None:
        say(messages(__name__, language)["kept"].format(path=kept), err=True)
    return 0


def _say_next(metric: str, found: "NextLabels", language: str) -> None:
    """Print how much narrower the interval becomes, and the questions, one a line."""
    texts = messages(__name__, language)
    now = "–" if found.now is None else f"{100 * found.now:.1f}"
    say(texts["next"].format(
        n=len(found.ids), metric=metric, now=now, then=f"{100 * found.then:.1f}", random=f"{100 * found.at_random:.1f}"
    ))  # fmt: skip
    for item in found.ids:
        say(item)


@command.command(name="protocols")
@click.argument("data", type=PATH)
@judge_options
@click.option("--sample", type=click.IntRange(1), help="Number of rows, drawn with a fixed seed.")
@click.option(
    "--passages", metavar="N,…", help="Repeat with this many passages per sample, filled up from other samples."
)
@click.option(
    "--tokens",
    type=click.IntRange(50, 100_000),
    default=500,
    show_default=True,
    help="Length of each filled-up passage.",
)
@click.option("--no-ragas", is_flag=True, help="Skip the ragas protocol, which takes the most requests.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write cached replies.")
@language_option
@json_option
def protocols(**values: Any) -> int:
    """Judge the answers of DATA jointly, one passage at a time, and as ragas does, and compare the verdicts.

    The result shows how much accuracy the cheaper joint verification costs with this judge on these data: κ for each
    kind of verdict and the difference in each metric. --passages 5,10 repeats it with many long passages. Exit 3 if a
    sample could not be judged."""
    from ragstone.datasets.tabular.eval_data import read_data  # noqa: PLC0415
    from ragstone.engine.execute import cache_folder  # noqa: PLC0415
    from ragstone.engine.judge_tools import Judging  # noqa: PLC0415
    from ragstone.experts.agreement import agreement_of_protocols_async  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415

    try:
        counts = [int(part) for part in (values["passages"] or "").split(",") if part.strip()]
        if any(not 1 <= count <= _MOST for count in counts):
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--passages {values['passages'][:80]}: expected numbers from 1 to {_MOST}, such as 5,10."
        ) from None
    judging = Judging(
        model=values["judge"], base_url=values["judge_base_url"], embedder=values["embedder"],
        embedder_base_url=values["embedder_base_url"] or None, prompts=values["prompts"],
    )  # fmt: skip
    language = values["language"] or preferred_language()
    cache = None if values["no_cache"] else cache_folder()
    with keeping(language) if cache else contextlib.nullcontext():
        comparisons = asyncio.run(
            agreement_of_protocols_async(
                read_data(values["data"], sample=values["sample"]), judging, passages=counts, tokens=values["tokens"],
                ragas=not values["no_ragas"], model_options=ModelOptions(cache=cache),
            )
        )  # fmt: skip
    code = 3 if any(comparison.failed for comparison in comparisons) else 0
    if values["as_json"]:
        say_json([dataclasses.asdict(comparison) for comparison in comparisons])
        return code
    for comparison in comparisons:
        say_tables(_tables(comparison, language), language=language)
    return code


def _tables(comparison: "Ways", language: str) -> "list[Table]":
    from ragstone.display import Cell, Row, Table  # noqa: PLC0415

    texts = messages(__name__, language)
    places = {
        "first": comparison.first, "second": comparison.second,
        "passages": "" if comparison.passages is None else texts["passages"].format(n=comparison.passages),
    }  # fmt: skip
    why = comparison.why.rstrip(".。")
    missing = texts["failed"].format(
        n=comparison.failed, total=comparison.samples, why=texts["why"] + why if why else ""
    )
    notes = (texts["note"], *((missing,) if comparison.failed else ()))
    verdicts = [
        Row((
            Cell(texts[f"kinds.{row.kind}"]), Cell(value=row.kappa, low=row.low, high=row.high),
            Cell(value=row.agree, unit="%"), Cell(f"{row.n}"),
        ))
        for row in comparison.agreements
    ]  # fmt: skip
    gaps = [
        Row((
            Cell(row.metric), Cell(value=row.first), Cell(value=row.second),
            Cell(value=row.difference, low=row.low, high=row.high), Cell(f"{row.n}"),
        ))
        for row in comparison.gaps
    ]  # fmt: skip
    columns = tuple(texts[name] for name in ("verdict", "kappa", "agree", "n"))
    tables = (
        Table("agreement", texts["title"].format(**places), columns, tuple(verdicts), notes),
        Table(
            "agreement-metrics", texts["gap"].format(**places),
            (texts["metric"], comparison.first, comparison.second, texts["difference"], texts["samples"]), tuple(gaps),
        ),
    )  # fmt: skip
    # A table without a row stays where something failed: its note says so.
    return [table for table in tables if table.rows or (comparison.failed and table.notes)]
