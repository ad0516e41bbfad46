"""Health check of a container: exits with 0 if the server in it accepts work."""

import os
import sys
from urllib.error import URLError
from urllib.request import urlopen

PORT = os.environ.get("SEGUE_PORT", "8420")

try:
    with urlopen(f"http://127.0.0.1:{PORT}/health?ready=true", timeout=5):
        sys.exit(0)
except (URLError, TimeoutError) as error:
    sys.exit(f"Segue is not ready: {error}")
