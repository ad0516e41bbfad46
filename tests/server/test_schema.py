"""The OpenAPI schema holds: for any request, no response is a 5xx and every response matches its schema."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server.conftest import ROOT_KEY, bearer
from tests.server.process import LONG, served
from tests.server.test_security import ALL_KEYS

CHECKS = """not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,
response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance,
ignored_auth""".replace("\n", "")

FOLLOWING = "/sessions/{key}/events"
"""The stream does not end, so it is requested for a session that does not exist."""

FOREIGN = (
    "post /webhooks/telegram",
    "post /sessions/{key}/files",
    "post /sessions/{key}/calendar/import",
    "post /v1/",
    "post /agui",
    "post /ui",
    "post /langgraph/",
)
"""Bodies that other specifications describe, and files."""

WIRES = "^/(v1|agui|ui|langgraph)(/|$)"
"""Their errors have shapes of their own, and a failed turn is a 5xx; `tests/wires` has their bad input."""

TOO_LARGE = """
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, "5xx"]
"""
"""A body that breaks a rule may also be too large to be read."""

PHASES = "examples,coverage,fuzzing" if LONG else "examples,fuzzing"
EXAMPLES = "300" if LONG else "4"


@pytest.mark.parametrize(
    ("path", "which"), [("--exclude-path", "all but following"), ("--include-path", "following")]
)
async def test_every_response_matches_its_schema(path: str, which: str, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(TOO_LARGE)
    with served(f"sqlite:///{tmp_path}/segue.db", "--keys", ALL_KEYS) as server:
        asked = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).with_name("schemathesis")), "run", f"{server.http}/openapi.json"),
            *("-H", f"Authorization: Bearer {ROOT_KEY}", path, FOLLOWING),
            *("--exclude-path-regex", WIRES),
            *("--checks", CHECKS, "--phases", PHASES, "--max-examples", EXAMPLES),
            *("--request-timeout", "30", "--seed", "1", "--no-color", "--warnings", "off"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asked.communicate()
    assert asked.returncode == 0, f"{which}:\n{said.decode()}"


async def test_every_operation_is_described_and_every_body_has_an_example(tmp_path: Path) -> None:
    with served(f"sqlite:///{tmp_path}/segue.db", "--keys", ALL_KEYS) as server:
        async with httpx2.AsyncClient(base_url=server.http, headers=bearer(ROOT_KEY)) as http:
            described = (await http.get("/openapi.json")).json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            place = f"{method} {path}"
            assert operation["summary"], place
            assert operation["tags"], place
            if "requestBody" in operation and not place.startswith(FOREIGN):
                shape = _body_schema(described, operation["requestBody"])
                assert "examples" in shape or shape["title"] == "Login", place
                assert shape["additionalProperties"] is False, place
    assert "HTTPValidationError" not in json.dumps(described["paths"])


def _body_schema(described: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """The schema of a required or an optional body."""
    schema = body["content"]["application/json"]["schema"]
    if not body.get("required"):
        schema, nothing = schema["anyOf"]
        assert nothing == {"type": "null"}
    shape: dict[str, Any] = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return shape
