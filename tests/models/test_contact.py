"""Nothing but the named endpoint is ever contacted: watched from inside a process, below every library."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.servers.fake_endpoint import FakeEndpoint

# Python reports these events whichever library causes them; `connect` of asyncio's own C code, too.
WATCH = """
import sys, json
contacted = []
def hook(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        contacted.append(list(address[:2]) if isinstance(address, tuple) else ["unix", str(address)])
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"):
        contacted.append([str(arguments[0]), arguments[1] if len(arguments) > 1 else None])
    elif event == "socket.sendto":
        contacted.append(["sendto", str(arguments[1])])
sys.addaudithook(hook)
"""

PROGRAM = """
import asyncio
from pathlib import Path
from ragstone.models import ModelOptions, open_embedder, open_model
from ragstone.types import Request, Turn

async def main():
    options = ModelOptions(base_url={url!r}, cache=Path({cache!r}))
    async with open_model("openai/m", options) as model:
        await asyncio.gather(*(model.generate(Request(messages=(Turn("user", str(n)),))) for n in range(5)))
    async with open_embedder("dashscope/text-embedding-v4", options) as embedder:
        await embedder.embed([str(n) for n in range(25)], kind="query")

asyncio.run(main())
print(json.dumps(contacted))
"""

LOCAL = """
import asyncio
from ragstone.models import open_embedder, open_model
from ragstone.types import Request, Sampling, Turn

async def main():
    async with open_model("local/smollm2") as model, open_embedder("local/e5-small") as embedder:
        await model.generate(Request(messages=(Turn("user", "Hello"),), sampling=Sampling(max_tokens=3)))
        await embedder.embed(["a"], kind="query")

asyncio.run(main())
print(json.dumps(contacted))
"""


def contacts(program: str, **environment: str) -> list[list[Any]]:
    done = subprocess.run(
        [sys.executable, "-c", WATCH + program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: list[list[Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


async def test_only_the_named_endpoint_is_contacted(tmp_path: Path) -> None:
    import asyncio

    async with FakeEndpoint() as endpoint:
        program = PROGRAM.format(url=endpoint.base_url, cache=str(tmp_path))
        found = await asyncio.to_thread(contacts, program, OPENAI_API_KEY="sk-a", DASHSCOPE_API_KEY="sk-b")
        assert {tuple(contact) for contact in found} == {("127.0.0.1", endpoint.port)}
        assert endpoint.counts["asked"] == 5 + 3


async def test_a_redirect_leads_nowhere(tmp_path: Path) -> None:
    import asyncio

    from tests.servers.fake_endpoint import Act

    async with FakeEndpoint(lambda number, payload: Act("redirect")) as endpoint:
        program = PROGRAM.format(url=endpoint.base_url, cache=str(tmp_path))
        program = program.replace("asyncio.run(main())", "try:\n    asyncio.run(main())\nexcept Exception as e: pass")
        found = await asyncio.to_thread(contacts, program, OPENAI_API_KEY="sk-a", DASHSCOPE_API_KEY="sk-b")
    assert {tuple(contact) for contact in found} == {("127.0.0.1", endpoint.port)}


@pytest.mark.slow
def test_local_models_contact_this_machine_only() -> None:
    pytest.importorskip("xllamacpp", reason="ragstone setup local")
    found = contacts(LOCAL)
    assert found
    assert {contact[0] for contact in found} == {"127.0.0.1"}
