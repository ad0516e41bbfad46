"""What the wires read of a message: its text, and files in the shapes of each protocol."""

import base64
from typing import Any

import pytest

from segue.server.error_responses import Refused
from segue.server.wires.content import GivenContent, GivenFile, content_of, text_only

DATA = b"\x89PNG\r\n"
CODED = base64.b64encode(DATA).decode()
URL = f"data:image/png;base64,{CODED}"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"type": "image_url", "image_url": {"url": URL, "detail": "low"}}, ""),
        ({"type": "image_url", "image_url": URL}, ""),
        ({"type": "file", "file": {"file_data": URL, "filename": "a.png"}}, "a.png"),
        ({"type": "file", "file": {"file_data": CODED, "filename": "a.png"}}, "a.png"),
        ({"type": "input_image", "image_url": URL}, ""),
        ({"type": "input_file", "file_data": URL, "filename": "a.png"}, "a.png"),
        ({"type": "file", "mediaType": "image/png", "url": URL, "filename": "a.png"}, "a.png"),
        ({"type": "image", "source": {"type": "data", "value": CODED, "mimeType": "image/png"}}, ""),
        ({"type": "document", "source": {"type": "data", "value": URL}}, ""),
        ({"type": "binary", "mimeType": "image/png", "data": CODED, "filename": "a.png"}, "a.png"),
        ({"type": "binary", "mimeType": "image/png", "url": URL}, ""),
    ],
)
def test_a_file_is_read_in_the_shape_of_each_protocol(part: dict[str, Any], name: str) -> None:
    content = content_of([{"type": "text", "text": "Look"}, part])
    assert content == GivenContent("Look", (GivenFile(DATA, name),))


def test_a_data_url_without_base64_is_percent_encoded() -> None:
    (file,) = content_of([{"type": "input_image", "image_url": "data:text/plain,a%20b"}]).files
    assert file.data == b"a b"


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}, "unsupported_content"),
        ({"type": "input_image", "image_url": "http://127.0.0.1/a.png"}, "unsupported_content"),
        ({"type": "image", "source": {"type": "url", "value": "file:///etc/passwd"}}, "unsupported_content"),
        ({"type": "file", "url": "a.png"}, "unsupported_content"),
        ({"type": "input_image", "file_id": "file-1"}, "unsupported_content"),
        ({"type": "input_audio", "input_audio": {"data": CODED, "format": "wav"}}, "unsupported_content"),
        ({"type": "text", "text": 7}, "unsupported_content"),
        ("a string", "unsupported_content"),
        ({"type": "input_image", "image_url": "data:image/png;base64"}, "bad_file"),
        ({"type": "input_image", "image_url": "data:image/png;base64,%%%"}, "bad_file"),
        ({"type": "file", "file": {"file_data": "not base64!"}}, "bad_file"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(part: object, code: str) -> None:
    with pytest.raises(Refused) as refused:
        content_of([part])
    assert refused.value.code == code


def test_too_many_files_are_refused_before_one_is_stored() -> None:
    with pytest.raises(Refused, match="at most 20 files, got 21"):
        content_of([{"type": "input_image", "image_url": URL}] * 21)


def test_a_scheduled_message_has_no_files() -> None:
    assert text_only(content_of("Look")) == "Look"
    with pytest.raises(Refused, match="has no files"):
        text_only(content_of([{"type": "input_image", "image_url": URL}]))
