"""Files that are small and cost much to read: each function writes one, below 3 MB, and returns its name."""

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

MB = 2**20
_TYPES = '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
_RELS = '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
Text = str | Iterator[bytes]


def _zipped(path: Path, members: dict[str, Text]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in members.items():
            with archive.open(name, "w", force_zip64=True) as stream:
                for piece in (content.encode(),) if isinstance(content, str) else content:
                    stream.write(piece)
    return path.name


def _repeated(before: str, text: str, total: int, after: str) -> Iterator[bytes]:
    """The text over and over, about `total` bytes, between two others."""
    block = text.encode() * max(1, MB // len(text))
    yield before.encode()
    for _ in range(max(1, total // len(block))):
        yield block
    yield after.encode()


def _workbook(path: Path, sheet: Text, *, shared: Text = "", sheets: int = 1) -> str:
    names = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="rId1"/>' for n in range(1, sheets + 1))
    part = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    members: dict[str, Text] = {
        "[Content_Types].xml": f'{_TYPES}<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{part}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{part}.worksheet+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{part}.sharedStrings+xml"/></Types>',
        "_rels/.rels": f'{_RELS}<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        "</Relationships>",
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{_RELS}<Relationship Id="rId1" Type="{_OFFICE}/worksheet" '
        f'Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{_OFFICE}/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": sheet,
    }
    return _zipped(path, {**members, "xl/sharedStrings.xml": shared or f'<sst xmlns="{_SHEET}"/>'})


_OPEN = f'<worksheet xmlns="{_SHEET}"><sheetData>'
_CLOSE = "</sheetData></worksheet>"


def _cell(text: str, place: str = "") -> str:
    return f'<c t="inlineStr"{place and f" r={place!r}"}><is><t>{text}</t></is></c>'


_HEADER = f"<row>{_cell('question')}{_cell('answer')}</row>"


def xlsx_many_rows(folder: Path) -> str:
    row = f"<row>{_cell('What?')}{_cell('x' * 50)}</row>"
    return _workbook(folder / "a.xlsx", _repeated(_OPEN + _HEADER, row, 400 * MB, _CLOSE))


def xlsx_shared_strings(folder: Path) -> str:
    shared = _repeated(f'<sst xmlns="{_SHEET}">', "<si><t>a</t></si>", 60 * MB, "</sst>")
    return _workbook(folder / "a.xlsx", _OPEN + _HEADER + _CLOSE, shared=shared)


def xlsx_giant_cell(folder: Path) -> str:
    sheet = _repeated(
        f"{_OPEN}{_HEADER}<row>{_cell('What?')}<c t='inlineStr'><is><t>", "x", 58 * MB, "</t></is></c></row>"
    )
    return _workbook(folder / "a.xlsx", _chain(sheet, _CLOSE))


def _chain(pieces: Iterator[bytes], after: str) -> Iterator[bytes]:
    yield from pieces
    yield after.encode()


def xlsx_one_string_in_every_cell(folder: Path) -> str:
    """A shared string of 1 MB that 3,000 rows name."""
    shared = f'<sst xmlns="{_SHEET}"><si><t>question</t></si><si><t>answer</t></si><si><t>{"y" * MB}</t></si></sst>'
    row = '<row><c t="s"><v>2</v></c><c t="s"><v>2</v></c></row>'
    header = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
    return _workbook(folder / "a.xlsx", _OPEN + header + row * 3000 + _CLOSE, shared=shared)


def xlsx_many_sheets(folder: Path) -> str:
    """20,000 sheets that are one part of 2 MB."""
    sheet = _repeated(_OPEN, "<row></row>", 2 * MB, _CLOSE)
    return _workbook(folder / "a.xlsx", sheet, sheets=20_000)


def xlsx_huge_dimensions(folder: Path) -> str:
    rows = "".join(f'<row r="{n}">{_cell("x", f"XFD{n}")}</row>' for n in range(1, 40_000))
    return _workbook(
        folder / "a.xlsx", f'<worksheet xmlns="{_SHEET}"><dimension ref="A1:XFD1048576"/><sheetData>{rows}{_CLOSE}'
    )


def xlsx_laughs(folder: Path) -> str:
    return _workbook(folder / "a.xlsx", _laughs(f"{_OPEN}<row>{_cell('&l9;')}</row>{_CLOSE}"))


def _laughs(body: str) -> str:
    """Billion laughs: nine entities, each ten times the one before."""
    entities = '<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE x [{entities}]>{body}'


def xlsx_deep(folder: Path) -> str:
    depth = 3_000_000
    sheet = _repeated(_OPEN, "<a>", 3 * depth, "")
    return _workbook(folder / "a.xlsx", _chain(sheet, "</a>" * 10))


def _document(path: Path, body: Text, *, part: str = "word/document.xml", extra: dict[str, Text] | None = None) -> str:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return _zipped(path, {
        "[Content_Types].xml": f'{_TYPES}<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="bin" '
        f'ContentType="x/y"/><Override PartName="/{part}" ContentType="{kind}"/></Types>',
        "_rels/.rels": f'{_RELS}<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="{part}"/>'
        "</Relationships>",
        part: body, **(extra or {}),
    })  # fmt: skip


_DOC = f'<w:document xmlns:w="{_WORD}"><w:body>'
_END = "</w:body></w:document>"


def docx_many_paragraphs(folder: Path) -> str:
    return _document(folder / "a.docx", _repeated(_DOC, "<w:p/>", 60 * MB, _END))


def docx_unpacks_to_a_gigabyte(folder: Path) -> str:
    return _document(folder / "a.docx", _repeated(_DOC, "<w:p><w:r><w:t>hello</w:t></w:r></w:p>", 1000 * MB, _END))


def docx_laughs(folder: Path) -> str:
    return _document(folder / "a.docx", _laughs(f"{_DOC}<w:p><w:r><w:t>&l9;</w:t></w:r></w:p>{_END}"))


def docx_giant_text(folder: Path) -> str:
    return _document(folder / "a.docx", _repeated(f"{_DOC}<w:p><w:r><w:t>", "x", 63 * MB, f"</w:t></w:r></w:p>{_END}"))


def docx_wide_table(folder: Path) -> str:
    """A row of 6,000 cells in each of 180 rows: python-docx looks up each cell anew."""
    row = f"<w:tr>{'<w:tc><w:p/></w:tc>' * 6000}</w:tr>"
    return _document(folder / "a.docx", f"{_DOC}<w:tbl><w:tblGrid/>{row * 180}</w:tbl>{_END}")


def docx_huge_attachment(folder: Path) -> str:
    body = f"{_DOC}<w:p/>{_END}"
    rels = f'{_RELS}<Relationship Id="rId1" Type="{_OFFICE}/image" Target="big.bin"/></Relationships>'
    extra: dict[str, Text] = {"word/_rels/document.xml.rels": rels, "word/big.bin": _repeated("", "\0", 2000 * MB, "")}
    return _document(folder / "a.docx", body, extra=extra)


def _presentation(path: Path, change: Callable[[dict[str, bytes]], None]) -> str:
    import pptx

    show = pptx.Presentation()
    show.slides.add_slide(show.slide_layouts[5])
    stream = io.BytesIO()
    show.save(stream)
    with zipfile.ZipFile(stream) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path.name


def pptx_many_shapes(folder: Path) -> str:
    def change(members: dict[str, bytes]) -> None:
        shape = (
            b"<p:sp><p:nvSpPr><p:cNvPr id='9' name=''/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>"
            b"<a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp>"
        )
        slide = members["ppt/slides/slide1.xml"]
        members["ppt/slides/slide1.xml"] = slide.replace(
            b"</p:spTree>", shape * (58 * MB // len(shape)) + b"</p:spTree>"
        )

    return _presentation(folder / "a.pptx", change)


def pptx_one_slide_many_times(folder: Path) -> str:
    def change(members: dict[str, bytes]) -> None:
        show = members["ppt/presentation.xml"]
        start, end = show.index(b"<p:sldId "), show.index(b"</p:sldIdLst>")
        members["ppt/presentation.xml"] = show[:end] + show[start:end] * 100_000 + show[end:]
        title = b"<a:t>" + b"x" * 100_000 + b"</a:t>"
        slide = members["ppt/slides/slide1.xml"]
        members["ppt/slides/slide1.xml"] = slide.replace(b"<a:p/>", b"<a:p><a:r>" + title + b"</a:r></a:p>")

    return _presentation(folder / "a.pptx", change)


def _pdf(path: Path, content: bytes, *, filters: str = "/FlateDecode", pages: int = 1, extra: str = "") -> str:
    """A PDF whose pages all show one stream."""
    kids = " ".join(f"{n} 0 R" for n in range(5, 5 + pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        f"<< /Length {len(content)} /Filter {filters} {extra} >>\nstream\n".encode() + content + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 3 0 R /Resources << /Font << /F 4 0 R >> >> >>"
    objects += [page] * pages
    out, places = bytearray(b"%PDF-1.7\n"), list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()
    path.write_bytes(out)
    return path.name


def pdf_compressed_page(folder: Path) -> str:
    return _pdf(folder / "a.pdf", zlib.compress(b" " * (1000 * MB)))


def pdf_nested_filters(folder: Path) -> str:
    return _pdf(
        folder / "a.pdf", zlib.compress(zlib.compress(b" " * (2000 * MB), 9), 9), filters="[/FlateDecode /FlateDecode]"
    )


def pdf_many_operators(folder: Path) -> str:
    return _pdf(folder / "a.pdf", zlib.compress(b"BT /F 1 Tf (a) Tj ET " * 3_000_000))


def pdf_heavy_page_many_times(folder: Path) -> str:
    return _pdf(folder / "a.pdf", zlib.compress(b"q 1 0 0 1 0 0 cm Q " * 100_000), pages=5_000)


def pdf_run_lengths(folder: Path) -> str:
    return _pdf(folder / "a.pdf", zlib.compress(b"\x81 " * (40 * MB)), filters="[/FlateDecode /RunLengthDecode]")


def pdf_object_stream(folder: Path) -> str:
    """A cross-reference stream that says there are two thousand million objects, in a gigabyte."""
    head = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    packed = zlib.compress(b"\1\0\0\0\0\0\0" * (150 * MB))
    stream = (
        f"3 0 obj\n<< /Type /XRef /Size 2000000000 /W [1 4 2] /Root 1 0 R /Filter /FlateDecode /Length {len(packed)} >>"
    )
    body = stream.encode() + b"\nstream\n" + packed + b"\nendstream\nendobj\n"
    (folder / "a.pdf").write_bytes(head + body + f"startxref\n{len(head)}\n%%EOF".encode())
    return "a.pdf"


def epub_zip_bomb(folder: Path) -> str:
    return _zipped(
        folder / "a.epub", {"mimetype": "application/epub+zip", "a.xhtml": _repeated("", "x", 1000 * MB, "")}
    )


def _warc(content: bytes) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000001>\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http) + len(content)}\r\n\r\n"
    )
    return head.encode() + http + content + b"\r\n\r\n"


def warc_deep_page(folder: Path) -> str:
    with gzip.open(folder / "a.warc.gz", "wb") as stream:
        stream.write(_warc(b"<html><body>" + b"<i>" * 1_600_000))
    return "a.warc.gz"


def warc_many_pages(folder: Path) -> str:
    page = gzip.compress(_warc(b"<p>" + b"x" * (4 * MB)))
    (folder / "a.warc.gz").write_bytes(page * 100)
    return "a.warc.gz"


def warc_endless_header(folder: Path) -> str:
    with gzip.open(folder / "a.warc.gz", "wb") as stream:
        stream.write(b"WARC/1.0\r\n")
        for _ in range(1000):
            stream.write(b"A: b\r\n" * (MB // 6))
    return "a.warc.gz"


def _parquet(path: Path, columns: dict[str, object], **options: object) -> str:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)
    return path.name


def parquet_dictionary(folder: Path) -> str:
    """One text of 1 MB in 20,000 rows."""
    import pyarrow

    answers = pyarrow.DictionaryArray.from_arrays([0] * 20_000, ["x" * MB])
    return _parquet(folder / "a.parquet", {"question": ["What?"] * 20_000, "answer": answers}, store_schema=False)


def parquet_tiny_column(folder: Path) -> str:
    import numpy

    return _parquet(folder / "a.parquet", {"question": numpy.zeros(30_000_000, "int8")}, compression="zstd")


def parquet_giant_list(folder: Path) -> str:
    import numpy
    import pyarrow

    values = pyarrow.array(numpy.zeros(200_000_000, "int8"))
    contexts = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(values)], pyarrow.int32()), values)
    return _parquet(folder / "a.parquet", {"question": ["What?"], "contexts": contexts}, compression="zstd")


def parquet_many_columns(folder: Path) -> str:
    return _parquet(folder / "a.parquet", {f"c{n}": [1] for n in range(10_000)})


def arrow_compressed(folder: Path) -> str:
    import pyarrow.feather

    table = pyarrow.table({"question": ["What?"], "answer": ["x" * (900 * MB)]})
    pyarrow.feather.write_feather(table, folder / "a.arrow", compression="zstd")
    return "a.arrow"


def gzip_run(folder: Path) -> str:
    with gzip.open(folder / "a.run.gz", "wb") as stream:
        for _ in range(1500):
            stream.write(b"q1 Q0 d1 1 1.0 t\n" * (MB // 17))
    return "a.run.gz"


def gzip_members(folder: Path) -> str:
    """Members without end: each a megabyte, 1.8 GB together."""
    (folder / "a.run.gz").write_bytes(gzip.compress(b" " * MB) * 1800)
    return "a.run.gz"


def gzip_questions(folder: Path) -> str:
    with gzip.open(folder / "a.json.gz", "wb") as stream:
        stream.write(b"[")
        for _ in range(1500):
            stream.write(b'"",' * (MB // 3))
    return "a.json.gz"


def zip_overlapping(folder: Path) -> str:
    """Five thousand entries that are the same bytes of the archive."""
    data = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = data.compress(b"x" * (20 * MB)) + data.flush()
    crc, size = zlib.crc32(b"x" * (20 * MB)), 20 * MB
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(packed), size, 1, 0) + b"a" + packed
    entry = (
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, len(packed), size, 1, 0, 0, 0, 0, 0, 0) + b"a"
    )
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 5000, 5000, len(entry) * 5000, len(local), 0)
    (folder / "a.docx").write_bytes(local + entry * 5000 + end)
    return "a.docx"


def zip_in_zip(folder: Path) -> str:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(500 * MB))
    with zipfile.ZipFile(folder / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(200):
            archive.writestr(f"{number}.zip", inner.getvalue())
    return "a.xlsx"


def html_many_elements(folder: Path) -> str:
    (folder / "a.html").write_bytes(b"<p>" * 700_000)
    return "a.html"


def feed_laughs(folder: Path) -> str:
    (folder / "a.rss").write_text(_laughs("<rss><channel><item><title>&l9;</title></item></channel></rss>"))
    return "a.rss"


def feed_deep(folder: Path) -> str:
    (folder / "a.xml").write_bytes(b"<rss><channel><item>" + b"<div>" * 500_000)
    return "a.xml"


BOMBS: tuple[Callable[[Path], str], ...] = (
    xlsx_many_rows, xlsx_shared_strings, xlsx_giant_cell, xlsx_one_string_in_every_cell, xlsx_many_sheets,
    xlsx_huge_dimensions, xlsx_laughs, xlsx_deep, docx_many_paragraphs, docx_unpacks_to_a_gigabyte, docx_laughs,
    docx_giant_text, docx_wide_table, docx_huge_attachment, pptx_many_shapes, pptx_one_slide_many_times,
    pdf_compressed_page, pdf_nested_filters, pdf_many_operators, pdf_heavy_page_many_times, pdf_run_lengths,
    pdf_object_stream, epub_zip_bomb, warc_deep_page, warc_many_pages, warc_endless_header, parquet_dictionary,
    parquet_tiny_column, parquet_giant_list, parquet_many_columns, arrow_compressed, gzip_run, gzip_members,
    gzip_questions, zip_overlapping, zip_in_zip, html_many_elements, feed_laughs, feed_deep,
)  # fmt: skip
