import gc
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """Scenarios end a thousand turns badly and would log each one. Garbage collection would be the only thing
    that the seed does not decide."""
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    logging.disable(logging.NOTSET)
