"""`ragstone build`."""

import json
from pathlib import Path

import click

from ragstone.commands.options import MOST_QUESTIONS, NameList, Number
from ragstone.commands.output import say
from ragstone.construction.commands.build_mirage import command as mirage
from ragstone.construction.commands.build_questions import command as questions
from ragstone.construction.commands.build_rgb import command as rgb
from ragstone.errors import UnknownName, UsageError, check_name
from ragstone.messages import messages, preferred_language


@click.group()
def command() -> None:
    """Construct data sets."""


command.add_command(questions)
command.add_command(rgb)
command.add_command(mirage)


@command.command(name="fictional")
@click.option("--format", "kind", default="rgb", show_default=True, metavar="rgb|mirage", help="Format of the files.")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Output folder.")
@click.option("--data-language", "languages", type=NameList(), default="en,zh", show_default=True,
              help="Languages of the data.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option(
    "--size",
    type=click.IntRange(1, MOST_QUESTIONS),
    help="Questions per data set.  [default: 300; 100 for _int and _fact; 200 for mirage]",
)
@click.option("--dataset", metavar="NAME", help="rgb: only this data set (zh_refine…).")
@click.option("--difficulty", metavar="easy|news|adversarial", help="rgb: as in `bench rgb`.  [default: news]")
@click.option("--multi-hop", type=Number(0, 1), help="mirage: share of questions that need two passages.")
@click.option("--chunks", type=click.IntRange(2), help="mirage: passages per question.  [default: 5]")
def fictional(
    kind: str, output: str, languages: tuple[str, ...], seed: int, size: int | None, dataset: str | None,
    difficulty: str | None, multi_hop: float | None, chunks: int | None,
) -> None:  # fmt: skip
    """Generate fictional news with questions in the official format; none of it was ever published.

    The counterfactual sets of rgb use well-known real facts, which a model should know, so their size is fixed. mirage:
    questions, a pool of labelled passages and the oracle passages, one folder per language.
    """
    from ragstone.datasets.fictional import fictional_rgb  # noqa: PLC0415
    from ragstone.datasets.rgb import NAMES  # noqa: PLC0415
    from ragstone.storage import replacing  # noqa: PLC0415

    if not output.strip():
        raise UsageError("-o is empty: pass the folder to write to.")
    folder = Path(output)
    check_name("format", kind, ("rgb", "mirage"))
    for language in languages:
        check_name("language", language, ("en", "zh"))
    languages = tuple(dict.fromkeys(languages))
    others: dict[str, dict[str, object]] = {
        "rgb": {"--multi-hop": multi_hop, "--chunks": chunks},
        "mirage": {"--dataset": dataset, "--difficulty": difficulty},
    }
    for option, value in others[kind].items():
        if value is not None:
            raise UsageError(f"{option} is for --format {'mirage' if kind == 'rgb' else 'rgb'}. Leave it out.")
    if kind == "mirage":
        _mirage(folder, languages, seed, size or 200, multi_hop or 0.0, chunks or 5)
        return
    if dataset is not None and dataset not in NAMES:
        raise UnknownName("data set", dataset, NAMES)
    every = [f"{language}{part}" for language in languages for part in ("_refine", "_int", "_fact")]
    written, texts = [], messages(__name__, preferred_language())
    for name in [dataset] if dataset else every:
        path, count = folder / f"{name}.json", 0
        with replacing(path, parents=True) as stream:
            for row in fictional_rgb(name, seed=seed, size=size, difficulty=difficulty or "news"):
                stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                count += 1
        written.append(texts["questions"].format(path=path, count=count))
    for line in written:
        say(line)


def _mirage(output: Path, languages: tuple[str, ...], seed: int, size: int, share: float, chunks: int) -> None:
    from ragstone.datasets.fictional.pools import make_pool  # noqa: PLC0415
    from ragstone.datasets.mirage import write_mirage  # noqa: PLC0415

    texts = messages(__name__, preferred_language())
    for language in languages:
        data = make_pool(size, seed=seed, language=language, chunks_per_query=chunks, multi_hop=share)
        folder = output / language if len(languages) > 1 else output
        write_mirage(folder, data.questions, data.pool, data.oracle)
        say(texts["pool"].format(path=folder, questions=len(data.questions), chunks=len(data.pool)))
