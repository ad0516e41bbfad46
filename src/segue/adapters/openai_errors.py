"""Errors of OpenAI's client: the failure of a turn, with the sentence that a user sees."""

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

from segue.errors import AgentFailed
from segue.model.redaction import redact

_SENTENCES = {
    401: "The model's provider refused the key. Check it in the settings.",
    403: "The model's provider refused the key. Check it in the settings.",
    404: "The provider does not know this model. Check its name in the settings.",
    429: "The model's provider takes no more requests for now. Try again in a while.",
}
_FAULT = "The model's provider has a fault. Try again in a while."


def to_agent_failed(error: APIError) -> AgentFailed:
    """The error to raise. What the provider said is in the record of the turn, without keys."""
    text = str(error)
    match error:
        case APIStatusError(status_code=status):
            text = f"HTTP {status} from the provider: {error.message}"
            refused = "The model's provider refused the request." if status < 500 else _FAULT
            shown = _SENTENCES.get(status, refused)
        case APITimeoutError():
            shown = "The model did not answer in time. Try again in a while."
        case APIConnectionError():
            shown = "The model could not be reached. Try again in a while."
        case _:
            shown = _FAULT
    return AgentFailed(redact(text), shown=shown)
