"""VAPID: the key by which push services know this server (RFC 8292), in a file of the data folder.

Only its owner may read the file. Deleting it makes a new key: devices that subscribed with the old one are
told nothing until their page is opened again. Servers that share users share the file.
"""

import json
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from segue.errors import BadSetting
from segue.server.push.encryption import encoded, point
from segue.store.sqlite.permissions import FILE_MODE, make_folder

FILE = "push_key.pem"
_VALID_SECONDS = 12 * 3600


class VapidKey:
    def __init__(self, private: ec.EllipticCurvePrivateKey) -> None:
        self._private = private
        self.public = encoded(point(private.public_key()))

    def authorization(self, endpoint: str, site: str, now_ms: int) -> str:
        """The header that identifies this server to the push service of an endpoint."""
        parts = urlsplit(endpoint)
        claims: dict[str, str | int] = {
            "aud": f"{parts.scheme}://{parts.netloc}",
            "exp": now_ms // 1000 + _VALID_SECONDS,
        }
        if site.startswith("https://"):
            claims["sub"] = site
        signed = ".".join(_json_part(part) for part in ({"typ": "JWT", "alg": "ES256"}, claims))
        r, s = decode_dss_signature(self._private.sign(signed.encode(), ec.ECDSA(SHA256())))
        signature = encoded(r.to_bytes(32) + s.to_bytes(32))
        return f"vapid t={signed}.{signature}, k={self.public}"


class VapidKeyFile:
    def __init__(self, data: Path) -> None:
        self._path = data / FILE

    def read(self) -> VapidKey | None:
        """Return the key; None if there is none yet. Raises `BadSetting` if the file holds no key."""
        try:
            private = load_pem_private_key(self._path.read_bytes(), None)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise self._unreadable(error) from None
        if not isinstance(private, ec.EllipticCurvePrivateKey) or private.curve.name != "secp256r1":
            raise self._unreadable(ValueError("it is a key of another kind"))
        return VapidKey(private)

    def read_or_make(self) -> VapidKey:
        """Return the key, which is made if there is none. Raises `BadSetting`, `OSError`."""
        found = self.read()
        if found is not None:
            return found
        self._write(ec.generate_private_key(ec.SECP256R1()))
        made = self.read()
        assert made is not None  # written now, here or by another process
        return made

    def _write(self, private: ec.EllipticCurvePrivateKey) -> None:
        """Write the file in one step; if another process was faster, its key stays."""
        make_folder(self._path.parent)
        content = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        new = self._path.with_name(f"{FILE}.{secrets.token_hex(8)}")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(new, self._path)
        except FileExistsError:
            return
        finally:
            new.unlink(missing_ok=True)

    def _unreadable(self, error: Exception) -> BadSetting:
        why = error.strerror if isinstance(error, OSError) else "it holds no key of the curve P-256"
        return BadSetting(f"the push key in {self._path} cannot be read: {why}; delete it to make a new one")


def _json_part(part: object) -> str:
    return encoded(json.dumps(part, separators=(",", ":")).encode())
