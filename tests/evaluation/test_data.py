"""Which sets a name of data stands for, and what they are called."""

import shutil
from pathlib import Path

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.rgb.benchmark import RGB
from ragstone.benchmarks.rgb.data import load_rgb
from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.rgb import rgb_set
from ragstone.errors import DataError, UnknownName, UsageError

RGB_DATA = Path(__file__).parents[3] / "shared" / "data" / "rgb"
official_files = pytest.mark.skipif(not RGB_DATA.is_dir(), reason="the authors' files are not beside the repository")


def test_only_what_is_asked_for_is_generated() -> None:
    name, sets = load_rgb(languages=["zh"], size=1)
    assert (name, sorted(sets)) == ("fictional-news-v2", ["zh_fact", "zh_int", "zh_refine"])
    name, sets = load_rgb(dataset="en_int", size=1, seed=3)
    assert (name, sorted(sets)) == ("fictional-news-v2:3", ["en_int"])


@official_files
def test_files_with_the_pinned_bytes_are_official_wherever_they_lie(tmp_path: Path) -> None:
    for name in ("en_fact.json", "zh_refine.json"):
        shutil.copyfile(RGB_DATA / name, tmp_path / name)
    for dataset in ("en_fact", "zh_refine", None):
        assert load_rgb(tmp_path, dataset=dataset)[0] == "official"
    assert load_rgb(tmp_path / "en_fact.json")[0] == "official"
    assert make("rgb", data=tmp_path).options["data_name"] == "official"
    assert "NC-SA" in make("rgb", data=tmp_path).license


@official_files
def test_one_other_byte_and_they_are_the_users_own(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copyfile(RGB_DATA / "en_fact.json", folder / "en_fact.json")
    (folder / "zh_refine.json").write_bytes((RGB_DATA / "zh_refine.json").read_bytes() + b"\n")
    assert load_rgb(folder)[0] == "mine"
    assert load_rgb(folder, dataset="zh_refine")[0] == "mine"
    assert load_rgb(folder, dataset="en_fact")[0] == "official"
    assert load_rgb(folder, languages=["en"])[0] == "official"
    assert make("rgb", data=folder).license == ""


@official_files
def test_the_head_of_a_file_is_not_official() -> None:
    assert load_rgb(RGB_DATA)[0] == "rgb"
    assert load_rgb(RGB_DATA, dataset="zh_int")[0] == "rgb"
    assert load_rgb(RGB_DATA, languages=["en"])[0] == "official"


@official_files
def test_a_language_that_is_not_there_is_told(tmp_path: Path) -> None:
    shutil.copyfile(RGB_DATA / "en_fact.json", tmp_path / "en_fact.json")
    with pytest.raises(UsageError, match="holds no set in zh"):
        load_rgb(tmp_path, languages=["zh"])
    with pytest.raises(UnknownName, match="language"):
        load_rgb(tmp_path, languages=["cn"])


def test_an_unknown_option_of_the_benchmark_is_told() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'limit'"):
        make("rgb", fictional_size=1, limits=3)


@official_files
def test_what_is_called_official_is_known_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.benchmarks.rgb.data.data_folder", lambda name: tmp_path / name)
    folder = tmp_path / "rgb"
    folder.mkdir()
    shutil.copyfile(RGB_DATA / "zh_refine.json", folder / "zh_refine.json")
    assert load_rgb("official")[0] == "official"
    shutil.copyfile(RGB_DATA / "zh_refine.json", folder / "zh.json")  # good rows, but not this file's
    with pytest.raises(DataError, match=r"zh\.json: differs from the published file"):
        load_rgb("official")


def test_the_official_selection_asks_the_set_that_the_paper_asked() -> None:
    sets = {name: rgb_set(name, fictional_rgb(name, size=1)) for name in ("en", "en_refine")}
    for selection, expected in (("balanced", "en_refine"), ("official", "en")):
        made = RGB(sets, languages=["en"], abilities=["noise", "rejection"], selection=selection)
        assert {case.condition["dataset"] for case in made.cases()} == {expected}
