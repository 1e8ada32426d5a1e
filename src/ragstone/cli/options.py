"""Options that several commands share."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["Names", "Number", "Ratios", "both", "json_option", "language_option", "rgb_arguments", "rgb_options"]

F = TypeVar("F", bound=Callable[..., Any])

# Beyond these a typing error is likelier than a wish, and memory would be the first to tell.
MOST_PASSAGES = 10_000
MOST_QUESTIONS = 1_000_000


class Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas."""

    name = "NAME,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        names = tuple(part.strip() for part in value.split(",") if part.strip())
        if not names:
            self.fail("expected one name or more, separated by commas.", param, ctx)
        return names


class Ratios(click.ParamType[tuple[float, ...]]):
    """Numbers from 0 to 1, separated by commas."""

    name = "RATIO,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if not isinstance(value, str):
            return tuple(value)
        try:
            ratios = tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r}: expected numbers from 0 to 1, such as 0,0.4.", param, ctx)
        if not all(0 <= ratio <= 1 for ratio in ratios):
            self.fail(f"{value!r}: a ratio is from 0 to 1.", param, ctx)
        return ratios


class Number(click.FloatRange):
    """A finite number in a range: `nan` and `inf`, which compare oddly and are no JSON, are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


def both(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several decorators as one, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
language_option = click.option(
    "--language", type=click.Choice(["en", "zh"]), default="en", show_default=True, help="Language of the words."
)

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
