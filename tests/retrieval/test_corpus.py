"""Documents of every kind as passages; what cannot be read is told."""

import codecs
import gzip
import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.errors import DataError, MissingExtra, UsageError
from ragstone.retrieval.corpus import read_corpus


def write_pdf(path: Path, pages: list[str]) -> None:
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path))
    for text in pages:
        canvas.drawString(50, 700, text)
        canvas.showPage()
    canvas.save()


def write_word(path: Path) -> None:
    import docx

    document = docx.Document()
    document.core_properties.title = "Returns"
    document.add_heading("Returns", 1)
    document.add_paragraph("Goods may be returned within 30 days.")
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Fee", "5 EUR"
    document.save(str(path))


def test_a_folder_of_every_kind_is_read(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.md").write_text("# 退货\n\n三十天内可以退货。", "utf-8")
    (tmp_path / "deep" / "b.txt").write_bytes("全额退款。".encode("gb18030"))
    (tmp_path / "c.html").write_text(
        "<html><head><title>Fees</title><style>x{}</style></head><body><nav>menu</nav><p>Shipping costs 5.</p>"
        "<ul><li>One</li><li>Two</li></ul><script>bad()</script></body></html>",
        "utf-8",
    )
    write_pdf(tmp_path / "d.pdf", ["Page one text.", "", "Page three text."])
    write_word(tmp_path / "e.docx")
    (tmp_path / "f.jsonl").write_text('{"id": "f1", "text": "Row one.", "title": "T"}\n\n"Just text."\n', "utf-8")
    (tmp_path / "g.csv").write_text("编号,标题,正文\n7,保修,两年保修。\n", "utf-8-sig")
    (tmp_path / ".hidden.txt").write_text("hidden", "utf-8")
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / "h.txt").write_text("  \n", "utf-8")
    corpus = read_corpus(tmp_path)
    texts = {passage.id: (passage.title, passage.text) for passage in corpus.passages}
    assert texts == {
        "a.md": ("退货", "# 退货\n\n三十天内可以退货。"),
        "deep/b.txt": ("", "全额退款。"),
        "c.html": ("Fees", "Shipping costs 5.\nOne\nTwo"),
        "d.pdf#page=1": ("", "Page one text."),
        "d.pdf#page=3": ("", "Page three text."),
        "e.docx": ("Returns", "Returns\nGoods may be returned within 30 days.\nFee | 5 EUR"),
        "f1": ("T", "Row one."),
        "f.jsonl#3": ("", "Just text."),
        "7": ("保修", "两年保修。"),
    }
    assert corpus.warnings == (
        (
            "1 without a supported format (.txt, .md, .markdown, .rst, .html, .htm, .pdf, .docx, .pptx, .rss, "
            ".atom, .xml, .warc, .warc.gz, .jsonl, .csv, .tsv), left out: image.png"
        ),
        "2 without text (scanned pages?), left out: d.pdf#page=2, h.txt",
    )


