"""What can go wrong with a model: which failures pass by themselves, and what people are told of them."""

from collections.abc import Mapping

from pydantic_ai import exceptions as wrong

from segue.errors import AgentFailed
from segue.secrets import without_secrets

TRANSIENT = (
    wrong.ModelRateLimitError,
    wrong.ModelUnavailableError,
    wrong.ModelServerError,
    wrong.ModelConnectionError,
    wrong.ModelRequestTimeout,
)
"""The same request may succeed a moment later."""

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
_BROKEN_OFF = "The connection to the model broke off in the middle of its answer."


def failure(error: Exception, *, midway: bool, environment: Mapping[str, str] | None = None) -> AgentFailed:
    """For the record, the whole error; for the conversation, a sentence. `midway`: something was said."""
    shown = next((sentence for kind, sentence in _SHOWN if isinstance(error, kind)), None)
    if midway and isinstance(error, wrong.ModelConnectionError | wrong.ModelRequestTimeout):
        shown = _BROKEN_OFF
    detail = f"{type(error).__name__}: {error}"
    if error.__cause__ is not None:
        detail += f" (caused by {type(error.__cause__).__name__}: {error.__cause__})"
    return AgentFailed(
        without_secrets(detail, environment),
        shown=shown or "The model failed. The run record says how.",
    )
