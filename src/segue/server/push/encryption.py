"""Encryption of push messages for one device (RFC 8291, content encoding aes128gcm of RFC 8188)."""

import base64
import hashlib
import hmac
import os

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_RECORD_BYTES = 4096
_LAST_RECORD = b"\x02"
_SECRET_BYTES = 16
PADDED_BYTES = 512
"""Every message has this length, so that the push service learns nothing from it."""


class BadKeys(ValueError):
    """The keys of a device are not those of a push subscription."""


def encrypt(
    content: bytes,
    p256dh: str,
    auth: str,
    *,
    sender: ec.EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
    padded: int = PADDED_BYTES,
) -> bytes:
    """Return the body of a push request. Raises `BadKeys`. `sender` and `salt` are random except in tests."""
    device, secret = device_key(p256dh), auth_secret(auth)
    sender = sender or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(16)
    own, theirs = point(sender.public_key()), point(device)
    shared = _derive(secret, sender.exchange(ec.ECDH(), device), b"WebPush: info\0" + theirs + own, 32)
    key = _derive(salt, shared, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(salt, shared, b"Content-Encoding: nonce\0", 12)
    plain = (content + _LAST_RECORD).ljust(padded, b"\0")
    header = salt + _RECORD_BYTES.to_bytes(4) + bytes([len(own)]) + own
    return header + AESGCM(key).encrypt(nonce, plain, None)


def device_key(p256dh: str) -> ec.EllipticCurvePublicKey:
    """The public key of a device. Raises `BadKeys`."""
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(p256dh))
    except (ValueError, InvalidKey):
        raise BadKeys("keys.p256dh: it is a point of the curve P-256, 65 bytes in base64url") from None


def auth_secret(auth: str) -> bytes:
    """The secret that a device shares. Raises `BadKeys`."""
    try:
        secret = decoded(auth)
    except ValueError:
        secret = b""
    if len(secret) != _SECRET_BYTES:
        raise BadKeys(f"keys.auth: it is {_SECRET_BYTES} bytes in base64url")
    return secret


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    bare = text.rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)


def _derive(salt: bytes, material: bytes, info: bytes, length: int) -> bytes:
    """HKDF with SHA-256, for one block."""
    extracted = hmac.digest(salt, material, hashlib.sha256)
    return hmac.digest(extracted, info + b"\x01", hashlib.sha256)[:length]
