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
        ("easy", 2, "aa831b5aa992caaf90fcb5019a0220cf37867e7f5ddf86c57f9199815337e702"),
        ("news", 2, "554f9842b2961b10b40ff50cb67bc550c6ac5d905e25536b84817b2636062cc8"),
        ("adversarial", 2, "5bb8113f22f1066cd3ca836177d4a76db9dde5124897f8e0d16df42f8368cfd2"),
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
    assert load_rgb(languages=["zh"], size=1)[0] == "fictional-news-v2"
    monkeypatch.setattr("ragstone.benchmarks.rgb.data.VERSIONS", {**VERSIONS, "news": 3})
    assert load_rgb(languages=["zh"], size=1, seed=3)[0] == "fictional-news-v3:3"
