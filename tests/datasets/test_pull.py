"""What is fetched is whole, pinned and checked, or is not there at all. Against servers of this test's own."""

import hashlib
import json
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from msgspec.structs import replace

from ragstone.datasets import origins
from ragstone.datasets.pull import MANIFEST, NOTICE, blob_id, list_data, pull
from ragstone.datasets.sources import RGB, SOURCES, DataSource, PinnedFile
from ragstone.errors import DataError, UnknownName, UsageError

SHARED = Path(__file__).parents[3] / "shared" / "data" / "rgb"


def rows(count: int, text: str = "a") -> bytes:
    row = {"query": "Who?", "answer": "Anna", "positive": [text * 2000], "negative": ["n"]}
    return b"".join(json.dumps({"id": i} | row).encode() + b"\n" for i in range(count))


EN, ZH = rows(20), rows(30, "z")


def source(base: str = "https://nowhere.invalid") -> DataSource:
    """A source like RGB's, of two files: one with a pinned hash, one without."""
    pinned = PinnedFile("data/en.json", sha256=hashlib.sha256(EN).hexdigest(), size=len(EN), rows=20)
    return DataSource(
        "rgb", "Test data", "https://example.org/data", "0" * 40, base, "CC BY-NC-SA 4.0", "https://example.org/by-nc-sa",
        "Somebody 2024.", (pinned, PinnedFile("data/zh.json", rows=30)),
    )  # fmt: skip


