"""What stands before the pages: hosts, tokens, other sites, sizes, and what a page may load."""

import html
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.cli.tools import process
from tests.web.conftest import HERE, Browse

from ragstone.errors import UsageError
from ragstone.web.security import Guard, check_host, expert_token, is_loopback


async def _write(request: Request) -> Response:
    return Response(str(len(await request.body())))


@pytest.fixture
def writer() -> TestClient:
    """A page that takes what is sent to it, behind the checks."""
    app = Starlette(routes=[Route("/write", _write, methods=["POST"])], middleware=[Middleware(Guard)])
    return TestClient(app, base_url=HERE)


@pytest.mark.parametrize(("host", "status"), [
    ("127.0.0.1:8720", 200), ("localhost:9000", 200), ("[::1]:8720", 200), ("LOCALHOST", 200), ("", 421),
    ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("evil@127.0.0.1", 421), ("[::1", 421), ("10.0.0.1", 421),
])  # fmt: skip
def test_only_names_of_this_machine_are_answered(folder: Path, browse: Browse, host: str, status: int) -> None:
    assert browse(folder).get("/", headers={"host": host}).status_code == status


def test_a_name_given_with_the_host_is_answered_too(folder: Path, browse: Browse) -> None:
    assert browse(folder, hosts={"box.example"}).get("/", headers={"host": "box.example:1"}).status_code == 200


@pytest.mark.parametrize(
    "name", ["box", "box.example", "Box-2.example.", "a_b", "192.0.2.7", "2001:db8::1", "xn--fiqs8s.cn"]
)
def test_a_name_that_browsers_can_call_is_taken(name: str) -> None:
    check_host(name, "--allowed-host")


@pytest.mark.parametrize(
    "name", ["", " ", "http://box", "box:80", "box/x", "*", "*.example", "a b", "-box", "box..example", "a" * 300]
)
def test_a_name_that_no_browser_sends_is_refused_before_anything_is_served(name: str) -> None:
    with pytest.raises(UsageError, match=r"--allowed-host .* is not the name of a host"):
        check_host(name, "--allowed-host")


@pytest.mark.parametrize(("host", "status"), [("192.0.2.7:8720", 200), ("[2001:db8::1]", 200), ("evil.example", 421)])
def test_a_viewer_on_all_addresses_is_called_by_numbers_and_not_by_names_of_others(
    folder: Path, browse: Browse, host: str, status: int
) -> None:
    client = browse(folder, hosts={"0.0.0.0", "box"}, token="t")
    client.get("/?token=t")
    answered = client.get(
        "/", headers={"host": host, "cookie": "; ".join(f"{k}={v}" for k, v in client.cookies.items())}
    )
    assert answered.status_code == status


def test_the_link_of_an_expert_is_of_no_other_name(folder: Path, browse: Browse, tmp_path: Path) -> None:
    labels = tmp_path / "l.sqlite"
    made = process("annotate", folder / "sub" / "a.run", "--labels", labels, "--experts", "ann,bob", "--json",
                   folder=tmp_path)  # fmt: skip
    assert made.code == 0, made.err
    client = browse(folder, token="t", labels=labels)
    assert client.get(f"/annotate?expert=bob&token={expert_token('t', 'ann')}").status_code == 401
    assert client.get(f"/annotate?expert=ann&token={expert_token('t', 'ann')}").status_code == 200
    assert client.get("/annotate?expert=ann").status_code == 200
    for path in ("/annotate?expert=bob", "/disputes?expert=bob", "/gold?by=bob"):
        assert client.get(path).status_code == 403
    ours = {"origin": HERE, "sec-fetch-site": "same-origin"}
    form = {"expert": "bob", "task": "correct", "item": "x", "value": "1"}
    refused = client.post("/annotate/label", data=form, headers=ours)
    assert (refused.status_code, "another name" in refused.text) == (403, True)
    client.get("/annotate?token=t")  # whoever knows the token of the round is nobody in particular
    assert client.get("/annotate?expert=bob").status_code == 200


def test_a_session_that_somebody_made_up_is_none(folder: Path, browse: Browse) -> None:
    client = browse(folder, token="t")
    client.get("/annotate?expert=ann&token=" + expert_token("t", "ann"), follow_redirects=False)
    ((name, session),) = client.cookies.items()
    for forged in ("", ".", "zz.zz", f"{b'bob'.hex()}.{session.partition('.')[2]}", f".{session.partition('.')[2]}"):
        client.cookies.clear()
        assert client.get("/", headers={"cookie": f"{name}={forged}"}).status_code == 401
    assert client.get("/", headers={"cookie": f"{name}={session}"}).status_code == 200


def test_a_token_is_asked_for_once_and_leaves_the_address(folder: Path, browse: Browse) -> None:
    client = browse(folder, token="s3cret")
    for path in ("/", "/?token=wrong", "/?token=", "/static/view.js", "/run?run=sub%2Fa.run"):
        assert client.get(path).status_code == 401
    first = client.get("/run?run=sub%2Fa.run&token=s3cret", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/run?run=sub%2Fa.run")
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "s3cret" not in cookie
    assert client.get("/").status_code == 200


def test_the_token_leads_to_no_other_site(folder: Path, browse: Browse) -> None:
    for path in ("//evil.example/", "/\\evil.example/"):
        away = browse(folder, token="t").get(f"{HERE}{path}?token=t", follow_redirects=False)
        assert not away.headers.get("location", "/").startswith(("//", "/\\", "http"))


@pytest.mark.parametrize(("headers", "status"), [
    ({}, 403),
    ({"sec-fetch-site": "same-origin"}, 200),
    ({"sec-fetch-site": "same-origin", "origin": HERE}, 200),
    ({"origin": HERE}, 200),
    ({"sec-fetch-site": "cross-site", "origin": HERE}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"sec-fetch-site": "none"}, 403),
    ({"sec-fetch-site": "same-origin", "origin": "http://evil.example"}, 403),
    ({"origin": "http://127.0.0.1:9999"}, 403),
    ({"origin": "null"}, 403),
])  # fmt: skip
def test_only_pages_of_the_viewer_may_write(writer: TestClient, headers: dict[str, str], status: int) -> None:
    assert writer.post("/write", content=b"x", headers=headers).status_code == status


def test_what_is_sent_has_a_limit(writer: TestClient) -> None:
    ours = {"sec-fetch-site": "same-origin"}
    assert writer.post("/write", content=b"x" * 1_000_000, headers=ours).text == "1000000"
    assert writer.post("/write", content=b"x" * 2_000_001, headers=ours).status_code == 413


def test_every_answer_forbids_scripts_of_others_and_frames(folder: Path, browse: Browse) -> None:
    client = browse(folder)
    for path in ("/", "/run?run=sub%2Fa.run", "/none", "/static/view.js", "/run?run=none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "unsafe" not in policy
        for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
            assert rule in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_nothing_in_the_pages_needs_more_than_the_policy_allows(folder: Path, browse: Browse) -> None:
    client = browse(folder)
    for path in ("/", "/run?run=sub%2Fa.run"):
        page = client.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?! src=\"/static/)", page)
        for file in re.findall(r"(?:src|href)=\"(/static/[^\"]+)\"", page):
            assert client.get(html.unescape(file)).status_code == 200


def test_which_addresses_only_this_machine_can_reach() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "box.example", "")))
