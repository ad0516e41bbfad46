"""SQL files: each query of a file has a name of its own."""

import pytest

from segue.store.queries import _sections


def test_two_queries_of_one_name_are_refused() -> None:
    """Otherwise the second would take the place of the first in silence."""
    with pytest.raises(ValueError, match="two sections of one file have the name find"):
        _sections("-- name: find\nSELECT 1;\n\n-- name: find\nSELECT 2;\n")
