"""ragas 0.4.3 on the samples of the bench, run by its environment's Python. Prints one line of JSON.

    PYTHON run_ragas.py --url http://127.0.0.1:PORT/v1 --samples 100 --workers 64 --embedder endpoint|process

Its five metrics that ragstone has too, through `ragas.evaluate` with 64 workers and the aiohttp client of the openai
package. `--llm`: "langchain" and "instructor", both of which generate one question for answer relevancy instead of
three (the first sets the number on an object that all requests share, so that it is lost when they go on at once; the
second takes no number), and "three", the first with `bypass_n`, which asks three times. `--embedder process` gives it
vectors without any request; otherwise it waits for some of its vectors inside its event loop, which then stands still.
"""

import argparse
import asyncio
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ.setdefault("OPENAI_API_KEY", "none")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
warnings.simplefilter("ignore")

import openai
from bench.peers.data import rows
from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.embeddings.base import BaseRagasEmbeddings
from ragas.llms import LangchainLLMWrapper, llm_factory
from ragas.metrics import AnswerCorrectness, AnswerRelevancy, ContextRecall, Faithfulness
from ragas.metrics import LLMContextPrecisionWithReference as ContextPrecision
from ragas.run_config import RunConfig

__all__ = ["main"]


class InProcess(BaseRagasEmbeddings):
    """Vectors that cost nothing."""

    def _vector(self, text: str) -> list[float]:
        return [1.0 + len(text) % 7, 2.0, 3.0 + len(text) % 3]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self._vector(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class Endpoint(InProcess):
    """Vectors from the endpoint, as ragas asks for them: without waiting where its metrics do not wait."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._now = openai.OpenAI(base_url=url)
        self._later = openai.AsyncOpenAI(base_url=url, http_client=openai.DefaultAioHttpClient())

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [row.embedding for row in self._now.embeddings.create(model="embed-1", input=texts).data]

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [row.embedding for row in (await self._later.embeddings.create(model="embed-1", input=texts)).data]


def make_llm(kind: str, url: str) -> Any:
    http = openai.DefaultAioHttpClient()
    if kind == "instructor":
        return llm_factory("gpt-4o-mini", client=openai.AsyncOpenAI(base_url=url, http_client=http))
    from langchain_openai import ChatOpenAI  # noqa: PLC0415  (the other way does without it)

    chat = ChatOpenAI(model="gpt-4o-mini", base_url=url, http_async_client=http, max_retries=5)
    return LangchainLLMWrapper(chat, bypass_n=kind == "three")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--llm", choices=["langchain", "three", "instructor"], default="three")
    parser.add_argument("--embedder", choices=["endpoint", "process"], default="endpoint")
    args = parser.parse_args()
    data = EvaluationDataset(
        samples=[
            SingleTurnSample(
                user_input=row.user_input,
                retrieved_contexts=list(row.retrieved_contexts),
                response=row.response,
                reference=row.reference,
            )
            for row in rows(args.samples)
        ]
    )
    metrics = [Faithfulness(), AnswerRelevancy(), ContextPrecision(), ContextRecall(), AnswerCorrectness()]
    asyncio.set_event_loop(loop := asyncio.new_event_loop())
    embedder = InProcess() if args.embedder == "process" else Endpoint(args.url)
    llm = make_llm(args.llm, args.url)
    wall, cpu = time.perf_counter(), time.process_time()
    result = evaluate(
        data,
        metrics,
        llm=llm,
        embeddings=embedder,
        run_config=RunConfig(max_workers=args.workers),
        show_progress=False,
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    scores = result.scores
    lost = sum(value != value for row in scores for value in row.values())  # noqa: PLR0124  (NaN: not scored)
    print(
        json.dumps({"wall": wall, "cpu": cpu, "scores": sum(map(len, scores)), "lost": int(lost), "first": scores[0]})
    )
    sys.stdout.flush()
    loop.close()
    os._exit(0)  # its threads would be waited for


if __name__ == "__main__":
    main()
