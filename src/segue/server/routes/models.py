"""Routes of models: the names that an automation may have, and their prices."""

from fastapi import APIRouter

from segue.server.error_responses import responses
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.schemas.models import ModelsOut, models_out

router = APIRouter(
    prefix="/models", route_class=AuthenticatedRoute, tags=["Automations"], responses=responses(400, 401, 403)
)


@router.get("", summary="List models")
async def list_models(request: AuthenticatedRequest) -> ModelsOut:
    """List the models that automations may name, with the price of each if it is known."""
    return models_out(request.kernel.settings)
