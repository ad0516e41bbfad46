"""Routes of settings: for admins, on the page. Keys are stored and never returned."""

from fastapi import APIRouter

from segue.config.stored_model import ADDRESSES
from segue.server.auth import require_admin
from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.schemas.settings import (
    ChangeSettings,
    ModelIn,
    ModelTested,
    SettingsOut,
    TimezoneOut,
)

router = APIRouter(
    prefix="/settings",
    route_class=AuthenticatedRoute,
    tags=["Settings"],
    responses=responses(400, 401, 403, 422),
)


@router.get("", summary="Get the settings")
async def get_settings(request: AuthenticatedRequest) -> SettingsOut:
    """Requires a key with the role admin."""
    require_admin(request.caller)
    return _settings_out(request)


@router.patch("", summary="Change the settings", responses=responses(409, 413, 500))
async def change_settings(body: ChangeSettings, request: AuthenticatedRequest) -> SettingsOut:
    """Connect a model, or none. It answers from the next turn on; a running turn keeps its model.

    Requires a key with the role admin. 409 `set_elsewhere` if the environment, the settings file or a flag
    names the model.
    """
    require_admin(request.caller)
    if "model" in body.model_fields_set:
        await request.app_state.model.change(body.model)
    return _settings_out(request)


@router.post("/model/test", summary="Test a model", responses=responses(409, 413))
async def test_model(body: ModelIn, request: AuthenticatedRequest) -> ModelTested:
    """Ask the model for one word, without storing anything.

    The model may be at a public address or on this machine. A failure is 422 with one of the codes
    `model_key_missing`, `model_key_refused`, `model_not_found`, `model_unreachable`, `model_timeout`,
    `model_address_refused`, `model_address_missing`, `model_quota`, `model_request_refused` and others of
    `model_…`. Requires a key with the role admin.
    """
    require_admin(request.caller)
    duration_ms = await request.app_state.model.test(body, request.kernel.clock)
    return ModelTested(ok=True, duration_ms=duration_ms)


def _settings_out(request: AuthenticatedRequest) -> SettingsOut:
    configuration = request.app_state.configuration
    timezone = TimezoneOut(value=configuration.timezone, source=configuration.source_of("timezone"))
    addresses = {str(provider): address for provider, address in ADDRESSES.items()}
    return SettingsOut(model=request.app_state.model.show(), addresses=addresses, timezone=timezone)
