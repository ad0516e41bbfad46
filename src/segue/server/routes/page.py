"""The page: its files as they lie in `segue/web`, read once when the server starts.

The files stand below an address with their fingerprint in it, which never changes its meaning, so that a
browser asks for each of them once. Only `index.html` is asked for again; it names the newest address.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from posixpath import normpath

from fastapi import APIRouter, Request, Response

from segue.server.error_responses import Refused

router = APIRouter()

_UNCHANGING = "public, max-age=31536000, immutable"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
_STYLE = re.compile(r' *<link rel="stylesheet" href="web/([^"]+)">\n')
_IMPORT = re.compile(r'^(?:import|export) (?:[^"]* from )?"(\.[^"]+)";$', re.MULTILINE)


class Page:
    def __init__(self, root: Traversable) -> None:
        self._files = dict(sorted(_walk(root, "")))
        index = self._files["index.html"].decode()
        # A request costs a browser more than its bytes do, and nothing is painted without all of the styles.
        self._files["styles.css"] = b"".join(self._files[name] for name in _STYLE.findall(index))
        self.fingerprint = sha256(
            b"".join(name.encode() + content for name, content in self._files.items())
        ).hexdigest()[:16]
        self.index = self._addressed(index)
        self.answers = {name: _answer(name, content) for name, content in self._files.items()}

    def _addressed(self, index: str) -> str:
        """What the first screen needs is named up front: a browser that had to find it import by import would
        wait."""
        named = ['<link rel="stylesheet" href="web/styles.css">']
        named += [f'<link rel="modulepreload" href="web/{name}">' for name in self._imported("app.js")]
        links = "".join(f"  {link}\n  " for link in named)
        index = _STYLE.sub("", index).replace("</head>", f"{links}</head>")
        return index.replace('"web/', f'"web/{self.fingerprint}/')

    def _imported(self, name: str) -> list[str]:
        """All that a script cannot begin without."""
        found = [name]
        for script in found:
            imports = _IMPORT.findall(self._files[script].decode())
            named = dict.fromkeys(normpath(f"{script}/../{path}") for path in imports)
            found += [each for each in named if each not in found]
        return found[1:]


def _walk(folder: Traversable, above: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{name}/")
        elif _type(name):
            yield name, entry.read_bytes()


def _type(name: str) -> str | None:
    return next((kind for suffix, kind in _TYPES.items() if name.endswith(suffix)), None)


def _answer(name: str, content: bytes) -> Response:
    return Response(content, media_type=_type(name), headers={"Cache-Control": _UNCHANGING})


_page = Page(files("segue") / "server" / "web")


async def index(request: Request) -> Response:
    etag = f'"{_page.fingerprint}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(_page.index, media_type="text/html", headers=headers)


async def file(request: Request) -> Response:
    current = request.path_params["fingerprint"] == _page.fingerprint
    found = _page.answers.get(request.path_params["name"]) if current else None
    if found is None:
        raise Refused(404, "not_found", "this page has no such file; load it again")
    return found


# Routes of Starlette's own: a page asks for thirty files at once, and none of them needs more than a look-up.
router.add_route("/", index, ["GET"], include_in_schema=False)
router.add_route("/web/{fingerprint}/{name:path}", file, ["GET"], include_in_schema=False)
