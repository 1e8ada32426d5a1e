"""One engine, for real: `python engines.py ENGINE FOLDER ADDRESS` prints as JSON what its retrievers find and refuse.

The embedder counts letters; texts with the same letters are near. It is named by its file, as a user's own would be.
"""

import asyncio
import json
import math
import sys
from pathlib import Path
from typing import Any

from ragstone.errors import RagstoneError
from ragstone.models import ModelOptions
from ragstone.retrieval import facts_of, open_retriever
from ragstone.retrieval.index_list import read_index
from ragstone.types import Passage

LETTERS = "abcdefghijklmnopqrstuvwxyz船火车"
POOL = [
    Passage("p/1", "ships sail the sea", "Sea", True),
    Passage("p/2", "trains run on rails"),
    Passage("段落", "船火车"),
]
OWN = [("k1", "ships sail the sea", "t1"), ("k2", "quick zebras jump", "t2"), ("k3", "火车火车", "t3")]
FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else Path()


def embed(texts: list[str], kind: str) -> list[list[float]]:
    with (Path.cwd() / "asked").open("a") as file:
        file.writelines(f"{kind}\n" for _ in texts)
    return [[text.lower().count(letter) + 1e-3 for letter in LETTERS] for text in texts]


def short(texts: list[str]) -> list[list[float]]:
    return [[1.0, 2.0] for _ in texts]


def vectors() -> list[list[float]]:
    rows = embed([text for _, text, _ in OWN], "passage")
    return [[value / math.hypot(*row) for value in row] for row in rows]


def seed_qdrant(place: str) -> str:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=place)
    one = models.VectorParams(size=len(LETTERS), distance=models.Distance.COSINE)
    client.create_collection("docs", vectors_config={"letters": one})
    points = [
        models.PointStruct(id=number, vector={"letters": vector},
                           payload={"page_content": text, "metadata": {"source": key, "name": title}})
        for number, ((key, text, title), vector) in enumerate(zip(OWN, vectors(), strict=True))
    ]  # fmt: skip
    client.upsert("docs", points)
    client.close()
    return "id=metadata.source,text=page_content,title=metadata.name,vector=letters"


def seed_chroma(place: str) -> str:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(path=place, settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("docs", embedding_function=None)
    collection.add(
        ids=["x", "y", "z"], embeddings=vectors(), documents=[text for _, text, _ in OWN],
        metadatas=[{"key": key, "name": title} for key, _, title in OWN],
    )  # fmt: skip
    return "id=key,title=name"


def seed_milvus(place: str) -> str:
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(place)
    schema = client.create_schema(auto_id=False)
    schema.add_field("key", DataType.VARCHAR, is_primary=True, max_length=100)
    schema.add_field("body", DataType.VARCHAR, max_length=1000)
    schema.add_field("name", DataType.VARCHAR, max_length=1000)
    schema.add_field("letters", DataType.FLOAT_VECTOR, dim=len(LETTERS))
    index = client.prepare_index_params()
    index.add_index("letters", index_type="FLAT", metric_type="L2")
    client.create_collection("docs", schema=schema, index_params=index)
    client.insert("docs", [
        {"key": key, "body": text, "name": title, "letters": vector}
        for (key, text, title), vector in zip(OWN, vectors(), strict=True)
    ])  # fmt: skip
    client.close()
    return "text=body,title=name,vector=letters"


def seed_pgvector(place: str) -> str:
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA app")
        size = len(LETTERS)
        connection.execute(f'CREATE TABLE app.docs (key text, body text, name text, "Letters" vector({size}))')
        for (key, text, title), vector in zip(OWN, vectors(), strict=True):
            connection.execute("INSERT INTO app.docs VALUES (%s, %s, %s, %s)", (key, text, title, str(vector)))
        connection.execute("CREATE VIEW docs AS SELECT * FROM app.docs")
    return "id=key,text=body,title=name,vector=Letters"


async def search(name: str, *queries: str) -> Any:
    try:
        async with open_retriever(name, POOL, options=ModelOptions(cache=None, timeout=5)) as retriever:
            found = await retriever.retrieve([*queries, " "], k=2)
            facts = facts_of(retriever)
    except RagstoneError as error:
        return f"{type(error).__name__}: {error}"
    lists = [[[item.id, item.text, item.title, item.relevant, item.score] for item in items] for items in found]
    return {"found": lists, "facts": {key: facts[key] for key in ("library", "passages", "embedder", "collection")}}


async def listed(name: str) -> Any:
    try:
        found = await read_index(name, ModelOptions(cache=None, timeout=5))
    except RagstoneError as error:
        return f"{type(error).__name__}: {error}"
    return sorted([item.id, item.text, item.title] for item in found.passages)


def asked(kind: str) -> int:
    return (Path.cwd() / "asked").read_text().split().count(kind)


async def main(engine: str, address: str) -> dict[str, Any]:
    embedder = f"embedder={__file__}:embed"
    file = ".db" if engine == "milvus" else ""
    pool, own = (address or str(FOLDER / f"{name}{file}") for name in ("pool", "own"))
    before = [] if address else ["temporary"]
    outcomes = {kind: await search(f"{engine}({embedder})", "the sea", "火车") for kind in before}
    outcomes["pool"] = await search(f"{engine}({pool},{embedder})", "the sea", "火车")
    passages = asked("passage")
    outcomes["again"] = await search(f"{engine}({pool},{embedder})", "the sea", "火车")
    outcomes["embedded again"] = asked("passage") - passages
    fields = globals()[f"seed_{engine}"](own)
    outcomes["own"] = await search(f"{engine}({own},collection=docs,{embedder},{fields})", "the sea", "火车", "zebras")
    outcomes["listed"] = await listed(f"{engine}({own},collection=docs,{fields})")
    outcomes["not listed"] = await listed(f"{engine}({own},collection=other)")
    kept = "".join(f",{part}" for part in fields.split(",") if part.startswith(("id=", "vector=")))
    outcomes["no text"] = await search(f"{engine}({own},collection=docs,{embedder},text=nothing{kept})", "z")
    outcomes["missing"] = await search(f"{engine}({own},collection=other,{embedder})", "z")
    outcomes["dimension"] = await search(
        f"{engine}({own},collection=docs,embedder={__file__}:short,{fields})", "the sea"
    )
    nowhere = "postgresql://u@127.0.0.1:9/db" if engine == "pgvector" else "http://127.0.0.1:9"
    outcomes["unreachable"] = await search(f"{engine}({nowhere},{embedder})", "z")
    if "vector=" in fields:
        kept = "".join(f",{part}" for part in fields.split(",") if part.startswith("id="))
        outcomes["vector"] = await search(f"{engine}({own},collection=docs,{embedder}{kept},vector=none)", "z")
    return outcomes


if __name__ == "__main__":
    if sys.argv[1] == "pgvector":
        import pgserver

        server = pgserver.get_server(FOLDER / "postgres", cleanup_mode="delete")
        try:
            print(json.dumps(asyncio.run(main("pgvector", server.get_uri()))))
        finally:
            server.cleanup()
    else:
        print(json.dumps(asyncio.run(main(sys.argv[1], ""))))
