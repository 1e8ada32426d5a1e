"""`ragstone diagnose`."""

import asyncio
from typing import TYPE_CHECKING, Any

import click

from ragstone.commands.gates import check_gate_options, gate_options, report_gates, thresholds_of
from ragstone.commands.options import (
    PATH,
    POSITIVE,
    PRICE,
    asking_options,
    check_embedder_option,
    check_report,
    data_of,
    json_option,
    judge_options,
    judging_of,
    language_option,
    max_requests_option,
    metrics_option,
    report_option,
    run_option,
    run_options_of,
    shard_of,
    shard_option,
)  # fmt: skip
from ragstone.commands.output import say, say_json, say_tables, say_text
from ragstone.commands.shell import opened_shell
from ragstone.commands.show import exit_code, failures_of, say_reused, say_run, say_unfinished
from ragstone.errors import UsageError
from ragstone.evaluation.commands.bench_command import money
from ragstone.evaluation.commands.defaults import OfProject
from ragstone.evaluation.commands.run import question_options
from ragstone.evaluation.commands.systems import system_of, system_options
from ragstone.messages import messages, preferred_language
from ragstone.runs import is_run_file

if TYPE_CHECKING:
    from ragstone.diagnosis.diagnose import DiagnosisPlan, DiagnosisResult
    from ragstone.diagnosis.trials import Trials
    from ragstone.retrieval.corpus import Corpus
    from ragstone.types import Run, Usage


@click.command(name="diagnose", cls=OfProject)
@click.argument("questions", type=PATH, required=False)
@system_options
@click.option(
    "--index",
    "index",
    metavar="NAME",
    help="What the system can find, to tell missing and old documents: a folder or file of passages, "
    "app.py:chunks, or an engine's collection.  [default: of rag(…) its documents]",
)
@question_options
@metrics_option("Metric that decides what is right.  [default: answer_correctness with a judge, else answer_match]")
@judge_options
@click.option("--plan", type=click.Choice(["adaptive", "full"]), default="adaptive", show_default=True,
              help="adaptive: ask only what can change a verdict; full: every condition.")  # fmt: skip
@run_option
@shard_option
@report_option
@click.option("--try", "changes", multiple=True, metavar="NAME=VALUE",
              help="Change to measure: k=10, retriever=…, chunk=…, template=strict, top=3, order=reversed, "
              "rewriting=off; auto: what may help (repeatable).")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print how many questions and requests there would be, then stop.")
@click.option("--price", type=PRICE, default="", help="Price per million tokens: prompts, answers, cached prompts.")
@click.option("--budget", "--max-cost", "max_cost", type=POSITIVE,
              help="Stop when --price times the tokens of models reaches this; a larger budget resumes.")  # fmt: skip
@max_requests_option
@language_option
@asking_options
@gate_options
@json_option
def command(**values: Any) -> int:
    """Ask a system the questions in QUESTIONS under changed conditions: why answers are wrong, and what to fix.

    QUESTIONS needs a column `reference`. Gold passages come from labels or a column `document`, else from the --corpus,
    the true documents. The system is Python code (app.py:ask), an HTTP address, or rag(…) over the --corpus. Without
    one the answers in QUESTIONS, if it has any, are diagnosed as far as that needs no asking; so is a run file of
    MIRAGE, given in place of QUESTIONS. Without QUESTIONS, questions, system and judge are those of [run] in
    ragstone.toml."""
    from ragstone.diagnosis.diagnose import has_answers, plan_diagnosis  # noqa: PLC0415
    from ragstone.diagnosis.interventions.causes import CAUSES  # noqa: PLC0415

    if values["questions"] is None:
        raise UsageError("Name a file of questions: ragstone diagnose questions.csv. `ragstone init` writes one.")
    if shard_of(values) is not None and values["changes"]:
        raise UsageError("--try needs the diagnosis of all questions: leave --shard out, and merge the parts first.")
    if is_run_file(values["questions"]):
        if values["shard"]:
            raise UsageError("--shard has no effect on a run file, of which nothing is asked: leave it out.")
        return _say_run(values)
    if values["max_cost"] and not values["price"]:
        raise UsageError("--budget needs the price of a million tokens: add --price IN/OUT, such as 0.15/0.60.")
    check_report(values)
    language = values["data_language"] or ""
    judging = judging_of(values, language=language)
    judging.check(values["metrics"])
    data = data_of(values["questions"], values)
    corpus = values["corpus"]
    index = asyncio.run(_index_of(values)) if values["index"] is not None else None
    if corpus is not None and values["system"] and not values["system"].startswith("rag("):
        values["corpus"] = None  # the documents of a system of the user's own
    named = values["system"] or values["model"] or values["retriever"]
    recorded = not named and (corpus is None or has_answers(data))
    if recorded or named == "recorded":
        values["corpus"] = None
    elif index is not None and values["corpus"] is not None:
        values["corpus"] = index  # the documents of rag(…), which searches what the index has
    system = None if recorded else named if named == "recorded" else system_of(values)
    plan = plan_diagnosis(
        data, system, values["metrics"], judging, corpus=corpus, index=index, data_language=language,
        full=values["plan"] == "full",
    )  # fmt: skip
    check_embedder_option(judging, plan.metrics)
    causes = [f"cause.{name}" for name in CAUSES]
    check_gate_options(values, plan.judging.names(plan.metrics), values["run_file"], *causes)
    if values["changes"]:
        from ragstone.diagnosis.changes import check_changes  # noqa: PLC0415

        check_changes(values["changes"], plan.system)
    if values["dry_run"]:
        return _dry_run(plan, values)
    return asyncio.run(_run(plan, values))


