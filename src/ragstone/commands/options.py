"""Options that several commands share."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from ragstone.commands.batches import batches_of
from ragstone.errors import UsageError
from ragstone.messages import LANGUAGES

if TYPE_CHECKING:
    from ragstone.datasets.tabular import EvalData
    from ragstone.engine.execute import RunOptions, Shell
    from ragstone.engine.judge_tools import Judging
    from ragstone.engine.shard import Shard
    from ragstone.engine.workers import Workers
    from ragstone.models import ModelOptions

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")

PATH = click.Path(path_type=Path)
FOLDER = click.Path(path_type=Path, file_okay=False)
# Larger numbers are more likely typing errors, and would exhaust memory.
MOST_QUESTIONS = 1_000_000
MOST_REPEATS = 1_000


class NameList(click.ParamType[tuple[str, ...]]):
    """NameList separated by commas."""

    name = "NAME,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        names = tuple(part.strip() for part in value.split(",") if part.strip())
        if not names:
            self.fail("expected one name or more, separated by commas.", param, ctx)
        return names


class Pairs(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if not isinstance(value, str):
            return (value[0], value[1])
        name, equals, content = value.partition("=")
        if not (equals and name.strip() and content.strip()):
            self.fail(f"{value!r}: expected {self.name}.", param, ctx)
        return name.strip(), content.strip()


class Address(click.ParamType[str]):
    """The URL of an endpoint, checked before anything is asked, on a dry run too."""

    name = "URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from ragstone.models.network import normal_base_url  # noqa: PLC0415

        normal_base_url(value)
        return str(value)


class PriceText(click.ParamType[str]):
    """The price of a model's tokens, checked before anything is asked. It stays text, which the run file keeps."""

    name = "IN/OUT[/CACHED[/WRITTEN]]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from ragstone.prices import read_price  # noqa: PLC0415

        read_price(str(value), "--price" if param is None else param.opts[0])
        return str(value)