def test_links_that_lead_out_of_the_folder_are_left_out_and_named(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("the key", "utf-8")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("one", "utf-8")
    (docs / "inner.txt").symlink_to("a.txt")
    for name, target in (("out.txt", "../secret/key.txt"), ("out", "../secret"), ("up", "."), ("loop.txt", "loop.txt")):
        (docs / name).symlink_to(target)
    corpus = read_corpus(docs)
    assert [passage.id for passage in corpus.passages] == ["a.txt", "inner.txt"]
    (warning,) = corpus.warnings
    assert warning == "links that lead out of the folder or to a folder, left out (4): loop.txt, out, out.txt, up"
    (tmp_path / "named").symlink_to(docs)  # the folder that the user names may be a link
    assert len(read_corpus(tmp_path / "named").passages) == 2
    (docs / "a.txt").unlink()
    with pytest.raises(UsageError, match="Its links lead out of it: copy what they lead to"):
        read_corpus(docs)


def test_the_hash_is_of_ids_and_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one", "utf-8")
    first = read_corpus(tmp_path).sha256
    (tmp_path / "empty.txt").write_text("", "utf-8")
    assert read_corpus(tmp_path).sha256 == first
    (tmp_path / "a.txt").write_text("two", "utf-8")
    assert read_corpus(tmp_path).sha256 != first


def nothing(_: Path) -> None:
    pass


def empty(folder: Path) -> None:
    (folder / "a.txt").write_text("", "utf-8")


def damaged(folder: Path) -> None:
    (folder / "a.pdf").write_bytes(b"%PDF-1.7 nonsense")


def not_word(folder: Path) -> None:
    (folder / "a.docx").write_bytes(b"not a zip")


def not_json(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"text": "x"}\n{"text"', "utf-8")


def no_text(folder: Path) -> None:
    (folder / "a.csv").write_text("name,price\nx,3\n", "utf-8")


def twice(folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"id": 1, "text": "x"}\n{"id": 1, "text": "y"}\n', "utf-8")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-16-be"])
def test_documents_are_read_by_their_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    text = "# 退款 Refunds\n\nA refund takes 14 days. 全额退款。\n"
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    (tmp_path / "a.md").write_bytes(mark + text.encode(encoding))
    (passage,) = read_corpus(tmp_path).passages
    assert (passage.text.strip(), passage.title) == (text.strip(), "退款 Refunds")


def unmarked(folder: Path) -> None:
    (folder / "a.txt").write_bytes("A refund takes 14 days. 全额退款。".encode("utf-16-le"))


def binary(folder: Path) -> None:
    (folder / "a.txt").write_bytes(bytes([0xFF, 0xFF, 0xFF]))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (nothing, UsageError, "has no document with text"),
        (empty, UsageError, "has no document with text"),
        (damaged, DataError, "a.pdf: it cannot be read as PDF"),
        (not_word, DataError, "a.docx: it cannot be read as DOCX"),
        (not_json, DataError, "a.jsonl, line 2: not JSON"),
        (no_text, DataError, "a.csv, line 2: the document has no text. Name its column one of text"),
        (twice, DataError, "two documents have the id '1'"),
        (unmarked, DataError, "this is UTF-16 without a byte order mark, or no text. Save it as UTF-8."),
        (binary, DataError, "neither UTF-8 nor GB 18030"),
    ],
)
def test_documents_that_cannot_be_read_are_one_line(
    tmp_path: Path, make: Callable[[Path], None], error: type[UsageError], words: str
) -> None:
    make(tmp_path)
    with pytest.raises(error) as caught:
        read_corpus(tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_alone_is_a_corpus_and_must_be_of_a_known_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one", "utf-8")
    (tmp_path / "a.png").write_bytes(b"x")
    assert [passage.id for passage in read_corpus(tmp_path / "a.txt").passages] == ["a.txt"]
    with pytest.raises(UsageError, match=r"a\.png is not a supported document. Supported: \.txt"):
        read_corpus(tmp_path / "a.png")
    with pytest.raises(UsageError, match="there is no such file or folder"):
        read_corpus(tmp_path / "missing")


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    (tmp_path / "pypdf.py").write_text("raise ModuleNotFoundError(name='pypdf')")
    monkeypatch.setattr("ragstone.storage.budget._idle", [])
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # of the process that reads
    with pytest.raises(MissingExtra, match=r"pip install 'ragstone\[documents\]'"):
        read_corpus(tmp_path)


def test_json_of_a_passage_without_text_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": None}) + "\n", "utf-8")
    with pytest.raises(DataError, match="line 1: the document has no text"):
        read_corpus(tmp_path)


def test_many_files_that_are_left_out_are_one_line_in_each_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("text", "utf-8")
    for number in range(7):
        (tmp_path / f"{number}.png").write_bytes(b"")
    (warning,) = read_corpus(tmp_path).warnings
    assert warning.endswith(": 0.png, 1.png, 2.png, 3.png, 4.png and 2 more")
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    (warning,) = read_corpus(tmp_path).warnings
    assert warning.endswith("已忽略：0.png、1.png、2.png、3.png、4.png，另有 2 个")


@pytest.mark.parametrize(
    "html", ["", "<!-- only this -->", "<title>x</title>", "<?xml version='1.0' encoding='utf-8'?>"]
)
def test_a_page_without_a_body_is_empty(tmp_path: Path, html: str) -> None:
    (tmp_path / "a.md").write_text("text", "utf-8")
    (tmp_path / "b.html").write_text(html, "utf-8")
    corpus = read_corpus(tmp_path)
    assert [passage.id for passage in corpus.passages] == ["a.md"]
    assert "left out: b.html" in corpus.warnings[0]


def test_a_pdf_with_a_password_is_named_and_one_that_anybody_may_read_is_read(tmp_path: Path) -> None:
    import pypdf

    write_pdf(tmp_path / "a.pdf", ["Page one text."])
    for name, password in (("open", ""), ("locked", "secret")):
        writer = pypdf.PdfWriter(clone_from=tmp_path / "a.pdf")
        writer.encrypt(password, "owner", algorithm="RC4-128")
        writer.write(tmp_path / f"{name}.pdf")
    assert read_corpus(tmp_path / "open.pdf").passages[0].text == "Page one text."
    with pytest.raises(DataError, match=r"locked\.pdf: it is encrypted\. Save it without a password"):
        read_corpus(tmp_path / "locked.pdf")


def test_a_long_field_of_a_table_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text\n" + "x" * 200_000 + "\n", "utf-8")
    assert len(read_corpus(tmp_path).passages[0].text) == 200_000


def warc_record(address: str, kind: str, body: bytes) -> bytes:
    """A response as a crawler keeps it."""
    http = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {address}\r\nWARC-Date: 2024-05-10T09:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def test_slides_feeds_and_archives_are_documents(tmp_path: Path) -> None:
    import pptx

    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "Prices", "The Heron costs 389 euros."
    slide.notes_slide.notes_text_frame.text = "Since May."
    show.save(str(tmp_path / "a.pptx"))
    (tmp_path / "b.rss").write_text(
        "<rss version='2.0'><channel><title>n</title><item><title>Bridge</title><link>https://x.test/1</link>"
        "<pubDate>Fri, 10 May 2024 09:00:00 GMT</pubDate><description>&lt;p&gt;It has 310 lamps.&lt;/p&gt;"
        "</description></item></channel></rss>",
        "utf-8",
    )
    records = [
        warc_record("https://x.test/2", "text/html", "<title>桥</title><p>桥上有310盏灯。</p>".encode()),
        warc_record("https://x.test/3", "image/png", b"...."),
    ]
    (tmp_path / "c.warc.gz").write_bytes(b"".join(map(gzip.compress, records)))
    found = {passage.id: passage for passage in read_corpus(tmp_path).passages}
    assert found.keys() == {"a.pptx#slide=1", "https://x.test/1", "https://x.test/2"}
    assert found["a.pptx#slide=1"].text == "Prices\nThe Heron costs 389 euros.\nSince May."
    assert found["https://x.test/1"].text == "It has 310 lamps."
    assert found["https://x.test/1"].meta["date"].startswith("Fri, 10 May")
    assert (found["https://x.test/2"].title, found["https://x.test/2"].text) == ("桥", "桥上有310盏灯。")


def test_a_damaged_feed_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "b.rss").write_text("no feed", "utf-8")
    with pytest.raises(DataError, match=r"b\.rss.*no RSS or Atom feed"):
        read_corpus(tmp_path)
