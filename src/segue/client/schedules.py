"""Bodies of automations: triggers, actions and policies as the HTTP API takes them."""

from typing import Any

from segue.errors import BadTrigger, Invalid
from segue.model.action import Action, Ask
from segue.model.policy import Policy
from segue.times.trigger import At, Every, Idle, Phase, Trigger


def automation(
    trigger: Trigger | None, action: Action | None, name: str | None, policy: Policy | None
) -> dict[str, Any]:
    """The fields of an automation that are given."""
    body = {"name": name, "policy": None if policy is None else policy.to_json()}
    if trigger is not None:
        body |= _schedule(trigger)
    if action is not None:
        body |= _question(action)
    return {field: value for field, value in body.items() if value is not None}


def _schedule(trigger: Trigger) -> dict[str, Any]:
    match trigger:
        case At():
            shape = trigger.to_json()
            return {"schedule": {"kind": "at", "at": shape["at"]}, "timezone": trigger.tz}
        case Every(start=None, phase=Phase.FIXED):
            return {"schedule": {"kind": "every", "every_seconds": trigger.to_json()["every_seconds"]}}
        case Every():
            raise BadTrigger(
                "the HTTP API takes an Every without `start` and `phase`; use a Cron or an RRule"
            )
        case Idle():
            raise BadTrigger("the HTTP API takes no Idle trigger; schedule it with a kernel")
        case _:
            return {
                "schedule": {name: value for name, value in trigger.to_json().items() if value is not None}
            }


def _question(action: Action) -> dict[str, Any]:
    if not isinstance(action, Ask):
        raise Invalid(
            f"the HTTP API schedules questions to the agent (Ask), got {type(action).__name__}; use "
            "`client.scheduled_messages.add` for a text that is sent as it is"
        )
    if action.hidden or action.to is not None or action.channel_meta is not None:
        raise Invalid("the HTTP API takes no `hidden`, `to` and `channel_meta`; schedule it with a kernel")
    return {
        "message": action.prompt,
        "mode": str(action.mode),
        "view": str(action.view),
        "model": action.model,
        "look": action.look,
    }
