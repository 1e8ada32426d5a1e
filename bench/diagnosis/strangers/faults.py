"""The faults, each with its one right stage and cause. Committed before the tool was run for the first time.

A second cause or stage is allowed only where an expert would accept both; a comment says why.
"""

from __future__ import annotations

from dataclasses import dataclass

MODEL = ("langchain", "langgraph", "llamaindex", "haystack", "http_open", "http_closed", "function", "sqlite")
DESK = ("langchain", "langgraph", "http_open", "http_closed", "function", "sqlite")  # have a cache, a guard, turns
LEXICAL = ("langgraph", "http_open", "http_closed", "function", "sqlite")
DENSE = ("langchain", "llamaindex", "haystack")
RERANK = ("langchain", "llamaindex", "haystack", "http_open", "http_closed", "function")
REWRITE = ("langchain", "langgraph", "http_open", "http_closed", "function", "sqlite")


@dataclass(frozen=True)
class Fault:
    """A fault: where it is planted, and what an expert calls it."""

    name: str
    stages: tuple[str, ...]
    causes: tuple[str, ...]
    apps: tuple[str, ...]
    lifted: str
    """What lifting it means, in a team's words."""

    @property
    def in_index(self) -> bool:
        """Whether a user would name what is indexed, to have this fault found."""
        return self.stages[0] == "index"


def _fault(name: str, stage: str, cause: str, apps: tuple[str, ...], lifted: str) -> Fault:
    return Fault(name, tuple(stage.split("/")), tuple(cause.split("/")), apps, lifted)


FAULTS = (
    # The index.
    _fault("missing_documents", "index", "not_in_index", MODEL, "index the three documents that were left out"),
    _fault("old_version", "index", "stale", MODEL, "index the current versions of four documents"),
    _fault("draft_beside_final", "index", "contradiction", MODEL, "remove the old drafts from the index"),
    _fault("chunks_cut", "index", "chunking", MODEL, "cut larger chunks"),
    _fault("tables_flattened", "index", "chunking", MODEL, "keep the rows of tables together"),
    # The second half of each document was never indexed. The document is there, its evidence is not: an expert who sees
    # documents calls it lost on the way to chunks, one who sees passages calls the passage missing.
    _fault("first_page_only", "index", "not_in_index/chunking", MODEL, "index the whole documents"),
    # The index has the documents in the other language. Nothing in the question's language is indexed, and what is
    # indexed is in another one: both words are true, and whether index or search is to blame is a matter of taste.
    _fault("wrong_language", "index/search", "language/not_in_index", MODEL, "index the documents in this language"),
    # The search.
    _fault("embedder_broken", "search", "not_retrieved", DENSE, "embed questions and documents with one model"),
    _fault("all_words_required", "search", "not_retrieved", LEXICAL, "search for any of the words"),
    _fault("metadata_filter", "search", "filtered", MODEL, "remove the filter on the department"),
    _fault("score_threshold", "search", "filtered", tuple(a for a in LEXICAL if a != "sqlite"), "lower the threshold"),
    _fault("rewriter_drops_subject", "search", "rewriting", REWRITE, "search for the question as asked"),
    _fault("query_truncated", "search", "rewriting", REWRITE, "search for the whole question"),
    # The grader of a graph throws good passages away. Some say filter, some say that the last step of ranking did it.
    _fault("grader_strict", "search/ranking", "filtered/reranking", ("langgraph", "haystack"), "grade less strictly"),
    # The ranking.
    _fault("k_too_small", "ranking", "k_too_small", MODEL, "five passages instead of one"),
    _fault("duplicates", "ranking", "duplicates", MODEL, "index each page once"),
    _fault("reranker_inverted", "ranking", "reranking", RERANK, "sort by falling scores"),
    _fault("popularity_boost", "ranking", "ranking", LEXICAL, "do not multiply scores of popular pages"),
    # The prompt.
    _fault("token_limit", "prompt", "prompt_cut", DESK, "lift the limit of tokens"),
    _fault("snippets", "prompt", "prompt_cut", DESK, "put whole passages into the prompt"),
    _fault("middle_lost", "prompt", "position", MODEL, "put the best passages first"),
    _fault("others_confuse", "prompt", "noise", MODEL, "a model that other passages do not confuse"),
    _fault("history_leaks", "prompt", "history", DESK, "clear the conversation between users"),
    # The answer.
    _fault("from_memory", "answer", "memory", MODEL, "a model that reads before it answers"),
    _fault("half_answer", "answer", "integration", MODEL, "a model that answers all parts"),
    _fault("told_brief", "answer", "instruction", MODEL, "no limit of 15 characters in the prompt"),
    _fault("section_only", "answer", "instruction", MODEL, "do not ask for the topic alone"),
    _fault("rounds_figures", "answer", "instruction", MODEL, "let it quote figures"),
    _fault("wrong_units", "answer", "units", MODEL, "a model that keeps units"),
    _fault("misreads", "answer", "reading", MODEL, "a model that reads well"),
    _fault("stale_cache", "answer", "cached_answer", DESK, "empty the answer cache"),
    _fault("coarse_cache", "answer", "cached_answer", DESK, "whole questions as keys of the answer cache"),
    _fault("flaky", "answer", "unstable", MODEL, "a model that answers alike each time"),
    # Refusals. A guard's message replaces an answer that was there: a refusal to the reader, a technical stop to the
    # engineer; both stages are accepted, the cause is one.
    _fault("refuses_often", "refusal", "refused_wrongly", MODEL, "do not ask for absolute certainty"),
    _fault("never_refuses", "refusal", "should_have_refused", MODEL, "allow the model to decline"),
    _fault("guard_blocks", "refusal/error", "guard", DESK, "let the guard pass amounts and names"),
    # Errors.
    _fault("error_text", "error", "error", DESK, "repair the upstream service"),
    _fault("empty_reply", "error", "error", DESK, "repair the upstream service"),
    _fault("raises", "error", "error", DESK, "repair the upstream service"),
    # The evaluation.
    _fault("other_notation", "reference", "metric", MODEL, "accept other notations"),
    _fault("wrong_reference", "reference", "reference_in_doubt", MODEL, "correct the references"),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
EVALUATION = ("other_notation", "wrong_reference")
