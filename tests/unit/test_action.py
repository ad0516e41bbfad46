"""Actions go through JSON and come back the same."""

import pytest

from segue import Ask, Call, Say
from segue.errors import Invalid
from segue.model.action import Action, action_from_json


@pytest.mark.parametrize(
    "action",
    [
        Ask("What is new?"),
        Ask("What is new?", hidden=True),
        Say("Drink water."),
        Call("dream"),
        Call("commit", {"keep": 5, "deep": {"list": [1, None, "x"]}}),
    ],
)
def test_an_action_comes_back_as_it_went(action: Action) -> None:
    assert action_from_json(action.to_json()) == action


@pytest.mark.parametrize("data", [{}, {"kind": "shout"}, {"kind": "ask"}, {"kind": "say", "prompt": "x"}])
def test_what_is_no_action_is_refused(data: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="an action is"):
        action_from_json(data)
