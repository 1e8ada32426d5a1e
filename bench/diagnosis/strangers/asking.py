"""The applications by name: how each is built, and how its own author asks it, without the tool."""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench.diagnosis.strangers import policy

if TYPE_CHECKING:
    from bench.diagnosis.strangers.settings import Settings

MODULES = {
    "langchain": "langchain_app",
    "langgraph": "langgraph_app",
    "llamaindex": "llamaindex_app",
    "haystack": "haystack_app",
    "http_open": "http_service",
    "http_closed": "http_service",
    "function": "function_app",
    "sqlite": "sqlite_app",
}


def build(app: str, settings: Settings) -> Any:
    """The application with these settings."""
    module = importlib.import_module(f"bench.diagnosis.strangers.apps.{MODULES[app]}")
    settings = replace(settings, app=app)
    return module.Service(settings) if app.startswith("http") else module.build(settings)


def ask(app: str, system: Any, question: str) -> str:
    """The answer to a question; an exception is an empty answer."""
    try:
        return _ask(app, system, question)
    except policy.Unavailable:
        return ""


def _ask(app: str, system: Any, question: str) -> str:
    if app == "langchain":
        return str(system.invoke(question))
    if app == "langgraph":
        return str(asyncio.run(system.ainvoke({"question": question}))["generation"])
    if app == "llamaindex":
        return str(system.query(question))
    if app == "haystack":
        words = {"embedder": {"text": question}, "ranker": {"query": question}, "prompt": {"question": question}}
        if "sparse" in system.graph.nodes:
            words["sparse"] = {"query": question}
        return str(system.run(words)["model"]["replies"][0])
    if app.startswith("http"):
        return str(system.answer(question)["data"]["reply"])
    if app == "sqlite":
        return str(asyncio.run(system.ask(question))["answer"])
    return str(system(question)["answer"])
