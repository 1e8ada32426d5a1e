"""Runs an application of tests/systems/apps/frameworks under OpenInference's instrumentation, and exports its spans
with OpenTelemetry's own exporter to the endpoint of the environment. Arguments: langchain or llamaindex."""

import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from openinference.instrumentation import using_session
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

sys.path.insert(0, str(Path(__file__).parent.parent / "frameworks"))


def main(framework: str) -> None:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(compression=Compression.Gzip)))
    ask = {"langchain": langchain, "llamaindex": llamaindex}[framework]
    ask(provider)
    provider.shutdown()


def langchain(provider: TracerProvider) -> None:
    from openinference.instrumentation.langchain import LangChainInstrumentor

    graph = ModuleType("langgraph.graph")
    for name in ("END", "START", "MessagesState", "StateGraph"):
        setattr(graph, name, object)
    sys.modules |= {"langgraph": ModuleType("langgraph"), "langgraph.graph": graph}  # what is traced here needs none
    LangChainInstrumentor().instrument(tracer_provider=provider)
    import langchain_app as app

    with using_session("s1"):
        app.chain.invoke("How much is item 4?")
        app.mapped.invoke({"question": "第5号商品多少钱？ item 5?"})
    app.rag.invoke({"input": "How much is item 6?", "chat_history": [("user", "hi"), ("assistant", "yes")]})
    with suppress(KeyError):
        app.broken.invoke("How much?")


def llamaindex(provider: TracerProvider) -> None:
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    import llamaindex_app as app

    app.engine.query("How much is item 4?")
    with suppress(KeyError):
        app.broken.query("How much is item 9?")


main(sys.argv[1])
