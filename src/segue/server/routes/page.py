"""Static files of the web page, read from `segue/server/web` once when the server starts.

The address of each file contains a fingerprint of all files, so that a browser may cache it without end.
`index.html` is requested again; it links to the current addresses. So are the service worker and the
manifest, whose addresses must not change.
"""

import asyncio
import gzip
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from segue.server.app_icon import SIZES, app_icon
from segue.server.bundle import bundle
from segue.server.error_responses import Refused

router = APIRouter()

_CACHE_FOREVER = "public, max-age=31536000, immutable"
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_JOINED = ("elements/", "lib/", "styles/")
"""Folders whose files are sent as one."""
_STYLE = re.compile(r' *<link rel="stylesheet" href="web/([^"]+)">\n')
_BLOCK_COMMENT = re.compile(rb"^\s*/\*.*?\*/\n", re.DOTALL | re.MULTILINE)
_LINE_COMMENT = re.compile(rb"^\s*//.*\n", re.MULTILINE)


class Resource:
    """A file, also compressed: once, when the server starts."""

    def __init__(self, media_type: str | None, content: bytes) -> None:
        self._media_type = media_type
        self._content, self._compressed = content, gzip.compress(content, mtime=0)

    def response(self, request: Request, headers: Mapping[str, str]) -> Response:
        headers = {**headers, "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self._content, media_type=self._media_type, headers=headers)
        headers["Content-Encoding"] = "gzip"
        return Response(self._compressed, media_type=self._media_type, headers=headers)


class Page:
    def __init__(self, root: Traversable) -> None:
        sources = dict(sorted(_walk(root, "")))
        index = sources["index.html"].decode()
        scripts = {name: content.decode() for name, content in sources.items() if name.endswith(".js")}
        # Requests cost more than bytes: the styles are one file, and the scripts are two.
        files = {name: content for name, content in sources.items() if not name.startswith(_JOINED)}
        files["styles.css"] = b"".join(sources[name] for name in _STYLE.findall(index))
        files["app.js"] = bundle(scripts, "app.js").encode()
        files["later.js"] = bundle(scripts, "later.js", beside="app.js").encode()
        self.fingerprint = sha256(
            b"".join(name.encode() + content for name, content in files.items())
        ).hexdigest()[:16]
        self.index = Resource("text/html", self._with_addresses(index).encode())
        self.resources = {name: Resource(_type(name), content) for name, content in files.items()}

    def _with_addresses(self, index: str) -> str:
        styles = '    <link rel="stylesheet" href="web/styles.css">\n'
        index = _STYLE.sub("", index).replace("  </head>", f"{styles}  </head>")
        return index.replace('"web/', f'"web/{self.fingerprint}/')


def _walk(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        elif _type(name):
            yield name, _without_comments(name, entry.read_bytes())


def _without_comments(name: str, content: bytes) -> bytes:
    """Comments that have lines of their own are a sixth of what a browser would load."""
    if name.endswith((".js", ".css")):
        content = _BLOCK_COMMENT.sub(b"", content)
    return _LINE_COMMENT.sub(b"", content) if name.endswith(".js") else content


def _type(name: str) -> str | None:
    return next((kind for suffix, kind in _TYPES.items() if name.endswith(suffix)), None)


_page = Page(files("segue") / "server" / "web")


async def index(request: Request) -> Response:
    etag = f'"{_page.fingerprint}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return _page.index.response(request, headers)


async def file(request: Request) -> Response:
    current = request.path_params["fingerprint"] == _page.fingerprint
    resource = _page.resources.get(request.path_params["name"]) if current else None
    if resource is None:
        raise Refused(404, "not_found", "this page has no such file; load it again")
    return resource.response(request, {"Cache-Control": _CACHE_FOREVER})


async def unversioned(request: Request) -> Response:
    """The service worker or the manifest: browsers look for them at the same address again."""
    name = request.url.path.rpartition("/")[2]
    return _page.resources[name].response(request, {"Cache-Control": "no-cache"})


async def icon(request: Request) -> Response:
    size = request.path_params["size"]
    if size not in SIZES:
        raise Refused(404, "not_found", f"there are icons of {', '.join(map(str, SIZES))} pixels")
    content = await asyncio.to_thread(app_icon, size)
    return Response(content, media_type="image/png", headers={"Cache-Control": "public, max-age=86400"})


# Plain Starlette routes: each request is only a look-up.
router.add_route("/", index, ["GET"], include_in_schema=False)
for unversioned_name in ("sw.js", "manifest.webmanifest"):
    router.add_route(f"/{unversioned_name}", unversioned, ["GET"], include_in_schema=False)
router.add_route("/icon-{size:int}.png", icon, ["GET"], include_in_schema=False)
router.add_route("/web/{fingerprint}/{name:path}", file, ["GET"], include_in_schema=False)
