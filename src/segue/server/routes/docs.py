"""`/docs`: the API reference as an HTML page without scripts, generated from the OpenAPI schema."""

from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from segue.server.markdown_pool import html_of

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    schema = request.app.openapi()
    operations = [
        (method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    intro = schema["info"]["description"]
    html = await html_of([intro, *(_description(operation) for *_, operation in operations)])
    sections: dict[str, list[str]] = {}
    for method, path, operation in operations:
        section = operation.get("tags", ["Other"])[0]
        html_part = _operation(method, path, operation, html[_description(operation)])
        sections.setdefault(section, []).append(html_part)
    body = "".join(f"<h2>{escape(name)}</h2>{''.join(parts)}" for name, parts in sections.items())
    title = escape(schema["info"]["title"])
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f'<body><h1>{title}</h1>{html[intro]}<p><a href="openapi.json">openapi.json</a></p>'
        f"{body}</body></html>"
    )


def _description(operation: dict[str, Any]) -> str:
    description: str = operation.get("description", "")
    return description


def _operation(method: str, path: str, operation: dict[str, Any], description: str) -> str:
    head = f"<h3><code>{method.upper()} {escape(path)}</code></h3><p>{escape(operation['summary'])}</p>"
    parameters = "".join(
        f"<li><code>{escape(one['name'])}</code> ({one['in']}): {escape(one.get('description', ''))}</li>"
        for one in operation.get("parameters", ())
    )
    statuses = ", ".join(escape(status) for status in operation["responses"])
    listed = f"<ul>{parameters}</ul>" if parameters else ""
    return f"{head}{description}{listed}<p>Responses: {statuses}</p>"
