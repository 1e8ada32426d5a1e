"""The pinned table of data sets that can be fetched: where each is published, at which revision, under what terms, and
the hash of each file where ragstone's authors could know it."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ragstone.structs import Frozen

__all__ = ["MIRAGE", "RGB", "SOURCES", "DataSource", "ListedDataSet", "PinnedFile", "list_data"]


class PinnedFile(Frozen, frozen=True):
    """A file of a source: its path below the base address, the SHA-256 and size of its bytes and its number of rows, as
    far as they are known (None: not)."""

    path: str
    sha256: str | None = None
    size: int | None = None
    rows: int | None = None

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


class DataSource(Frozen, frozen=True):
    """Where a data set is published, at one revision, and under what terms."""

    name: str
    title: str
    repository: str
    revision: str
    base: str
    license: str
    license_url: str
    citation: str
    files: tuple[PinnedFile, ...]
    whole: bool = False
    """Whether only all of the files together are of use."""

    @property
    def terms(self) -> str:
        """What a person should read before using the data."""
        return (
            f"{self.title}, revision {self.revision[:12]} of {self.repository}\n"
            f"Licence: {self.license}, {self.license_url}\n"
            f"Please cite: {self.citation}\n"
        )


class ListedDataSet(Frozen, frozen=True):
    """A data set that can be pulled, and which of its files are in its folder."""

    name: str
    title: str
    license: str
    repository: str
    revision: str
    files: tuple[str, ...]
    folder: str = ""
    present: tuple[str, ...] = ()


# The revision is the head of the repository since 2024. en_fact and zh_refine: hashed here from copies of the files;
# zh_int and zh_fact: as another public project notes them for this revision, whose hash of zh_refine is ours. The
# hashes of the other four were not to be had when this was written.
_RGB_REVISION = "65ec39e40e7dc9abb50e9bf1b4f32be3f6f16615"
RGB = DataSource(
    name="rgb",
    title="RGB, the Retrieval-Augmented Generation Benchmark",
    repository="https://github.com/chen700564/RGB",
    revision=_RGB_REVISION,
    base=f"https://raw.githubusercontent.com/chen700564/RGB/{_RGB_REVISION}",
    license="CC BY-NC-SA 4.0 (no commercial use)",
    license_url="https://creativecommons.org/licenses/by-nc-sa/4.0/",
    citation="Chen et al.: Benchmarking Large Language Models in Retrieval-Augmented Generation. AAAI 2024.",
    files=(
        PinnedFile("data/en.json", rows=300),
        PinnedFile("data/zh.json", rows=300),
        PinnedFile("data/en_refine.json", rows=300),
        PinnedFile(
            "data/zh_refine.json",
            sha256="7a5c7547dcfa1b83429b53a41644453508f820f502d3817312cbf8051afb4563",
            size=3_893_494,
            rows=300,
        ),
        PinnedFile("data/en_int.json", rows=100),
        PinnedFile(
            "data/zh_int.json", sha256="e2ddb0461e2130f4b006996a574a89d5898989ff8b15f51d900c17162c7d1b17", rows=100
        ),
        PinnedFile(
            "data/en_fact.json",
            sha256="92f4b2330ee407f74fbd923197028ef5140cfbc1f4b4092efec2d4d10ae6c9e5",
            size=241_320,
            rows=100,
        ),
        PinnedFile(
            "data/zh_fact.json", sha256="171c4bc97860635092ce099f2da095c6ba8d07f0c6f7a19d0231373192f07da0", rows=100
        ),
    ),
)

# The revision is the one at which the authors' repository was read; dataset.json is hashed here from a copy of it. The
# hashes of the two files with the chunks were not to be had when this was written.
_MIRAGE_REVISION = "73500b86a1bbae0b88a6a9aa2a6b56056f7c05e2"
MIRAGE = DataSource(
    name="mirage",
    title="MIRAGE, a Metric-Intensive Benchmark for Retrieval-Augmented Generation Evaluation",
    repository="https://github.com/nlpai-lab/MIRAGE",
    revision=_MIRAGE_REVISION,
    base=f"https://raw.githubusercontent.com/nlpai-lab/MIRAGE/{_MIRAGE_REVISION}",
    license="Apache-2.0 (passages from Wikipedia: CC BY-SA 4.0)",
    license_url="https://github.com/nlpai-lab/MIRAGE",
    citation="Park et al.: MIRAGE: A Metric-Intensive Benchmark for Retrieval-Augmented Generation Evaluation. "
    "Findings of NAACL 2025.",
    files=(
        PinnedFile(
            "mirage/dataset.json",
            sha256="859d10c914982a2256243f62e6cb765f18c7374a17ab650bac5b1f6c8e379a11",
            rows=7560,
        ),
        PinnedFile("mirage/doc_pool.json", rows=37800),
        PinnedFile("mirage/oracle.json", rows=7560),
    ),
    whole=True,
)

SOURCES: Mapping[str, DataSource] = {"mirage": MIRAGE, "rgb": RGB}


def list_data(root: str | Path | None = None) -> list[ListedDataSet]:
    """The data sets that can be pulled; with `root`, what of each is already in its folder `root/NAME`."""
    listed = []
    for source in SOURCES.values():
        names = tuple(file.name for file in source.files)
        folder = None if root is None else Path(root) / source.name
        present = tuple(name for name in names if folder is not None and (folder / name).is_file())
        at = "" if folder is None else str(folder)
        row = (source.name, source.title, source.license, source.repository, source.revision)
        listed.append(ListedDataSet(*row, names, at, present))
    return listed