class Number(click.FloatRange):
    """A finite number in a range; `nan` and `inf` are refused, as JSON cannot represent them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = Number(0, min_open=True)
PRICE = PriceText()


def both(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


embedder_options = both(
    click.option("--embedder", metavar="PROVIDER/MODEL", help="Embedder for similarities.  [default: local/e5-small]"),
    click.option("--embedder-base-url", type=Address(), multiple=True,
                 help="Endpoint of the embedder, overriding its provider's; several share its requests."),
)  # fmt: skip
judge_options = both(
    click.option("--judge", multiple=True, metavar="PROVIDER/MODEL", help="Chat model used as the judge (repeatable)."),
    click.option("--combine", type=click.Choice(["mean", "majority", "each"]), default="mean", show_default=True,
                 help="Scores of several judges: their mean, their median, or each apart."),
    click.option("--judge-base-url", type=Address(), multiple=True,
                 help="Endpoint of the judge, overriding its provider's: once for all judges, or once for each; "
                 "several for one judge share its requests."),
    embedder_options,
    click.option("--verify", type=click.Choice(["joint", "separate"]), default="joint", show_default=True,
                 help="joint: one request verifies all passages; separate: one request per passage."),
    click.option("--reasons", is_flag=True, help="The judge says in a sentence why a claim is not supported."),
    click.option("--strict-quotes", is_flag=True, help="Leave out scores whose quotes are in no passage."),
    click.option("--prompts", type=PATH, help="Folder of your own prompts; start with `ragstone prompts copy`."),
    click.option("--rubric", "rubrics", multiple=True, metavar="NAME|FILE|DIR", help="Your own rubric (repeatable)."),
)  # fmt: skip


run_option = click.option("--run", "run_file", type=PATH, help="The run file.  [default: named after the settings]")
report_option = click.option("--report", "report_file", type=PATH, help="Also write the report to this file.")
quiet_option = click.option("--quiet", is_flag=True, help="Do not show progress.")
cache_option = click.option("--no-cache", is_flag=True, help="Neither read nor write cached replies.")
rate_options = both(
    click.option("--rpm", type=POSITIVE, help="Maximum requests per minute."),
    click.option("--tpm", type=POSITIVE, help="Maximum tokens per minute."),
)
batch_option = click.option(
    "--batch", type=click.Choice(["wait", "leave"]), is_flag=False, flag_value="wait",
    help="Send requests through the provider's batch interface, at half the price: wait for the replies, or leave and "
    "come back with the same command.",
)  # fmt: skip


cluster_options = both(
    click.option("--cluster", metavar="auto|local|ray://HOST:PORT",
                 help="Have the workers of a Ray cluster ask the cases: the one that runs here (auto), one that is "
                 "started for this command (local), or one elsewhere."),
    click.option("--workers", type=click.IntRange(1, 10_000),
                 help="Workers of the --cluster; --concurrency is of each of them.  [default: one for each CPU]"),
    click.option("--gpus-per-worker", type=Number(0), default=0.0,
                 help="GPUs that each worker takes, such as 0.25.  [default: none]"),
    click.option("--serve-vllm", is_flag=True, help="Start the vllm/… models on the --cluster, with Ray Serve."),
)  # fmt: skip
# How a system of the user's own is asked, with the judge of its answers.
asking_options = both(
    quiet_option,
    click.option("--timeout", "deadline", type=POSITIVE, default=120.0, show_default=True,
                 help="Time limit of an answer, and of a call of the judge, in seconds."),
    click.option("--concurrency", type=click.IntRange(1, 4096),
                 help="Questions asked concurrently.  [default: 64; 4 if local]"),
    rate_options,
    cluster_options,
    cache_option,
    batch_option,
)  # fmt: skip
max_requests_option = click.option(
    "--max-requests", type=click.IntRange(1),
    help="Stop after this many requests to models and to a system of your own; a larger limit resumes.",
)  # fmt: skip

limit_options = both(
    max_requests_option,
    click.option("--max-cost", type=POSITIVE, help="Stop when --price times the tokens reaches this."),
)  # fmt: skip


shard_option = click.option(
    "--shard", metavar="NUMBER/PARTS", default="",
    help="Only a part of the cases, such as 2/4, for one of several machines; `ragstone merge` joins their run files.",
)  # fmt: skip


def shard_of(values: Mapping[str, Any]) -> "Shard | None":
    """The shard of the cases that `--shard` names. Raises UsageError, also for a dry run, which counts all cases."""
    from ragstone.engine.shard import Shard  # noqa: PLC0415

    shard = values.get("shard", "")
    if shard and values["dry_run"]:
        raise UsageError("--dry-run counts all cases: leave --shard out.")
    return Shard.read(shard)


def cluster_of(values: Mapping[str, Any]) -> "Workers | None":
    """The cluster that `cluster_options` name. Raises UsageError for options of a cluster if none is named, and
    MissingExtra without Ray, before anything is asked."""
    address, workers, gpus, serves = (values[name] for name in ("cluster", "workers", "gpus_per_worker", "serve_vllm"))
    if address is None:
        flags = {"--workers": workers, "--gpus-per-worker": gpus, "--serve-vllm": serves}
        if used := [flag for flag, value in flags.items() if value]:
            raise UsageError(f"{', '.join(used)} needs a --cluster.")
        return None
    from ragstone.engine.workers import workers_of  # noqa: PLC0415

    return workers_of(address, workers, gpus, serves=serves)


def model_options_of(values: Mapping[str, Any]) -> "ModelOptions":
    """How models are called, from the options of a command. Raises UsageError."""
    from ragstone.engine.execute import cache_folder, limited  # noqa: PLC0415
    from ragstone.models import ModelOptions  # noqa: PLC0415
    from ragstone.prices import read_price  # noqa: PLC0415

    options = ModelOptions(
        cache=None if values["no_cache"] else cache_folder(), deadline=values["deadline"],
        requests_per_minute=values["rpm"], tokens_per_minute=values["tpm"], batch=batches_of(values),
        spread=cluster_of(values),
    )  # fmt: skip
    price = read_price(values["price"] or values.get("judge_price"))
    options = limited(options, values["max_requests"], values["max_cost"], price)
    if values["concurrency"]:
        options = replace(options, in_flight=max(values["concurrency"], options.in_flight))
    return options


def run_options_of(
    values: Mapping[str, Any], shell: "Shell", *, gates: Mapping[str, float] | None = None
) -> "RunOptions":
    """How a plan is run, from the options of a command. Raises UsageError."""
    from ragstone.engine.execute import RunOptions  # noqa: PLC0415

    return RunOptions(
        values["run_file"], model_options_of(values), values["concurrency"], values["price"],
        values.get("judge_price", ""), gates, shell,
    )  # fmt: skip


def judging_of(values: dict[str, Any], **more: Any) -> "Judging":
    """Takes `judge_options` out of `values`. Raises UsageError for options of a judge if none is named: it was probably
    forgotten. `more`: other fields of `Judging`."""
    from ragstone.engine.judge_tools import Judging  # noqa: PLC0415

    judging = Judging.of(
        values.pop("judge"), combine=values.pop("combine"), base_url=values.pop("judge_base_url"),
        embedder=values.pop("embedder"),
        embedder_base_url=values.pop("embedder_base_url") or None, verify=values.pop("verify"),
        prompts=values.pop("prompts"), rubrics=values.pop("rubrics"), reasons=values.pop("reasons"),
        strict_quotes=values.pop("strict_quotes"), **more,
    )  # fmt: skip
    judge_flags = {
        "--judge-base-url": judging.base_url, "--prompts": judging.prompts,
        "--judge-protocol ragas": judging.protocol != "matrix", "--verify separate": judging.verify != "joint",
        "--reasons": judging.reasons, "--strict-quotes": judging.strict_quotes,
    }  # fmt: skip
    if _is_written("combine") and len(judging.judges) < 2:
        raise UsageError("--combine has no effect: it needs several judges. Name another --judge, or leave it out.")
    if judging.model is None and (named := [option for option, value in judge_flags.items() if value]):
        raise no_judge(named)
    return judging


def check_embedder_option(judging: "Judging", metrics: Iterable[Any]) -> None:
    """Raises UsageError for an embedder that the command names and none of these metrics uses. What a ragstone.toml
    names for all its commands may be of no use to one of them."""
    if _is_written("embedder") or _is_written("embedder_base_url"):
        judging.check_embedder(list(metrics))


def _is_written(option: str) -> bool:
    """Whether an option stands in the command itself, not in a ragstone.toml."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(option) is ParameterSource.COMMANDLINE


