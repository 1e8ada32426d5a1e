"""The rows of each version of the fictional data stay what they are: else figures of two releases would not compare."""

import hashlib
import json

import pytest

from ragstone.benchmarks.rgb.data import load_rgb
from ragstone.datasets.fictional import VERSIONS, fictional_rgb

SETS = ("en", "en_int", "en_fact", "zh", "zh_int", "zh_fact")


@pytest.mark.parametrize(
    ("difficulty", "version", "digest"),
    [
        ("easy", 1, "b22b9f8379262e5bb7c6a83de12ac16e64da2808f4c0f4f342b24c12b2017469"),
        ("news", 1, "a81c28188bfe98b26e1dbe386261ebd7f18338f56a5e10e6a6ef45fcf3fb090d"),
        ("adversarial", 1, "6c006264d72e17a46852d607073743a64c2770e0bf2282cbfc1ba83b3f5508a5"),
    ],
)
def test_rows_that_change_are_a_new_version(difficulty: str, version: int, digest: str) -> None:
    """If this fails because a text was mended: count the version up in `VERSIONS`, and write the new digest."""
    found = hashlib.sha256()
    for name in SETS:
        for seed in (0, 5):
            for row in fictional_rgb(name, seed=seed, size=20, difficulty=difficulty):
                found.update(json.dumps(row, ensure_ascii=False).encode())
    assert (VERSIONS[difficulty], found.hexdigest()) == (version, digest)


def test_a_run_names_the_version_of_its_data(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_rgb(languages=["zh"], size=1)[0] == "fictional-news"
    monkeypatch.setattr("ragstone.benchmarks.rgb.data.VERSIONS", {**VERSIONS, "news": 2})
    assert load_rgb(languages=["zh"], size=1, seed=3)[0] == "fictional-news-v2:3"
