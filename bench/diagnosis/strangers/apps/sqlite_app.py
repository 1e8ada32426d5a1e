"""A plain class on SQLite's full-text search, asked asynchronously; ids are the numbers of its rows."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import policy
from bench.diagnosis.strangers.ingest import rows
from bench.diagnosis.strangers.reader import Reader
from bench.diagnosis.strangers.settings import instruction
from bench.diagnosis.strangers.words import words

if TYPE_CHECKING:
    from bench.diagnosis.strangers.settings import Settings

SYSTEM = {
    "en": "SYSTEM: You are the help desk of Halvern Water. Use nothing but the sources. ",
    "zh": "系统：你是瀚文水务的服务台，只能使用下列资料。",
}


class HelpDesk:
    """The help desk of the company."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.reader, self.desk = Reader(settings), policy.Desk(settings)
        self.lock = threading.Lock()
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute(
            "CREATE VIRTUAL TABLE chunks USING fts5(key UNINDEXED, body UNINDEXED, terms, page UNINDEXED, dept)"
        )
        self.db.executemany(
            "INSERT INTO chunks (key, body, terms, page, dept) VALUES (?, ?, ?, ?, ?)",
            [(row.id, row.text, self._terms(row.text), row.document, row.department) for row in rows(settings)],
        )

    def _terms(self, text: str) -> str:
        return " ".join(word.replace("-", "") for word in words(text))

    def search(self, question: str, k: int = policy.TOP) -> list[dict[str, Any]]:
        """The best chunks."""
        terms = sorted(set(self._terms(policy.query(question, self.settings)).split()))
        if not terms:
            return []
        joint = " AND " if self.settings.has("all_words_required") else " OR "
        match = "terms : (" + joint.join(f'"{term}"' for term in terms) + ")"
        where = "AND dept = 'hr'" if self.settings.has("metadata_filter") else ""
        sql = f"SELECT key, body, page, rank FROM chunks WHERE chunks MATCH ? {where} ORDER BY rank LIMIT 400"
        with self.lock:
            found = self.db.execute(sql, (match,)).fetchall()
        found.sort(key=lambda row: row[3] * policy.weight(row[2], self.settings))
        return [{"chunk_id": row[0], "text": row[1], "source": row[2], "score": -row[3]} for row in found[:k]]

    async def ask(
        self, question: str, passages: list[Any] | None = None, k: int = policy.TOP, retrieve_only: bool = False
    ) -> Any:
        """Answer a question."""
        await asyncio.sleep(0)
        if self.settings.has("k_too_small") and k == policy.TOP:
            k = 1
        hits: list[Any] = self.search(question, k) if passages is None else list(passages)
        if retrieve_only:
            return hits
        answer = self.desk.before(question)
        if answer is None:
            answer = self.desk.after(question, self.reader.complete(self._prompt(question, hits)))
        return {"answer": answer, "contexts": hits}

    def _prompt(self, question: str, hits: list[Any]) -> str:
        settings = self.settings
        bodies = [hit["text"] if isinstance(hit, dict) else str(hit) for hit in policy.arranged(hits, settings)]
        sources = "\n".join(f"### Source\n{policy.snippet(body, settings)}" for body in bodies)
        asked = "User question: " if settings.language == "en" else "用户问题："
        return (
            f"{SYSTEM[settings.language]}{instruction(settings)}\n{self.desk.conversation()}\n"
            f"{policy.clipped(sources, settings)}\n\n{asked}{question}\n"
        )


def build(settings: Settings) -> HelpDesk:
    """The help desk."""
    return HelpDesk(settings)
