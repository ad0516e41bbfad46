"""`/docs`: the reference of this API as a plain page, made from its OpenAPI. It has no scripts."""

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from segue.server.markdown_pool import html_of

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    described = request.app.openapi()
    operations = [
        (method, path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    about = described["info"]["description"]
    html = await html_of([about, *(_words(operation) for *_, operation in operations)])
    sections: dict[str, list[str]] = {}
    for method, path, operation in operations:
        section = operation.get("tags", ["Other"])[0]
        shown = _operation(method, path, operation, html[_words(operation)])
        sections.setdefault(section, []).append(shown)
    body = "".join(f"<h2>{escape(name)}</h2>{''.join(parts)}" for name, parts in sections.items())
    title = escape(described["info"]["title"])
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f'<body><h1>{title}</h1>{html[about]}<p><a href="openapi.json">openapi.json</a></p>'
        f"{body}</body></html>"
    )


def _words(operation: dict[str, Any]) -> str:
    words: str = operation.get("description", "")
    return words


def _operation(method: str, path: str, operation: dict[str, Any], described: str) -> str:
    head = f"<h3><code>{method.upper()} {escape(path)}</code></h3><p>{escape(operation['summary'])}</p>"
    parameters = "".join(
        f"<li><code>{escape(one['name'])}</code> ({one['in']}): {escape(one.get('description', ''))}</li>"
        for one in operation.get("parameters", ())
    )
    answers = ", ".join(escape(status) for status in operation["responses"])
    listed = f"<ul>{parameters}</ul>" if parameters else ""
    return f"{head}{described}{listed}<p>Answers: {answers}</p>"
