"""Web Push: encryption for a device (RFC 8291), the server's token (RFC 8292), and what an answer means."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from segue.server.push.encryption import BadKeys, decoded, encoded, encrypt
from segue.server.push.send import PushResult, outcome_of
from segue.server.push.vapid import VapidKey
from tests.push_service import Device, Pushed, to_bytes


def test_the_example_of_the_standard_is_encrypted_as_it_says() -> None:
    """RFC 8291, appendix A."""
    sender = ec.derive_private_key(
        int.from_bytes(to_bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")), ec.SECP256R1()
    )
    body = encrypt(
        b"When I grow up, I want to be a watermelon",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
        sender=sender,
        salt=to_bytes("DGv6ra1nlYgDCS1FRnbzlw"),
        padded=0,
    )
    assert encoded(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_a_device_reads_what_was_encrypted_for_it_and_every_message_has_one_length() -> None:
    device = Device("https://push.example.org/1")
    keys = device.subscription["keys"]
    bodies = [encrypt(text, keys["p256dh"], keys["auth"]) for text in (b"{}", b'{"session":"web:1"}')]
    assert [device.decrypt(body) for body in bodies] == [b"{}", b'{"session":"web:1"}']
    assert len({len(body) for body in bodies}) == 1
    assert bodies[0] != encrypt(b"{}", keys["p256dh"], keys["auth"])


@pytest.mark.parametrize(
    ("p256dh", "auth"),
    [
        ("B" * 87, "AAAAAAAAAAAAAAAAAAAAAA"),
        ("BBBB", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("é", "x"),
        (None, "AAAA"),
        (None, "é"),
    ],
)
def test_keys_that_no_browser_makes_are_refused(p256dh: str | None, auth: str) -> None:
    with pytest.raises(BadKeys, match=r"keys\.(p256dh|auth): it is"):
        encrypt(b"", p256dh or Device("x").subscription["keys"]["p256dh"], auth)


@pytest.mark.parametrize(
    ("site", "contact"),
    [("https://segue.example.org", "https://segue.example.org"), ("http://localhost", None)],
)
def test_the_token_names_the_push_service_and_can_be_checked(site: str, contact: str | None) -> None:
    key = VapidKey(ec.generate_private_key(ec.SECP256R1()))
    header = key.authorization("https://push.example.org:8443/send/1?x", site, 1_000_000)
    claims = Pushed("", {"authorization": header}, b"").claims()
    assert claims["aud"] == "https://push.example.org:8443"
    assert claims["exp"] == 1000 + 12 * 3600
    assert claims.get("sub") == contact
    assert claims["k"] == key.public
    assert len(decoded(key.public)) == 65


@pytest.mark.parametrize(
    ("status", "retry_after", "result", "pause"),
    [
        (201, None, PushResult.SENT, None),
        (404, None, PushResult.GONE, None),
        (410, None, PushResult.GONE, None),
        (400, None, PushResult.REFUSED, None),
        (403, None, PushResult.REFUSED, None),
        (302, None, PushResult.REFUSED, None),
        (429, "30", PushResult.FAILED, 30),
        (503, "Thu, 01 Jan 1970 00:02:00 GMT", PushResult.FAILED, 60),
        (503, "99999999", PushResult.FAILED, 3600),
        (500, "soon", PushResult.FAILED, None),
    ],
)
def test_an_answer_of_the_push_service_says_what_to_do(
    status: int, retry_after: str | None, result: PushResult, pause: float | None
) -> None:
    outcome = outcome_of(status, retry_after, 60_000)
    assert (outcome.result, outcome.retry_after) == (result, pause)