async def _index_of(values: dict[str, Any]) -> "Corpus":
    from ragstone.engine.execute import asking  # noqa: PLC0415
    from ragstone.retrieval.index_list import read_index  # noqa: PLC0415

    return await read_index(values["index"], asking(values["deadline"]))


def _say_run(values: dict[str, Any]) -> int:
    """Prints the causes of a finished run of MIRAGE."""
    from ragstone.diagnosis.diagnosed_runs import diagnose_run  # noqa: PLC0415

    found = diagnose_run(values["questions"])
    tables = found.tables(language=values["language"] or preferred_language())
    if values["as_json"]:
        causes = {system: {item.id: item.cause.name for item in items} for system, items in found.questions.items()}
        say_json({"causes": causes, "tables": tables})
    else:
        say_tables(tables, language=values["language"] or preferred_language())
    return 0


def _dry_run(plan: "DiagnosisPlan", values: dict[str, Any]) -> int:
    """Prints the least and the most that the diagnosis may take: requests, tokens and, with a price, money."""
    from ragstone.diagnosis.diagnosis_estimate import estimate_diagnosis  # noqa: PLC0415
    from ragstone.prices import read_price  # noqa: PLC0415

    expected = asyncio.run(estimate_diagnosis(plan, values["changes"]))
    price = read_price(values["price"])
    parts = {"model": (expected.model, price), "judge": (expected.judge, plan.judging.price or price)}
    document: dict[str, Any] = {
        "questions": expected.questions, "requests_least": expected.answers[0], "requests_most": expected.answers[1]
    }  # fmt: skip
    texts = messages(__name__, values["language"] or preferred_language())
    lines = [texts["dry_run"].format(questions=expected.questions, least=expected.answers[0], most=expected.answers[1])]
    costs: list[tuple[float, float]] = []
    for name, (part, at) in parts.items():
        if part is None or not part.most.requests:
            continue
        amounts = {"requests": (part.least.requests, part.most.requests),
                   "tokens": (_tokens(part.least), _tokens(part.most))}  # fmt: skip
        costs += [] if at is None else [part.cost(at)]
        document |= {f"{name}_{key}_{end}": value for key, pair in amounts.items()
                     for end, value in zip(("least", "most"), pair, strict=True)}  # fmt: skip
        lines.append(texts[f"dry_{name}"].format(**{key: texts["range"].format(least=pair[0], most=pair[1])
                                                    for key, pair in amounts.items()}))  # fmt: skip
    if expected.model is None:
        lines.append(texts["dry_unknown"])
    if costs:
        least, most = (sum(ends) for ends in zip(*costs, strict=True))
        document |= {"cost_least": least, "cost_most": most}
        lines.append(texts["dry_cost"].format(least=money(least), most=money(most), price=values["price"]))
    if values["as_json"]:
        say_json(document)
        return 0
    for line in lines:
        say(line)
    return 0


def _tokens(usage: "Usage") -> int:
    return usage.prompt_tokens + usage.completion_tokens


async def _run(plan: "DiagnosisPlan", values: dict[str, Any]) -> int:
    from ragstone.diagnosis.diagnose import run_diagnosis  # noqa: PLC0415

    async with opened_shell(values) as shell:
        how = run_options_of(values, shell, gates=thresholds_of(values))  # one budget for diagnosis and trials
        result = await run_diagnosis(plan, how)
        trials = None
        if values["changes"] and result.outcome.complete:
            from ragstone.diagnosis.trials import try_changes  # noqa: PLC0415

            trials = await try_changes(plan, result, values["changes"], how)
    return _print(plan, result, trials, values)


def _print(
    plan: "DiagnosisPlan", result: "DiagnosisResult", trials: "Trials | None", values: dict[str, Any]
) -> int:  # fmt: skip
    from ragstone.diagnosis.trials import as_json, config_diff, trials_table  # noqa: PLC0415
    from ragstone.report.text import table_text  # noqa: PLC0415

    outcome = result.outcome
    _ = result.questions  # read once, for everything that follows
    with result.open() as run:
        language = run.language
        report = run.write_report(values["report_file"], language=language) if values["report_file"] else None
        view, failures = run.benchmark.view(run.run), failures_of(run, language)
        scored = _scored(view, result.system)
        if values["as_json"]:
            gated, gates = report_gates(view, values, scored=scored, system=result.system, language=language)
            causes = {name: {"cause": cause.name, "also": list(cause.also), "lost": cause.lost,
                             "missing": cause.missing} for name, cause in result.causes().items()}  # fmt: skip
            document = {
                "run": str(result.run), "report": None if report is None else str(report),
                "complete": outcome.complete, "causes": causes, "gates": gates,
                "tables": run.tables(language=language), "warnings": list(result.warnings),
                "withdrawn": result.withdrawn(), "alarms": result.alarms(),
                **({} if trials is None else {"trials": as_json(trials)}),
            }  # fmt: skip
            say_json(document)
        else:
            say_run(run, language=language, report=report, notes=result.warnings)
            if trials is not None:
                say_text(table_text(trials_table(trials, language=language), language=language))
                say_text(config_diff(trials, plan))
            gated, _ = report_gates(
                view, values, scored=scored, system=result.system, language=language, run_file=result.run
            )
        code = exit_code(outcome, run, gated)
    if not plan.recorded:
        say_reused(outcome, result.run, language)
    if not outcome.complete:
        say_unfinished(outcome, failures, language)
    stopped = trials is not None and trials.stopped
    if trials is not None and stopped:
        say_unfinished(trials.outcome, (), language)
    return 3 if stopped and code == 0 else code


def _scored(view: "Run", system: str) -> set[str] | None:
    """The metrics of a system's answers; None if nothing is scored yet. The gates of a project may be on others, which
    `ragstone run` scores and a diagnosis does not need."""
    return {name for record in view.records(system=system, texts=False) for name in record.scores} or None
