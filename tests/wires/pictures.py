"""A picture, and the data URL that clients send it as."""

import base64

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(13)
CODED = base64.b64encode(PNG).decode()
DATA_URL = f"data:image/png;base64,{CODED}"
ADDRESS = "https://example.org/photo.png"
