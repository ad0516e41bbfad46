"""Segue is installable beside the newest release of each agent framework."""

import pytest

from tests.packaging import compatibility
from tests.packaging.compatibility import FRAMEWORKS, PAGE, Framework, IndexUnreachable, Resolved
from tests.unavailable import cannot_run


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_the_newest_release_is_chosen_beside_segue(framework: Framework) -> None:
    try:
        resolved = compatibility.resolve(framework)
    except IndexUnreachable as error:
        cannot_run(f"the package index cannot be reached: {str(error)[:200]}")
    assert resolved.chosen == resolved.newest


def test_an_older_release_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The floors of 0.1 made the resolver choose openai-agents 0.0.7."""

    def downgraded(framework: Framework) -> Resolved:
        return Resolved(framework, newest="0.24.0", chosen="0.0.7")

    page = PAGE.read_text()
    monkeypatch.setattr(compatibility, "resolve", downgraded)
    try:
        assert compatibility.main() == 1
    finally:
        PAGE.write_text(page)
    assert "choose openai-agents 0.0.7; the newest is 0.24.0" in capsys.readouterr().err


def test_the_page_lists_every_framework() -> None:
    versions = PAGE.read_text().partition(compatibility.START)[2]
    assert [f"| {framework.name} " in versions for framework in FRAMEWORKS] == [True] * len(FRAMEWORKS)