class Published:
    """A server with files. `break_after` cuts a reply short, once for each number in it; `failing` are statuses given
    before any reply. `asked` notes each request's path and range."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"/data/en.json": EN, "/data/zh.json": ZH}
        self.asked: list[tuple[str, str | None]] = []
        self.break_after: list[int] = []
        self.failing: list[int] = []
        self.ranges = True
        self.base = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        wanted = request.headers.get("Range")
        self.asked.append((request.path, wanted))
        if self.failing:
            return web.Response(status=self.failing.pop(0))
        content = self.files.get(request.path)
        if content is None:
            return web.Response(status=404)
        start, headers, status = 0, {}, 200
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return web.Response(status=416)
            headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            status = 206
        part = content[start:]
        response = web.StreamResponse(status=status, headers=headers | {"Content-Length": str(len(part))})
        await response.prepare(request)
        if self.break_after:
            await response.write(part[: self.break_after.pop(0)])
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(part)
        return response


@pytest.fixture
async def published(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Published]:
    monkeypatch.setattr(origins, "PAUSE", 0.0)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    site = Published()
    application = web.Application()
    application.router.add_get("/{path:.*}", site.answer)
    async with TestServer(application) as server:
        site.base = str(server.make_url("/")).rstrip("/")
        yield site


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_files_are_fetched_once_verified_and_noted(published: Published, tmp_path: Path) -> None:
    first = await pull(source(published.base), tmp_path / "rgb")
    assert [(file.name, file.fetched, file.verified) for file in first] == [
        ("en.json", True, "pinned"),
        ("zh.json", True, "first use"),
    ]
    assert (tmp_path / "rgb" / "en.json").read_bytes() == EN
    assert (tmp_path / "rgb" / "zh.json").read_bytes() == ZH
    assert left(tmp_path / "rgb") == sorted(["en.json", "zh.json", MANIFEST, NOTICE])
    asked = len(published.asked)
    again = await pull(source(published.base), tmp_path / "rgb")
    assert [(file.fetched, file.verified) for file in again] == [(False, "pinned"), (False, "noted")]
    assert len(published.asked) == asked


async def test_the_licence_is_put_beside_the_files(published: Published, tmp_path: Path) -> None:
    await pull(source(published.base), tmp_path)
    notice = (tmp_path / NOTICE).read_text(encoding="utf-8")
    for told in ("CC BY-NC-SA 4.0", "https://example.org/by-nc-sa", "https://example.org/data", "Somebody 2024."):
        assert told in notice
    manifest = json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    assert manifest["files"]["zh.json"] == {"sha256": hashlib.sha256(ZH).hexdigest(), "size": len(ZH)}


async def test_progress_is_told_in_bytes_and_reaches_the_whole(published: Published, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    await pull(source(published.base), tmp_path, progress=lambda *step: told.append(step))
    done = {name: (count, total) for name, count, total in told}
    assert done == {"en.json": (len(EN), len(EN)), "zh.json": (len(ZH), len(ZH))}
    counts = [count for name, count, _ in told if name == "en.json"]
    assert counts == sorted(counts)
    assert counts[0] == 0


async def test_what_breaks_off_goes_on_where_it_stopped(published: Published, tmp_path: Path) -> None:
    published.break_after = [10_000, 12_000]
    await pull(source(published.base), tmp_path, names=["en"])
    ranges = [wanted for _, wanted in published.asked]
    assert ranges[0] is None
    starts = [int(str(wanted).removeprefix("bytes=").rstrip("-")) for wanted in ranges[1:]]
    assert 0 < starts[0] < starts[1] < len(EN)
    assert (tmp_path / "en.json").read_bytes() == EN


async def test_a_later_run_goes_on_too_also_where_the_server_knows_no_ranges(
    published: Published, tmp_path: Path
) -> None:
    published.break_after = [10_000] * 4
    with pytest.raises(UsageError, match="cannot be fetched"):
        await pull(source(published.base), tmp_path, names=["en"])
    assert left(tmp_path) == [".en.json.part"]
    published.ranges = False
    await pull(source(published.base), tmp_path, names=["en"])
    assert published.asked[-1][1] == f"bytes={40_000}-"
    assert (tmp_path / "en.json").read_bytes() == EN


@pytest.mark.parametrize("part", [b"something else" * 10, b"x" * (len(EN) + 10), EN, b""])
async def test_a_part_of_something_else_does_not_get_into_the_file(
    published: Published, tmp_path: Path, part: bytes
) -> None:
    (tmp_path / ".en.json.part").write_bytes(part)
    await pull(source(published.base), tmp_path, names=["en"])
    assert (tmp_path / "en.json").read_bytes() == EN
    assert ".en.json.part" not in left(tmp_path)


@pytest.mark.parametrize("name", ["en", "zh"])
async def test_a_server_that_has_trouble_is_asked_again(published: Published, tmp_path: Path, name: str) -> None:
    published.failing = [503, 429, 500]
    assert (await pull(source(published.base), tmp_path, names=[name]))[0].fetched


async def test_another_file_than_the_pinned_one_is_refused_and_not_kept(published: Published, tmp_path: Path) -> None:
    published.files["/data/en.json"] = EN.replace(b"Anna", b"Eve.", 1)
    with pytest.raises(DataError, match=r"en\.json: what came is not the pinned file: its SHA-256 is"):
        await pull(source(published.base), tmp_path)
    assert left(tmp_path) == []


async def test_a_git_blob_id_pins_a_file_where_nothing_else_does(published: Published, tmp_path: Path) -> None:
    (tmp_path / "hello").write_bytes(b"hello\n")
    assert blob_id(tmp_path / "hello") == "ce013625030ba8dba906f756967f9e9ca394464a"  # as `git hash-object` has it
    (tmp_path / "hello").write_bytes(EN)
    pinned = PinnedFile("data/en.json", blob=blob_id(tmp_path / "hello"))
    of_one_file = replace(source(published.base), files=(pinned,))
    assert (await pull(of_one_file, tmp_path / "a"))[0].verified == "pinned"
    published.files["/data/en.json"] = EN.replace(b"Anna", b"Eve.", 1)
    with pytest.raises(DataError, match=r"en\.json: what came is not the pinned file: its git blob id is"):
        await pull(of_one_file, tmp_path / "b")
    assert left(tmp_path / "b") == []


async def test_another_file_than_the_first_one_is_refused(published: Published, tmp_path: Path) -> None:
    await pull(source(published.base), tmp_path, names=["zh"])
    (tmp_path / "zh.json").unlink()
    published.files["/data/zh.json"] = rows(30, "y")
    with pytest.raises(DataError, match="not the first fetched file"):
        await pull(source(published.base), tmp_path, names=["zh"])
    published.files["/data/zh.json"] = ZH
    assert (await pull(source(published.base), tmp_path, names=["zh"]))[0].verified == "noted"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"<html>Sign in</html>", "no such file .*not JSON"),
        (rows(29), "has 29 rows; expected 30"),
        (b"", "no such file"),
    ],
)
async def test_a_file_of_unknown_hash_must_still_be_what_it_should_be(
    published: Published, tmp_path: Path, content: bytes, says: str
) -> None:
    published.files["/data/zh.json"] = content
    with pytest.raises(DataError, match=says):
        await pull(source(published.base), tmp_path, names=["zh"])
    assert left(tmp_path) == []


async def test_a_damaged_file_is_fetched_anew(published: Published, tmp_path: Path) -> None:
    await pull(source(published.base), tmp_path)
    for name in ("en.json", "zh.json"):
        (tmp_path / name).write_bytes(b"{")
    assert [file.fetched for file in await pull(source(published.base), tmp_path)] == [True, True]
    assert (tmp_path / "zh.json").read_bytes() == ZH


async def test_a_file_that_somebody_put_there_is_taken_for_what_it_is(published: Published, tmp_path: Path) -> None:
    (tmp_path / "en.json").write_bytes(EN)
    (tmp_path / "zh.json").write_bytes(ZH)
    found = await pull(source(published.base), tmp_path)
    assert [(file.fetched, file.verified) for file in found] == [(False, "pinned"), (False, "first use")]
    assert published.asked == []


async def test_a_mirror_may_have_the_files_under_their_names_and_only_some_of_them(
    published: Published, tmp_path: Path
) -> None:
    published.files = {"/mirror/en.json": EN}
    found = await pull(source(), tmp_path, mirror=f"{published.base}/mirror/")
    assert [file.name for file in found] == ["en.json"]
    with pytest.raises(UsageError, match=r"mirror does not have zh\.json"):
        await pull(source(), tmp_path, mirror=f"{published.base}/mirror", names=["zh"])


async def test_the_published_place_must_have_every_file(published: Published, tmp_path: Path) -> None:
    del published.files["/data/zh.json"]
    with pytest.raises(UsageError, match=r"does not have zh\.json"):
        await pull(source(published.base), tmp_path)


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as written:
        for name, content in members.items():
            written.writestr(name, content)
    return path


async def test_a_folder_and_an_archive_are_mirrors_too(published: Published, tmp_path: Path) -> None:
    folder = tmp_path / "clone" / "data"
    folder.mkdir(parents=True)
    (folder / "en.json").write_bytes(EN)
    packed = archive(tmp_path / "RGB-master.zip", **{"RGB-master/data/zh.json": ZH, "RGB-master/readme.md": b"x"})
    published.files = {"/RGB-master.zip": packed.read_bytes()}
    for place, name in (
        (folder.parent, "en"),
        (folder, "en"),
        (packed, "zh"),
        (f"{published.base}/RGB-master.zip", "zh"),
    ):
        dest = tmp_path / "out" / hashlib.sha256(str(place).encode()).hexdigest()
        (file,) = await pull(source(), dest, mirror=place)
        assert (file.name, file.fetched) == (f"{name}.json", True)
        assert left(dest) == sorted([f"{name}.json", MANIFEST, NOTICE])


@pytest.mark.parametrize("member", ["../zh.json", "data/../../zh.json", "/zh.json", "..\\zh.json", "C:\\zh.json"])
async def test_an_archive_with_a_member_that_points_out_of_it_is_refused(tmp_path: Path, member: str) -> None:
    packed = archive(tmp_path / "a.zip", **{"data/zh.json": ZH, member: ZH})
    with pytest.raises(UsageError, match="points out of it"):
        await pull(source(), tmp_path / "out", mirror=packed)
    assert left(tmp_path) == ["a.zip", "out"]
    assert left(tmp_path / "out") == []


@pytest.mark.parametrize("name", ["../en", "../en.json", "data/en.json", "/etc/passwd", "em"])
async def test_only_names_of_the_table_can_be_asked_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownName, match="No file of rgb named"):
        await pull(source(), tmp_path, names=[name])


async def test_offline_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(origins, "PAUSE", 0.0)
    with pytest.raises(UsageError) as caught:
        await pull(source(f"http://127.0.0.1:{unused_port()}"), tmp_path)
    message = str(caught.value)
    assert "\n" not in message
    assert "ragstone data pull rgb --from PATH" in message
    assert "--data fictional" in message


@pytest.mark.parametrize(
    ("mirror", "says"),
    [
        ("ftp://example.org/rgb", "no such kind of address"),
        ("nowhere", "no such folder or zip archive"),
    ],
)
async def test_a_mirror_that_is_none_is_told(tmp_path: Path, mirror: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        await pull(source(), tmp_path, mirror=mirror)


async def test_refused_is_refused_at_once(published: Published, tmp_path: Path) -> None:
    published.failing = [403]
    with pytest.raises(UsageError, match="status 403"):
        await pull(source(published.base), tmp_path)
    assert len(published.asked) == 1


async def test_a_file_without_end_is_cut_off(
    published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origins, "LARGEST", 10_000)
    with pytest.raises(UsageError, match="which no file of these data sets is"):
        await pull(source(published.base), tmp_path)
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240


@pytest.mark.parametrize("damaged", [False, True])
async def test_of_a_zip_bomb_or_a_damaged_archive_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    name = source().files[0].name
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"0" * 3_000_000)
    if damaged:
        whole = bytearray((tmp_path / "bomb.zip").read_bytes())
        whole[len(whole) // 2] ^= 0xFF
        (tmp_path / "bomb.zip").write_bytes(whole)
    else:
        monkeypatch.setattr(origins, "LARGEST", 1_000_000)
    (tmp_path / "to").mkdir()
    with pytest.raises(UsageError, match=r"cannot be read|which no file of these data sets is"):
        await pull(source(), tmp_path / "to", mirror=tmp_path / "bomb.zip", names=[name])
    assert not any((tmp_path / "to").iterdir())


async def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="cannot be read or written"):
        await pull(source(), tmp_path / "file" / "rgb")


async def test_a_damaged_manifest_is_told(published: Published, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DataError, match="is damaged"):
        await pull(source(published.base), tmp_path)


def test_the_table_pins_every_official_file_and_names_its_terms() -> None:
    assert [file.name.removesuffix(".json") for file in RGB.files] == [
        "en", "zh", "en_refine", "zh_refine", "en_int", "zh_int", "en_fact", "zh_fact",
    ]  # fmt: skip
    for each in SOURCES.values():
        assert len(each.revision) == 40
        assert each.base.endswith(each.revision)
        assert each is not RGB or all(file.blob and len(file.blob) == 40 for file in each.files)
        assert all(".." not in file.path and not file.path.startswith("/") for file in each.files)
    assert "CC BY-NC-SA 4.0" in RGB.terms


def test_the_list_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "rgb").mkdir()
    (tmp_path / "rgb" / "zh.json").write_bytes(ZH)
    mirage, listed = list_data(tmp_path)
    assert (mirage.name, mirage.present) == ("mirage", ())
    assert (listed.name, listed.present, listed.folder) == ("rgb", ("zh.json",), str(tmp_path / "rgb"))
    assert list_data()[0].present == ()


@pytest.mark.skipif(not SHARED.is_dir(), reason="the official RGB files are not beside the repository")
async def test_the_official_files_have_the_pinned_hashes(tmp_path: Path) -> None:
    found = await pull(RGB, tmp_path, mirror=SHARED)
    assert {(file.name, file.verified) for file in found} == {("zh_refine.json", "pinned"), ("en_fact.json", "pinned")}
    assert (tmp_path / "en_fact.json").read_bytes() == (SHARED / "en_fact.json").read_bytes()
