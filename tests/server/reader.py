"""Reads each of the given addresses at once, in a process of its own, and exits with 0 if all answer 200.

python -m tests.server.reader URL...
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
