"""`fetch_url`: it fetches public pages, and reaches nothing on this machine or its network."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio

from segue.agents.tools.fetch import LARGEST_BODY, MOST_REDIRECTS, fetch_tool
from segue.agents.tools.html_text import html_to_text
from segue.agents.tools.registry import ToolContext
from tests.tools.site import Names, Net, Site, page, redirect
from tests.tools.using import refused, result

PUBLIC = "93.184.216.34"

PAGES = {
    "/": page("<title>A &amp; B</title><script>evil()</script><h1>Hello</h1><p>One <b>two</b><p>three"),
    "/json": page('{"a": 1}', "application/json"),
    "/latin": page("Grüße".encode("latin-1"), "text/plain; charset=latin-1"),
    "/odd": page("words", "text/plain; charset=klingon"),
    "/image": page(b"\x89PNG", "image/png"),
    "/packed": page(b"\x1f\x8b", "text/html", "content-encoding: gzip"),
    "/large": page(b"x" * (LARGEST_BODY + 1), "text/plain"),
    "/missing": b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    "/to-page": redirect("/json"),
    "/to-other": redirect("https://other.test/json"),
    "/to-loopback": redirect("http://127.0.0.1:5432/"),
    "/to-metadata": redirect("http://169.254.169.254/latest/meta-data/"),
    "/to-name": redirect("http://inside.test/"),
    "/to-file": redirect("file:///etc/passwd"),
    "/round": redirect("/round"),
}


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    served = Site(PAGES)
    async with served.listening():
        yield served


def names() -> Names:
    return Names(
        site_test=[[PUBLIC]],
        other_test=[["2606:4700::1111"]],
        inside_test=[["10.0.0.5"]],
        localhost=[["127.0.0.1"]],
        both_test=[[PUBLIC, "192.168.1.1"]],
        turning_test=[[PUBLIC], ["127.0.0.1"]],
    )


async def test_a_page_is_fetched_as_plain_text(context: ToolContext, site: Site) -> None:
    net = Net(site)
    tool = fetch_tool(resolve=names(), transport=net)
    text = await result(context, [tool], "fetch_url", url="https://site.test/")
    assert text == "A & B\n\nHello\nOne two\nthree"
    assert net.dialled == [(PUBLIC, "site.test", "site.test")]


@pytest.mark.parametrize(
    ("path", "text"),
    [("/json", '{"a": 1}'), ("/latin", "Grüße"), ("/odd", "words"), ("/to-page", '{"a": 1}')],
)
async def test_plain_text_is_returned_unchanged(
    context: ToolContext, site: Site, path: str, text: str
) -> None:
    tool = fetch_tool(resolve=names(), transport=Net(site))
    assert await result(context, [tool], "fetch_url", url=f"http://site.test{path}") == text


async def test_a_redirect_is_resolved_and_checked_again(context: ToolContext, site: Site) -> None:
    net = Net(site)
    tool = fetch_tool(resolve=names(), transport=net)
    await result(context, [tool], "fetch_url", url="http://site.test:8080/to-other")
    assert net.dialled == [
        (PUBLIC, "site.test:8080", "site.test"),
        ("2606:4700::1111", "other.test", "other.test"),
    ]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/to-loopback", "not a public address"),
        ("/to-metadata", "not a public address"),
        ("/to-name", "not a public address"),
        ("/to-file", "only http and https are fetched"),
        ("/round", f"redirects more than {MOST_REDIRECTS} times"),
        ("/image", "is image/png, which is not text"),
        ("/packed", "was sent compressed"),
        ("/large", "is larger than 2,000,000 bytes"),
        ("/missing", "answered 404 Not Found"),
    ],
)
async def test_a_refusal_says_why(context: ToolContext, site: Site, path: str, words: str) -> None:
    tool = fetch_tool(resolve=names(), transport=Net(site))
    assert words in await refused(context, [tool], "fetch_url", url=f"http://site.test{path}")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.8.8.8/",
        "http://localhost/",
        "http://0.0.0.0/",
        "http://0/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://0300.0250.1.1/",
        "http://127.0.0.1./",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://100.64.0.1/",
        "http://169.254.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://168.63.129.16/",
        "http://100.100.100.200/",
        "http://198.18.0.1/",
        "http://224.0.0.1/",
        "http://240.0.0.1/",
        "http://255.255.255.255/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[::7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:7f00:1::]/",
        "http://[fe80::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fec0::1]/",
        "http://[fc00::1]/",
        "http://[fd00:ec2::254]/",
        "http://[ff02::1]/",
        "http://inside.test/",
        "http://both.test/",
        "http://unknown.test/",
        "http://user:password@site.test/",
        "http://site.test@127.0.0.1/",
        "http://site.test\\@127.0.0.1/",
        "http://127.0.0.1#@site.test/",
        "http://[::1/",
        "http://site.test:99999/",
        "http:///etc/passwd",
        "http://",
        "//site.test/",
        "site.test",
        "file:///etc/passwd",
        "ftp://site.test/",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "data:text/plain,hello",
        "javascript:alert(1)",
        "http://site.test/\r\nX: y",
        "http://site.test/a b",
        "http://site.test/" + "x" * 3000,
        "",
    ],
)
async def test_no_private_or_malformed_address_is_reached(context: ToolContext, site: Site, url: str) -> None:
    net = Net(site)
    tool = fetch_tool(resolve=names(), transport=net)
    assert await refused(context, [tool], "fetch_url", url=url)
    assert net.dialled == []
    assert site.asked == []


async def test_a_name_whose_address_changes_is_resolved_once(context: ToolContext, site: Site) -> None:
    """The second answer is this machine; the connection goes to the first, which was checked."""
    net, resolver = Net(site), names()
    tool = fetch_tool(resolve=resolver, transport=net)
    await result(context, [tool], "fetch_url", url="http://turning.test/json")
    assert resolver.asked == ["turning.test"]
    assert [address for address, *_ in net.dialled] == [PUBLIC]
    assert "not a public address" in await refused(
        context, [tool], "fetch_url", url="http://turning.test/json"
    )


async def test_private_addresses_are_reached_where_the_settings_allow_it(
    context: ToolContext, site: Site
) -> None:
    tool = fetch_tool(private=True)
    url = f"http://127.0.0.1:{site.port}"
    assert await result(context, [tool], "fetch_url", url=f"{url}/json") == '{"a": 1}'
    assert f"Host: 127.0.0.1:{site.port}" in site.asked[0]


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://100.100.100.200/"]
)
async def test_a_clouds_metadata_is_never_fetched(context: ToolContext, url: str) -> None:
    assert "not a public address" in await refused(context, [fetch_tool(private=True)], "fetch_url", url=url)


async def test_a_redirect_to_metadata_is_refused_even_from_inside(context: ToolContext, site: Site) -> None:
    url = f"http://127.0.0.1:{site.port}/to-metadata"
    assert "not a public address" in await refused(context, [fetch_tool(private=True)], "fetch_url", url=url)


async def test_a_host_that_does_not_listen_is_an_error(context: ToolContext, site: Site) -> None:
    closed = f"http://127.0.0.2:{site.port}/"
    assert "could not be fetched" in await refused(
        context, [fetch_tool(private=True)], "fetch_url", url=closed
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><p>b</p>", "a\nb"),
        ("a<br>b <i>c</i>", "a\nb c"),
        ("1 < 2 & 3 &gt; 2", "1 < 2 & 3 > 2"),
        ("<style>p{}</style><SCRIPT>x</ScRiPt >y", "y"),
        ("a<!-- b -->c", "ac"),
        ("a<!-- never closed", "a"),
        ("a<script>never closed", "a"),
        ("İ<script>x</script>y", "İ y"),
        ("<!doctype html><html><body>x", "x"),
        ("<a href='x'>link", "link"),
        ("<", "<"),
        ("", ""),
    ],
)
def test_markup_is_removed(html: str, text: str) -> None:
    assert html_to_text(html) == text


@contextmanager
def cpu_seconds(most: float) -> Iterator[None]:
    """Fail if the body computes for longer. What other programs do at the time does not count."""

    def fail(*_: object) -> None:
        raise AssertionError(f"it computed for more than {most} s")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("bit", ["<", "<a", "<!--", "<script>", "</", "<a <b", "&", "<![", "<?", "<title"])
def test_a_crafted_page_costs_no_more_than_its_length(bit: str) -> None:
    """A parser that searches again from every opening would compute for minutes."""
    crafted = bit * (500_000 // len(bit))
    with cpu_seconds(10):
        text = html_to_text(crafted)
    assert text == (crafted if bit in ("<", "</", "&") else ""), "what opens no tag is text"
