"""What can go wrong with a model: which failures pass by themselves, and what people are told of them."""

from collections.abc import Mapping

from pydantic_ai import exceptions as wrong
from pydantic_ai.messages import ModelResponse

from segue.errors import AgentFailed
from segue.model.redaction import redact

_TRANSIENT = (
    wrong.ModelRateLimitError,
    wrong.ModelUnavailableError,
    wrong.ModelServerError,
    wrong.ModelConnectionError,
    wrong.ModelRequestTimeout,
)
_SHOWN: tuple[tuple[type[Exception], str], ...] = (
    (wrong.ModelAuthenticationError, "The model's provider refused the key. Check it in the settings."),
    (wrong.ModelQuotaExceededError, "The account at the model's provider is used up."),
    (wrong.ModelRateLimitError, "The model's provider takes no more requests for now. Try again in a while."),
    (wrong.ModelNotFoundError, "The provider does not know this model. Check its name in the settings."),
    (wrong.ModelContextWindowExceededError, "This conversation has become too long for the model."),
    (wrong.ModelRequestRejectedError, "The model's provider refused the request."),
    (wrong.ModelRequestTimeout, "The model did not answer in time. Try again in a while."),
    (wrong.ModelTimeoutError, "The model did not answer in time. Try again in a while."),
    (wrong.ModelConnectionError, "The model could not be reached. Try again in a while."),
    (wrong.ModelUnavailableError, "The model's provider is overloaded. Try again in a while."),
    (wrong.ModelServerError, "The model's provider has a fault. Try again in a while."),
    (wrong.ContentFilterError, "The model's provider would not answer this."),
)
_GIVE_NO_REASON = frozenset({"snowflake", "xai"})
"""Providers whose reason for an end never comes, or is not handed on word for word."""
_BROKEN_OFF = "The connection to the model broke off in the middle of its answer."


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    # The plain one is an answer that cannot be read, such as a stream without an event. Its subclasses,
    # a filter of the provider's among them, say what the provider decided.
    return isinstance(error, _TRANSIENT) or type(error) is wrong.UnexpectedModelBehavior


def check_whole(response: ModelResponse) -> None:
    """Refuse an answer whose stream ended before the provider said why it ended: it was cut.

    The model library takes such an end for a "stop". That the provider said so is in its own words only.
    """
    if response.provider_url is None or response.provider_name in _GIVE_NO_REASON:
        return  # the first is of a model that was made for tests
    said = (response.provider_details or {}).get("finish_reason")
    if said is None and response.finish_reason in (None, "stop"):
        raise wrong.ModelConnectionError(
            response.model_name or "the model",
            "the stream of the answer ended without a reason for its end: it was cut",
            phase="read",
        )


def failure(error: Exception, *, midway: bool, environment: Mapping[str, str] | None = None) -> AgentFailed:
    """For the record, the whole error; for the conversation, a sentence. `midway`: something was said."""
    shown = next((sentence for kind, sentence in _SHOWN if isinstance(error, kind)), None)
    if midway and isinstance(error, wrong.ModelConnectionError | wrong.ModelRequestTimeout):
        shown = _BROKEN_OFF
    detail = f"{type(error).__name__}: {error}"
    if error.__cause__ is not None:
        detail += f" (caused by {type(error.__cause__).__name__}: {error.__cause__})"
    return AgentFailed(
        redact(detail, environment),
        shown=shown or "The model failed. The run record says how.",
    )
