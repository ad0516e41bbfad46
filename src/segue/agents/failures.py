"""Model errors: which are transient, and the sentence that a user sees for each."""

from collections.abc import Mapping

from pydantic_ai import exceptions
from pydantic_ai.messages import ModelResponse

from segue.agents.guarded_client import PrivateAddress
from segue.errors import AgentFailed
from segue.model.redaction import redact

_TRANSIENT = (
    exceptions.ModelRateLimitError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelConnectionError,
    exceptions.ModelRequestTimeout,
)
_TIMED_OUT = "The model did not answer in time. Try again in a while."
_KINDS: tuple[tuple[type[Exception], str, str], ...] = (
    # the error, its code, the sentence for the conversation
    (
        exceptions.ModelAuthenticationError,
        "model_key_refused",
        "The model's provider refused the key. Check it in the settings.",
    ),
    (
        exceptions.ModelQuotaExceededError,
        "model_quota",
        "The account at the model's provider is used up. Add credit there, or choose another model.",
    ),
    (
        exceptions.ModelRateLimitError,
        "model_rate_limited",
        "The model's provider takes no more requests for now. Try again in a while.",
    ),
    (
        exceptions.ModelNotFoundError,
        "model_not_found",
        "The provider does not know this model. Check its name in the settings.",
    ),
    (
        exceptions.ModelContextWindowExceededError,
        "model_context",
        "This conversation has become too long for the model.",
    ),
    (
        exceptions.ModelRequestRejectedError,
        "model_request_refused",
        "The model's provider refused the request.",
    ),
    (exceptions.ModelRequestTimeout, "model_timeout", _TIMED_OUT),
    (exceptions.ModelTimeoutError, "model_timeout", _TIMED_OUT),
    (
        exceptions.ModelConnectionError,
        "model_unreachable",
        "The model could not be reached. Try again in a while.",
    ),
    (
        exceptions.ModelUnavailableError,
        "model_overloaded",
        "The model's provider is overloaded. Try again in a while.",
    ),
    (
        exceptions.ModelServerError,
        "model_fault",
        "The model's provider has a fault. Try again in a while.",
    ),
    (exceptions.ContentFilterError, "model_filtered", "The model's provider would not answer this."),
)
_GIVE_NO_REASON = frozenset({"snowflake", "xai"})
"""Providers that send no finish reason, or whose reason the model library does not pass on."""
_PRIVATE = "The model's address is not a public one. Change it in the settings."
_BROKEN_OFF = "The connection to the model broke off in the middle of its answer."


def is_transient(error: Exception) -> bool:
    """Whether the same request may succeed a moment later."""
    # `UnexpectedModelBehavior` itself means an unreadable answer, such as a stream without an event. Its
    # subclasses, such as a content filter, report a decision of the provider.
    return isinstance(error, _TRANSIENT) or type(error) is exceptions.UnexpectedModelBehavior


def check_complete(response: ModelResponse) -> None:
    """Raise `ModelConnectionError` if the stream ended without the provider's finish reason: it was cut.

    The model library reports such an end as "stop"; only `provider_details` holds what the provider sent.
    """
    if response.provider_url is None or response.provider_name in _GIVE_NO_REASON:
        return  # a model without a URL is a test model
    finish_reason = (response.provider_details or {}).get("finish_reason")
    if finish_reason is None and response.finish_reason in (None, "stop"):
        raise exceptions.ModelConnectionError(
            response.model_name or "the model",
            "the stream of the answer ended without a reason for its end: it was cut",
            phase="read",
        )


def to_agent_failed(
    error: Exception, *, midway: bool, environment: Mapping[str, str] | None = None
) -> AgentFailed:
    """Return the error for the run record, redacted, with a sentence for the conversation.

    `midway`: part of the answer was already passed on.
    """
    code, shown = next(
        ((code, sentence) for kind, code, sentence in _KINDS if isinstance(error, kind)),
        ("model_failed", "The model failed. The run record says how."),
    )
    if midway and isinstance(error, exceptions.ModelConnectionError | exceptions.ModelRequestTimeout):
        shown = _BROKEN_OFF
    if _is_private(error):
        code, shown = "model_address_refused", _PRIVATE
    detail = f"{type(error).__name__}: {error}"
    if error.__cause__ is not None:
        detail += f" (caused by {type(error.__cause__).__name__}: {error.__cause__})"
    return AgentFailed(
        redact(detail, environment),
        shown=shown,
        code=code,
    )


def _is_private(error: BaseException | None) -> bool:
    """Whether the address was refused by the guard (`guarded_client`)."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a chain of causes and contexts may be a ring
        if isinstance(error, PrivateAddress):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