def no_judge(options: Iterable[str]) -> UsageError:
    """The error for options of a judge if none is named."""
    return UsageError(f"{', '.join(options)} needs a judge: add --judge PROVIDER/MODEL.")


def once(pairs: Iterable[tuple[str, V]], option: str) -> dict[str, V]:
    """The pairs of an option as a dict. Raises UsageError if two of the same name differ."""
    values: dict[str, V] = {}
    for name, value in pairs:
        if values.setdefault(name, value) != value:
            raise UsageError(f"{option} names {name} twice: {values[name]} and {value}. Keep one of them.")
    return values


def metrics_option(help_text: str, *flags: str) -> Callable[[F], F]:
    """`--metrics NAME,…`, repeatable, or other `flags`; the last of them names the parameter."""
    names = flags or ("--metrics",)
    return click.option(*names, names[-1].strip("-"), type=NameList(), multiple=True, callback=_flat, help=help_text)


def _flat(ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in value for name in names))


def _as_dict(ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, V], ...]) -> dict[str, V]:
    return once(value, param.opts[0])


where_option = click.option(
    "--where", type=Pairs(), multiple=True, metavar="NAME=VALUE", callback=_as_dict,
    help="Only cases with this value of a condition, column or derived field; 12..20 is a range (repeatable).",
)  # fmt: skip


def check_report(values: Mapping[str, Any]) -> None:
    """Raises what `--report` would raise after the run, before anything is asked."""
    from ragstone.engine.open_run import check_target  # noqa: PLC0415

    if values["report_file"] and not values.get("dry_run"):
        check_target(values["report_file"], values.get("run_file"))


references_option = click.option(
    "--references", type=PATH,
    help="File with the references of the questions, joined by question or id.",
)  # fmt: skip


def map_option(help_text: str) -> Callable[[F], F]:
    """`--map WORD=COLUMN`, repeatable, as a dict."""
    return click.option(
        "--map", "mapping", type=Pairs(), multiple=True, metavar="WORD=COLUMN", callback=_as_dict, help=help_text
    )


columns_option = map_option("Meaning of a column, such as reference=gold_answer (repeatable).")
table_options = both(
    click.option("--sheet", metavar="NAME", help="Sheet of a spreadsheet."),
    click.option("--split", metavar="NAME", help="Split of a Hugging Face data set."),
)
otlp_option = click.option(
    "--otlp", metavar="URL", default="",
    help="Send spans of the answers with their scores to this OTLP/HTTP endpoint.",
)  # fmt: skip
seed_option = click.option("--seed", type=int, help="Seed of --sample.  [default: 0]")


def rows_options(rows: str) -> Callable[[F], F]:
    """Which rows are used, and their language. `rows`: what they are called."""
    return both(
        click.option("--sample", type=click.IntRange(1), help=f"Number of {rows}, drawn at random with --seed."),
        seed_option,
        click.option("--limit", type=click.IntRange(1), help=f"Use only the first {rows}."),
        click.option("--data-language", type=click.Choice(["en", "zh"]),
                     help="Language of all rows.  [default: each row's own]"),
    )  # fmt: skip


def data_of(source: Path, values: Mapping[str, Any], *more: str) -> "EvalData":
    """The user's data, read as the options say, those of `more` among them. Raises UsageError and DataError."""
    from ragstone.datasets.tabular.eval_data import read_data  # noqa: PLC0415

    names = ("mapping", "limit", "sample", "seed", "sheet", "split", "references", *more)
    return read_data(source, **{name: values[name] for name in names})


def dry_run_option(counted: str) -> Callable[[F], F]:
    """`--dry-run`, which counts `counted`."""
    return click.option("--dry-run", is_flag=True, help=f"Print the number of {counted} and the cost, then stop.")


judge_protocol_option = click.option(
    "--judge-protocol", type=click.Choice(["matrix", "ragas"]), default="matrix", show_default=True,
    help="matrix: two requests per sample; ragas: metric by metric, for comparison.",
)  # fmt: skip
json_option = click.option("--json", "as_json", is_flag=True, help="Print a single JSON document.")
language_option = click.option(
    "--language",
    type=click.Choice(LANGUAGES),
    help="Language of the output.  [default: that of the run, else the environment's]",
)


class Scale(click.ParamType[tuple[float, float]]):
    """The lowest and the highest label: LOW..HIGH."""

    name = "LOW..HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        low, dots, high = str(value).partition("..")
        try:
            return (float(low), float(high)) if dots else self.fail(f"{value!r}: expected LOW..HIGH.", param, ctx)
        except ValueError:
            self.fail(f"{value!r}: expected two numbers, such as 1..5.", param, ctx)
