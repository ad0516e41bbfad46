"""Reads all given URLs at once, and exits with 0 if all answer 200. For use in its own process.

python -m tests.server.read_urls URL...
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen


def read(url: str) -> int:
    with urlopen(url, timeout=300) as answer:
        answer.read()
        status: int = answer.status
        return status


if __name__ == "__main__":
    urls = sys.argv[1:]
    with ThreadPoolExecutor(len(urls)) as pool:
        sys.exit(any(status != 200 for status in pool.map(read, urls)))
