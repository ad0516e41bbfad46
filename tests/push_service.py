"""A double of a push service on loopback, and of the device behind it, which decrypts as a browser does."""

import base64
import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def to_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Device:
    """A browser's subscription: its address at the push service, and its keys."""

    endpoint: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    auth: bytes = b"0123456789abcdef"

    @property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def subscription(self) -> dict[str, Any]:
        """What `PushSubscription.toJSON()` gives."""
        keys = {"p256dh": to_text(self.public), "auth": to_text(self.auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def decrypt(self, body: bytes) -> bytes:
        """RFC 8291, as the receiver of a message."""
        salt, length = body[:16], body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self.private.exchange(ec.ECDH(), key)
        material = _hkdf(self.auth, shared, b"WebPush: info\0" + self.public + sender, 32)
        content_key = _hkdf(salt, material, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(salt, material, b"Content-Encoding: nonce\0", 12)
        return AESGCM(content_key).decrypt(nonce, sealed, None).rstrip(b"\0").removesuffix(b"\x02")


def _hkdf(salt: bytes, material: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(material)


@dataclass
class Pushed:
    path: str
    headers: dict[str, str]
    body: bytes

    def claims(self) -> dict[str, Any]:
        """The claims of its VAPID token, after its signature was checked (RFC 8292)."""
        parts = dict(part.strip().split("=", 1) for part in self.headers["authorization"][6:].split(","))
        signed, _, signature = parts["t"].rpartition(".")
        raw = to_bytes(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), to_bytes(parts["k"]))
        der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        key.verify(der, signed.encode(), ec.ECDSA(SHA256()))
        claims: dict[str, Any] = json.loads(to_bytes(signed.partition(".")[2]))
        return {**claims, "k": parts["k"]}


class PushService:
    """Answers 201, or the next status of a script. `hold` keeps requests unanswered until it is set."""

    def __init__(self) -> None:
        self.pushed: list[Pushed] = []
        self.statuses: deque[int] = deque()
        self.hold = threading.Event()
        self.hold.set()
        self.url = ""
        self._devices = 0

    def device(self) -> Device:
        self._devices += 1
        return Device(f"{self.url}/send/{self._devices}")

    def to(self, device: Device) -> list[dict[str, Any]]:
        """What a device was told, decrypted."""
        mine = [each for each in self.pushed if device.endpoint.endswith(each.path)]
        return [json.loads(device.decrypt(each.body)) for each in mine]

    @contextmanager
    def listening(self) -> Iterator["PushService"]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                service.pushed.append(Pushed(self.path, headers, body))
                service.hold.wait()
                self.send_response(service.statuses.popleft() if service.statuses else 201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *ignored: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.hold.set()
            server.shutdown()
            server.server_close()
            thread.join()
