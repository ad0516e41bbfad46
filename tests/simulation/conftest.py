import gc
import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    """Plays end a thousand turns badly, and would write a line about each. The collector's moments would
    be the only thing in a play that no seed decides."""
    logging.disable(logging.CRITICAL)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    logging.disable(logging.NOTSET)
