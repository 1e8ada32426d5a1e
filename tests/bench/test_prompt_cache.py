"""The bench of prompt caches, with a real server."""

import struct
from pathlib import Path

import pytest
from bench.prompt_cache import judged
from bench.short_model import shortened

from ragstone.models.local import smollm2_path


def test_a_shortened_model_has_the_vocabulary_and_one_layer_of_the_whole_one(tmp_path: Path) -> None:
    whole = smollm2_path()
    short = shortened(whole, tmp_path / "short.gguf").read_bytes()
    with whole.open("rb") as file:
        head = file.read(24)
    assert struct.unpack("<Q", short[8:16])[0] < struct.unpack("<Q", head[8:16])[0] / 10
    assert short[16:24] == head[16:24]  # as many settings
    assert len(short) < whole.stat().st_size / 2


@pytest.mark.slow
async def test_half_of_the_judges_prompt_tokens_come_from_the_cache_of_a_real_server(tmp_path: Path) -> None:
    model = shortened(smollm2_path(), tmp_path / "short.gguf")
    found = await judged(10, 1, model, tmp_path)
    assert found["share"] >= 0.5
    assert found["at_a_quarter"] <= 2_650  # the first request of each step finds nothing: 2,416 of 60 samples
    assert found["lost"] == 0
