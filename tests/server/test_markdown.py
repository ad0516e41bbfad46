"""Rendered messages are safe: a message must not run code in a reader's browser."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from segue.server.markdown import Renderer, plain

PROBES = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "<javascript:alert(1)>",
    "![a](http://tracker.example/x.png)",
    "<a href='vbscript:x'>a</a>",
    "`</code><script>`",
    "```html\n</code></pre><script>x</script>\n```",
    '```"onclick=x\ncode\n```',
    "[a](http://x.example \"' onmouseover='x\")",
    "<svg/onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<iframe src=//evil.example>",
    "| a |\n|---|\n| <form action=x> |",
]


html = Renderer().html


class Parts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}


@pytest.mark.parametrize("shown", [html, plain], ids=["rendered", "plain"])
@pytest.mark.parametrize("probe", PROBES)
def test_harmful_markup_is_removed(probe: str, shown: Callable[[str], str]) -> None:
    parts = Parts()
    parts.feed(shown(probe))
    assert not parts.tags & {"script", "img", "svg", "style", "iframe", "form", "object", "embed"}
    assert {name for name, _ in parts.attributes} <= {"href", "title", "rel", "class", "start"}
    for name, value in parts.attributes:
        assert name != "href" or value.startswith(("http://", "https://", "mailto:"))


def test_common_markdown_is_rendered() -> None:
    assert html("**so** www.example.org") == (
        '<p><strong>so</strong> <a href="http://www.example.org" '
        'rel="noopener noreferrer nofollow">www.example.org</a></p>\n'
    )
    assert "<table>" in html("| a |\n|---|\n| b |")
    assert html("one\ntwo") == "<p>one<br>\ntwo</p>\n"
