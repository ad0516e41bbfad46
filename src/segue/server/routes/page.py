"""The page: its files as they lie in `segue/web`, read once when the server starts.

The files stand below an address with their fingerprint in it, which never changes its meaning, so that a
browser asks for each of them once. Only `index.html` is asked for again; it names the newest address.
"""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from segue.server.errors import Refused

router = APIRouter()

_UNCHANGING = "public, max-age=31536000, immutable"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    media_type: str


class Page:
    def __init__(self, root: Traversable) -> None:
        self._files = dict(sorted(_walk(root, "")))
        self.fingerprint = sha256(
            b"".join(name.encode() + file.content for name, file in self._files.items())
        ).hexdigest()[:16]
        self.index = self._addressed(self._files["index.html"].content.decode())

    def file(self, name: str) -> File | None:
        return self._files.get(name)

    def _addressed(self, index: str) -> str:
        """Every script is named up front: a browser that had to find them import by import would wait."""
        modules = "\n    ".join(
            f'<link rel="modulepreload" href="web/{name}">' for name in self._files if name.endswith(".js")
        )
        index = index.replace("</head>", f"  {modules}\n  </head>")
        return index.replace('"web/', f'"web/{self.fingerprint}/')


def _walk(folder: Traversable, above: str) -> list[tuple[str, File]]:
    found: list[tuple[str, File]] = []
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir():
            found += _walk(entry, f"{name}/")
        elif suffix := next((suffix for suffix in _TYPES if entry.name.endswith(suffix)), None):
            found.append((name, File(entry.read_bytes(), _TYPES[suffix])))
    return found


_page = Page(files("segue") / "web")


async def index(request: Request) -> Response:
    etag = f'"{_page.fingerprint}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(_page.index, media_type="text/html", headers=headers)


async def file(request: Request) -> Response:
    current = request.path_params["fingerprint"] == _page.fingerprint
    found = _page.file(request.path_params["name"]) if current else None
    if found is None:
        raise Refused(404, "not_found", "this page has no such file; load it again")
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": _UNCHANGING})


# Routes of Starlette's own: a page asks for fifty files at once, and none of them needs more than a look-up.
router.add_route("/", index, ["GET"], include_in_schema=False)
router.add_route("/web/{fingerprint}/{name:path}", file, ["GET"], include_in_schema=False)
