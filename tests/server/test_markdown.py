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


def test_a_table_is_aligned_by_its_marks_and_numbers_stand_at_the_right() -> None:
    table = html("| a | b | c |\n|---|:-:|---|\n| x | y | 0.9 % |\n| x | y | **10** |")
    assert '<th class="center">b</th>' in table
    assert '<th class="right">c</th>' in table
    assert '<td class="right">0.9 %</td>' in table
    assert "<td>x</td>" in table
    assert "style" not in table


def test_code_of_a_known_language_is_highlighted() -> None:
    code = html("```py\ndef f(): return 'a'  # b < c\n```")
    assert '<pre><code class="language-py"><span class="kw">def</span> <span class="fn">f</span>' in code
    assert '<span class="co"># b &lt; c</span>' in code
    assert html("```unknown\na < b\n```") == '<pre><code class="language-unknown">a &lt; b\n</code></pre>\n'


def test_code_of_unusual_size_is_not_highlighted() -> None:
    assert "<span" not in html(f"```python\n{'x = 1;' * 1000}\n```")
    assert "<span" not in html("```python\n" + "x = 1\n" * 5000 + "```")


def test_tasks_have_boxes_and_notes_are_listed_once() -> None:
    assert '<li class="task done"><span class="box">☑</span> two</li>' in html("- [ ] one\n- [x] two")
    notes = html("a[^1] b[^1] c[^x]\n\n[^1]: the *note*\n[^unused]: hidden")
    assert notes.count("<li>") == 1
    assert '<ol class="notes">\n<li>the <em>note</em></li>' in notes
    assert "c[^x]" in notes
    assert "hidden" not in notes


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"$e^{i\pi} + 1 = 0$", "e^(iπ) + 1 = 0"),
        (r"\(\frac{a+b}{2}\)", "(a+b)/2"),
        (r"$$\sum_{i=1}^n x_i^2 \le \sqrt{x}$$", "∑ᵢ₌₁ⁿ xᵢ² ≤ √x"),
        (r"\[\text{rate} \times 10^{-3}\]", "rate × 10⁻³"),
    ],
)
def test_a_formula_reads_as_text(tex: str, shown: str) -> None:
    assert html(tex) == f'<p><span class="math">{shown}</span></p>\n'


def test_a_sum_of_money_is_no_formula() -> None:
    assert html("It costs $5 and not $6.") == "<p>It costs $5 and not $6.</p>\n"


def test_of_an_image_its_text_is_shown() -> None:
    assert html("![the *plan*](https://example.org/a.png)") == '<p><span class="image">the plan</span></p>\n'
