"""The tables of a diagnosis: the waterfall, what each fix would buy, the gold by stage, causes and labels."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.table_builder import TableWriter, row
from ragstone.diagnosis.interventions.advice import Fix, advice_text, fixes, tried_on
from ragstone.diagnosis.interventions.alarms import reason_of, remedy_of
from ragstone.diagnosis.interventions.behaviour import behaviours, refusals
from ragstone.diagnosis.interventions.causes import CAUSES
from ragstone.diagnosis.interventions.conditions import CONDITIONS, SEARCHES
from ragstone.diagnosis.interventions.details import details, meaning_of
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.labels import INTEGRATION_SHARES, LABELS
from ragstone.diagnosis.interventions.verification import withdrawals
from ragstone.diagnosis.interventions.waterfall import priced, waterfall
from ragstone.display import Cell, Row, Table
from ragstone.messages import messages
from ragstone.prices import Price
from ragstone.runs.readers import is_extractive
from ragstone.stats import Estimate
from ragstone.types import Run

_SHOWN = 8  # ids that a cell names


def tables(run: Run, items: Mapping[str, list[Diagnosed]], *, language: str = "en") -> list[Table]:
    """All tables of a run that have rows; with several systems, a set of rows for each. `items`: by system."""
    known = {system: found for system, found in items.items() if found}
    return tables_of(known, language=language, price=priced(run), specs=run.systems)


def tables_of(
    systems: dict[str, list[Diagnosed]], *, language: str = "en", price: Price | None = None,
    specs: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> list[Table]:  # fmt: skip
    """The tables of these questions by system. `specs`: of the systems."""
    writer = _DiagnosisTables(systems, language, price, specs)
    all_tables = [
        writer.waterfall(), writer.fixes(), writer.details(),
        writer.stages(), writer.causes(), writer.refusals(), writer.labels(), writer.behaviour(),
        writer.conditions(), writer.withdrawn(),
    ]  # fmt: skip
    return [table for table in all_tables if table.rows]


class _DiagnosisTables(TableWriter):
    prefix = "diagnosis"

    def __init__(
        self, systems: dict[str, list[Diagnosed]], language: str, price: Price | None,
        specs: Mapping[str, Mapping[str, Any]],
    ) -> None:  # fmt: skip
        super().__init__(messages(__name__, language))
        self.language = language
        self.systems = systems
        self.several = len(systems) > 1
        self.price, self.specs = price, specs

    def _columns(self, *keys: str) -> tuple[str, ...]:
        return (*((self.words["system"],) if self.several else ()), *self.texts(*keys))

    def _key(self, system: str) -> tuple[Cell, ...]:
        return (Cell(system),) if self.several else ()

    def _table(self, name: str, columns: tuple[str, ...], rows: Sequence[Row], *notes: str) -> Table:
        return self.table(name, columns, rows, [note for note in notes if note], keys=1 + self.several)

    def waterfall(self) -> Table:
        """The share right as is, each step, and what remains wrong."""
        rows: list[Row] = []
        notes = [self.words["waterfall_note"]]
        for system, items in self.systems.items():
            fall, key = waterfall(items), self._key(system)
            rows.append(row(*key, self.words["as_is"], "", "", fall.as_is.cell("%", empty=self.words["not_measured"])))
            rows += [
                row(
                    *key, self.words[f"step_{step.name}"], str(len(step.lost)), self._measured(step.gain, step.missing),
                    "" if step.level is None else step.level.cell("%"),
                )
                for step in fall.steps
            ]  # fmt: skip
            for cause, share in fall.remaining.items():
                name = self.words["remains"].format(cause=self.words[f"cause_{cause}"])
                gain = self.words["not_measured"] if cause in fall.unmeasured else ""
                rows.append(row(*key, name, str(share.count), gain, ""))
            if fall.changes.value:
                notes.append(self.words["changes"].format(share=f"{100 * fall.changes.value:.0f}%", n=fall.changes.n))
        return self._table("waterfall", self._columns("step", "lost", "gain", "right"), rows, *dict.fromkeys(notes))

    def fixes(self) -> Table:
        """What fixing each cause would buy, the largest gain first."""
        rows = [
            row(
                *self._key(system), self.words[f"cause_{fix.cause}"], self._advice(fix, system),
                self._gain(fix), str(len(fix.cases)), _change(fix.tokens), _change(fix.seconds),
                *([_change(fix.cost(self.price))] if self.price else []), _ids(fix.cases),
            )
            for system, items in self.systems.items()
            for fix in fixes(items)
        ]  # fmt: skip
        cost = ["cost"] if self.price else []
        columns = self._columns("cause", "fix", "gain", "questions", "tokens", "seconds", *cost, "ids")
        return self._table("fixes", columns, rows, self.words["fixes_note"])

    def _advice(self, fix: Fix, system: str) -> str:
        extractive = is_extractive(self.specs.get(system, {}))
        return advice_text(fix, self.words, extractive=extractive) if fix.shown else self.words["not_measured"]

    def _gain(self, fix: Fix) -> Cell:
        """What a fix buys: of a change that was tried, or at most."""
        cell = self._measured(fix.gain, fix.missing)
        if fix.gain is None:
            return cell
        return replace(cell, note=tried_on(fix, self.words) if fix.tried else self.words["at_most"])

    def _measured(self, gain: Estimate | None, missing: str) -> Cell:
        """A gain; where it was not measured these words, and what would measure it."""
        if gain is not None:
            return gain.cell("%")
        return Cell(self.words["not_measured"], note=self.words[missing] if missing else "")

    def details(self) -> Table:
        """What exactly to fix, a row for each sentence."""
        rows = [
            row(*self._key(system), self.words[f"cause_{fix.cause}"], line)
            for system, items in self.systems.items()
            for fix in fixes(items)
            for line in details(fix.cause, items, language=self.language)
        ]
        return self._table("details", self._columns("cause", "details"), rows)

    def stages(self) -> Table:
        """In how many questions the gold was in the index, fetched, in the prompt, and the answer right."""
        rows = []
        for system, items in self.systems.items():
            asked = [item for item in items if item.evidence.value("answerable") == "yes"]
            known = [item for item in asked if item.evidence.value("gold") == "yes"]
            if not known:
                continue
            cells = [self._count(known, name) for name in ("in_index", "fetched", "asked", "by_reference", "prompted")]
            right = sum(item.right("as_is") == 1 for item in known)
            rows.append(row(*self._key(system), str(len(known)), *cells, f"{right}/{len(known)}"))
        columns = self._columns("with_gold", "in_index", "fetched", "asked", "by_reference", "prompted", "right")
        return self._table("stages", columns, rows, self.words["stages_note"])

    def _count(self, items: Sequence[Diagnosed], name: str) -> Cell:
        """Of how many questions this is known and true, and of how many it is not known. What was not searched for
        again is as it was fetched."""
        values = [item.evidence.value(name) for item in items]
        if name in ("asked", "by_reference"):
            if not any(value in ("yes", "no") for value in values):
                return (
                    Cell(self.words["not_measured"])
                    if any(item.evidence.value("fetched") == "no" for item in items)
                    else self._count(items, "fetched")
                )
            values = [
                "yes" if item.evidence.value("fetched") == "yes" else value
                for item, value in zip(items, values, strict=True)
            ]
        known = [value for value in values if value in ("yes", "no")]
        if not known:
            return Cell(self.words["not_measured"])
        rest = len(items) - len(known)
        note = self.words["unknown_rest"].format(n=rest) if rest else ""
        return Cell(f"{sum(value == 'yes' for value in known)}/{len(known)}", note=note)

    def causes(self) -> Table:
        """The primary cause of every question, and how sure it is."""
        rows = []
        for system, items in self.systems.items():
            counts = Counter(item.cause.name for item in items)
            for cause in sorted(counts, key=lambda name: (name != "unknown", -counts[name], CAUSES.index(name))):
                mine = [item for item in items if item.cause.name == cause]
                share = Estimate.of_count(len(mine), len(items)).cell("%")
                sure = sum(item.confidence for item in mine) / len(mine)
                missing = Counter(item.missing for item in mine if item.missing)
                why = "; ".join(f"{self.words[key]} ({n})" for key, n in missing.most_common())
                also = Counter(name for item in mine for name in item.cause.also)
                if also:
                    names = ", ".join(f"{self.words[f'cause_{name}']} ({n})" for name, n in also.most_common())
                    why = self.words["also"].format(meaning=self.words[meaning_of(cause, mine)], names=names)
                rows.append(
                    row(
                        *self._key(system), self.words[f"cause_{cause}"], str(len(mine)), share, f"{100 * sure:.0f}%",
                        why or self.words[meaning_of(cause, mine)],
                        "" if cause == "healthy" else _ids([item.id for item in mine]),
                    )
                )  # fmt: skip
        columns = self._columns("cause", "questions", "share", "confidence", "meaning", "ids")
        return self._table("causes", columns, rows, self.words["causes_note"])

    def refusals(self) -> Table:
        """Answers that should have been refusals, and refusals that should have been answers, and why."""
        rows = []
        for system, items in self.systems.items():
            for found in refusals(items):
                why = [(self.words.get(f"did_{name}") or self.words[f"cause_{name}"], n)
                       for name, n in found.reasons.items()]  # fmt: skip
                cells = (self.words[f"cause_{found.name}"], str(len(found.cases)), found.share.cell("%"))
                reasons = "; ".join(f"{name} ({n})" for name, n in why)
                rows.append(row(*self._key(system), *cells, reasons, _ids(found.cases)))
        columns = self._columns("refusal", "questions", "share", "meaning", "ids")
        return self._table("refusals", columns, rows, self.words["refusals_note"])

    def behaviour(self) -> Table:
        """What the system does without the gold, with a document that says otherwise, and with its passages moved."""
        rows = [
            row(*self._key(system), self.words[f"condition_{figure.condition}"], self.words[f"did_{figure.name}"],
                figure.share.cell("%"), str(figure.share.n), _ids(figure.cases))
            for system, items in self.systems.items()
            for figure in behaviours(items)
        ]  # fmt: skip
        columns = self._columns("condition", "behaviour", "share", "asked_count", "ids")
        return self._table("behaviour", columns, rows, self.words["behaviour_note"])

    def labels(self) -> Table:
        """Known kinds of errors beside the causes, with the paper's shares where it has them."""
        rows = []
        for system, items in self.systems.items():
            counts = Counter(label for item in items for label in item.labels)
            errors = sum(counts[label] for label in INTEGRATION_SHARES)
            for label in LABELS:
                if counts[label]:
                    ids = _ids([item.id for item in items if label in item.labels])
                    paper = INTEGRATION_SHARES.get(label)
                    shares = (
                        ("", "") if paper is None else (f"{100 * counts[label] / errors:.0f}%", f"{100 * paper:.0f}%")
                    )
                    rows.append(row(*self._key(system), self.words[f"label_{label}"], str(counts[label]), *shares, ids))
        columns = self._columns("label", "questions", "of_parts", "paper", "ids")
        return self._table("labels", columns, rows, self.words["labels_note"])

    def conditions(self) -> Table:
        """What was asked, and how many answers were right."""
        rows = []
        for system, items in self.systems.items():
            requests = sum(name not in SEARCHES for item in items for name in item.evidence.asked)
            for name in CONDITIONS:
                records = [item for item in items if name in item.evidence.asked]
                if not records:
                    continue
                values = [value for item in records if (value := _succeeded(item, name)) is not None]
                right = Estimate.of_count(round(sum(values)), len(values)).cell("%")
                rows.append(row(*self._key(system), self.words[f"condition_{name}"], str(len(records)), right))
            rows.append(row(*self._key(system), self.words["requests"], f"{requests / len(items):.1f}", ""))
        columns = self._columns("condition", "asked_count", "right")
        return self._table("conditions", columns, rows, self.words["conditions_note"])

    def withdrawn(self) -> Table:
        """The conditions that did not take effect, why, and what it would take."""
        rows = [
            row(*self._key(system), self.words[f"condition_{one.condition}"], f"{len(one.cases)}/{one.asked}",
                reason_of(one, language=self.language),
                remedy_of(one, self.specs.get(system, {}), language=self.language), _ids(one.cases))
            for system, items in self.systems.items()
            for one in withdrawals([item.evidence for item in items])
        ]  # fmt: skip
        columns = self._columns("condition", "withdrawn", "meaning", "remedy", "ids")
        return self._table("withdrawn", columns, rows, self.words["withdrawn_note"])


def _succeeded(item: Diagnosed, condition: str) -> float | None:
    """1 for a right answer, or a search that found the gold; None if that is not known."""
    if condition not in SEARCHES:
        return item.right(condition)
    response = item.evidence.response(condition)
    found = "missing" if response is None else item.evidence.has_gold(response.passages)
    if condition == "search_reference":  # which goes deeper than its field asks
        found = item.evidence.value("by_reference") or found
    item.evidence.pack()
    return None if found == "missing" else float(found == "yes")


def _change(value: Estimate | None) -> Cell:
    return Cell() if value is None else value.cell()


def _ids(ids: Sequence[str]) -> str:
    more = f" +{len(ids) - _SHOWN}" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
