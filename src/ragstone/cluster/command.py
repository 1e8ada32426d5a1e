"""`ragstone merge`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragstone.commands.options import PATH, json_option, language_option
from ragstone.commands.output import say, say_json
from ragstone.messages import messages
from ragstone.plans import Plan

if TYPE_CHECKING:
    from ragstone.cluster.merge import MergedRun


@click.command(name="merge")
@click.argument("runs", nargs=-1, required=True, type=PATH, metavar="RUN…")
@click.option("-o", "--output", required=True, type=PATH, help="The new run file.")
@click.option("--keep-first", is_flag=True,
              help="Where files have different answers to a case, keep that of the file named first.")  # fmt: skip
@click.option("--recover", is_flag=True, help="Of damaged files, take what can be read.")
@language_option
@json_option
def command(
    runs: tuple[Path, ...], output: Path, language: str | None, *, keep_first: bool, recover: bool, as_json: bool
) -> None:
    """Join run files of the same settings into one, as if a single machine had asked all of their cases.

    The files may have other cases, systems or metrics. What several files have is kept once; runs with other settings
    are refused."""
    from ragstone.cluster.merge import merge  # noqa: PLC0415
    from ragstone.report.unfinished import unfinished_systems  # noqa: PLC0415

    merged = merge(runs, output, keep_first=keep_first, recover=recover)
    with merged.open() as run:
        language = language or run.language
        counts = run.run.counts()
        records = sum(count.records for count in counts.values())
        if as_json:
            document = {
                "run": str(merged.path), "records": records, "repeated": merged.repeated,
                "differing": merged.differing, "unfinished": unfinished_systems(run.run),
                "left_out": {str(path): kept for path, kept in merged.recovered.items()},
            }  # fmt: skip
            say_json(document)
            return
        texts = messages(__name__, language)
        say(texts["merged"].format(path=merged.path, records=records, systems=len(counts), files=len(runs)))
        if repeated := merged.repeated_in(language):
            say(repeated)
        for line in run.unfinished(language=language):
            say(line)
        for line in _recovered(merged, run.run.plans(), texts):
            say(line)


def _recovered(merged: "MergedRun", plans: Mapping[str, Plan], texts: Mapping[str, str]) -> Iterator[str]:
    """How many of the planned cases are there, what of each damaged file is not, and what to do about that."""
    if merged.recovered and plans:
        asked, total = (sum(getattr(plan, count) for plan in plans.values()) for count in ("asked", "total"))
        yield texts["kept"].format(path=merged.path, asked=asked, total=total)
    for source, kept in merged.recovered.items():
        listed = {"entries": kept.entries, "systems": kept.systems}
        counts = {"scores": kept.scores, "lines": kept.lines, **{what: len(each) for what, each in listed.items()}}
        names = {what: ", ".join(each) for what, each in listed.items()}
        left = [texts[f"left_{what}"].format(n=n, names=names.get(what)) for what, n in counts.items() if n]
        if left:
            yield texts["left"].format(path=source, left="; ".join(left))
    if any(kept.damaged for kept in merged.recovered.values()):
        yield texts["recovered"].format(path=merged.path)
