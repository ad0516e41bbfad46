"""Files over HTTP: uploaded by their bytes, downloaded as attachments, reached by their owner only."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from segue import Kernel, Settings
from segue.errors import StoreUnavailable
from segue.server import create_app
from segue.testing import ScriptedAgent
from tests import disks
from tests.disks import needs_root
from tests.server.conftest import ADA, BEN, ROOT_KEY, bearer, reach, running
from tests.server.hostile_files import CONTENTS, HTML, NAMES, PNG_HEAD

PNG = PNG_HEAD + b"\x00" * 20
SESSION = "/sessions/web:1"


async def upload(
    http: httpx2.AsyncClient, data: bytes = PNG, name: str = "cat.png", headers: dict[str, str] | None = None
) -> dict[str, Any]:
    response = await http.post(f"{SESSION}/files", params={"name": name}, content=data, headers=headers)
    assert response.status_code == 201, response.text
    part: dict[str, Any] = response.json()
    return part


async def test_an_uploaded_file_is_sent_and_read_back(http: httpx2.AsyncClient, agent: ScriptedAgent) -> None:
    part = await upload(http)
    assert part == {
        "type": "image",
        "media_type": "image/png",
        "name": "cat.png",
        "id": part["id"],
        "size": len(PNG),
    }
    turn = (
        await http.post(f"{SESSION}/turns?wait=30", json={"content": "What is this?", "parts": [part]})
    ).json()
    assert turn["parts"] == [part]
    question, answer = (await http.get(f"{SESSION}/messages")).json()["messages"]
    assert (question["content"], question["parts"], answer["parts"]) == ("What is this?", [part], [])
    log = (await http.get(f"{SESSION}/log")).json()["events"]
    assert log[0]["message"]["parts"] == [part]
    assert [file.name for file in agent.asked[0].turn.parts] == ["cat.png"]
    assert (await http.get(f"/files/{part['id']}")).content == PNG


async def test_a_download_is_an_attachment_that_runs_nothing(http: httpx2.AsyncClient) -> None:
    part = await upload(http, HTML, 'Über "uns".html')
    response = await http.get(f"/files/{part['id']}")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "sandbox" in response.headers["content-security-policy"]
    assert response.headers["content-disposition"] == (
        "attachment; filename=\"_ber _uns_.html\"; filename*=UTF-8''%C3%9Cber%20_uns_.html"
    )


async def test_hostile_files_are_saved_as_they_are_and_never_shown(http: httpx2.AsyncClient) -> None:
    failures = []
    for what, content in CONTENTS.items():
        part = await upload(http, content, "evil.html", headers={"Content-Type": "text/html"})
        response = await http.get(f"/files/{part['id']}")
        kind = response.headers["content-type"].partition(";")[0]
        checks = {
            "changed": response.content == content,
            "shown": response.headers["content-disposition"].startswith("attachment;"),
            "guessed": response.headers["x-content-type-options"] == "nosniff",
            "active": not any(each in kind for each in ("html", "xml", "svg", "script", "css")),
            "wrong type": (part["type"] == "image") == kind.startswith("image/"),
        }
        failures += [f"{what}: {name}" for name, holds in checks.items() if not holds]
    assert (len(CONTENTS), failures) == (50, [])


async def test_hostile_names_are_made_safe(http: httpx2.AsyncClient) -> None:
    failures = []
    for name in NAMES:
        part = await upload(http, PNG, name)
        response = await http.get(f"/files/{part['id']}")
        kept, disposition = part["name"], response.headers["content-disposition"]
        checks = {
            "length": 1 <= len(kept) <= 100,
            "not printable": kept.isprintable(),
            "signs": not set('/\\<>:;"|?*%') & set(kept),
            "ends": kept.strip(". ") == kept,
            "device": kept.partition(".")[0].lower() not in ("con", "nul", "aux", "com1"),
            "header": disposition.count("; filename") == 2 and "set-cookie" not in response.headers,
        }
        failures += [f"{name[:50]!r}: {what}" for what, holds in checks.items() if not holds]
    assert (len(NAMES), failures) == (50, [])


async def test_what_a_client_says_of_a_file_is_not_believed(http: httpx2.AsyncClient) -> None:
    part = await upload(http, HTML, "photo.png", headers={"Content-Type": "image/png"})
    assert (part["type"], part["media_type"]) == ("file", "text/plain")
    claimed = {"id": part["id"], "type": "image", "media_type": "text/html", "name": "../x.html", "size": 1}
    await http.post(f"{SESSION}/messages", json={"role": "user", "content": "", "parts": [claimed]})
    (message,) = (await http.get(f"{SESSION}/messages")).json()["messages"]
    assert (message["parts"], message["content"]) == ([part], "[photo.png]")


async def test_another_users_file_does_not_exist(guarded: httpx2.AsyncClient) -> None:
    part = await upload(guarded, headers=bearer(ADA))
    message = {"role": "user", "content": "Look", "parts": [part]}
    assert (await guarded.get(f"/files/{part['id']}", headers=bearer(ADA))).content == PNG
    for key in (BEN, ROOT_KEY):
        assert (await guarded.get(f"/files/{part['id']}", headers=bearer(key))).status_code == 404
        for path, body in (
            ("/sessions/web:1/turns", {"content": "Look", "parts": [part]}),
            ("/sessions/web:2/messages", message),
            (
                "/sessions/web:2/messages/batch",
                {"messages": [{"role": "user", "content": "x", "parts": [part]}]},
            ),
        ):
            refused = await guarded.post(path, json=body, headers=bearer(key))
            assert (refused.status_code, refused.json()["code"]) == (404, "not_found"), path
    assert (await guarded.get(f"/files/{part['id']}")).status_code == 401
    assert (await guarded.post(f"{SESSION}/files", content=PNG)).status_code == 401


async def test_a_deleted_session_leaves_no_file(http: httpx2.AsyncClient) -> None:
    part = await upload(http)
    await http.delete(SESSION)
    assert (await http.get(f"/files/{part['id']}")).status_code == 404


async def test_a_repeated_upload_returns_the_first_file(http: httpx2.AsyncClient) -> None:
    headers = {"Idempotency-Key": "upload-1"}
    assert await upload(http, headers=headers) == await upload(http, headers=headers)


async def test_a_repeated_form_returns_the_first_file(http: httpx2.AsyncClient) -> None:
    """Each of the two forms has its own boundary."""
    headers = {"Idempotency-Key": "upload-1"}
    first, second = [
        await http.post(f"{SESSION}/files", files={"file": ("cat.png", PNG)}, headers=headers)
        for _ in range(2)
    ]
    assert (first.status_code, second.status_code) == (201, 201), second.text
    assert first.json() == second.json()


async def test_a_form_with_a_file_is_an_upload(http: httpx2.AsyncClient) -> None:
    response = await http.post(f"{SESSION}/files", files={"file": ("../cat.png", PNG, "text/html")})
    part = response.json()
    assert (response.status_code, part["name"], part["media_type"]) == (201, "cat.png", "image/png")
    assert (await http.get(f"/files/{part['id']}")).content == PNG


@pytest.mark.parametrize(
    ("form", "status", "code"),
    [
        ({"files": {"text": (None, "no file")}}, 422, "no_file"),
        ({"files": {"a": ("a.png", PNG), "b": ("b.png", PNG)}}, 400, "bad_request"),
    ],
)
async def test_a_form_has_one_file(
    http: httpx2.AsyncClient, form: dict[str, Any], status: int, code: str
) -> None:
    refused = await http.post(f"{SESSION}/files", **form)
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text


async def test_an_empty_file_is_refused(http: httpx2.AsyncClient) -> None:
    refused = await http.post(f"{SESSION}/files", content=b"")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_file")


async def test_a_message_without_words_or_parts_is_refused(http: httpx2.AsyncClient) -> None:
    for body in ({"content": " "}, {"content": "", "parts": []}):
        assert (await http.post(f"{SESSION}/turns", json=body)).status_code == 422


async def test_a_file_above_the_limit_is_refused_before_it_is_read(database_url: str) -> None:
    settings = Settings(file_megabytes=5, session_files_megabytes=9)
    async with (
        Kernel(database_url, agent=ScriptedAgent(), settings=settings) as kernel,
        running(kernel) as app,
        reach(app) as http,
    ):
        await upload(http, b"x" * (5 << 20))
        for path, size in (("/files", (5 << 20) + 1), ("/messages", (4 << 20) + 1)):
            refused = await http.post(f"{SESSION}{path}", content=b"x" * size)
            assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        refused = await http.post(f"{SESSION}/files", content=_endless())
        assert refused.status_code == 413
        full = await http.post(f"{SESSION}/files", content=b"x" * (5 << 20))
        assert (full.status_code, full.json()["code"]) == (409, "too_many_files")


async def _endless() -> AsyncIterator[bytes]:
    """A body that does not say its length."""
    while True:
        yield b"x" * 100_000
        await asyncio.sleep(0)


@needs_root
async def test_a_full_disk_refuses_the_file_and_loses_nothing(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path, megabytes=12) as disk:
        async with Kernel(f"sqlite:///{disk}/segue.db", agent=ScriptedAgent()) as kernel:
            app = create_app(kernel)
            async with reach(app) as http:
                kept = await upload(http, b"kept")
                refused = await http.post(f"{SESSION}/files", content=b"x" * (15 << 20))
                assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
                assert "try again" in refused.json()["detail"]
                with pytest.raises(StoreUnavailable, match="disk is full"):
                    await kernel.files.add("web:1", "big", b"x" * (15 << 20))
                assert (await http.get(f"/files/{kept['id']}")).content == b"kept"
                assert (await upload(http, b"small"))["size"] == 5
            assert not await kernel.audit()
