"""Segue beside Django in one ASGI application: `uvicorn examples.django_app:application`."""

import os
from typing import Any

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path
from starlette.applications import Starlette
from starlette.routing import Mount

from segue import Kernel, OpenTurn
from segue.server import mount

settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="of an example", ALLOWED_HOSTS=["127.0.0.1"])
django.setup()


async def agent(turn: OpenTurn) -> str:  # call a model here; Django's models work with `await`
    return f"You said: {turn.text}"


async def ask(request: HttpRequest) -> JsonResponse:
    asked = await kernel.receive("web:django", request.GET["text"])
    return JsonResponse({"reply": (await kernel.wait(asked.turn_id)).reply})


urlpatterns = [path("ask", ask)]
kernel = Kernel(os.environ.get("DATABASE_URL", "sqlite:///agent.db"), agent=agent)
site: Any = get_asgi_application()  # its declared type is not that of an ASGI application
application = Starlette(routes=[Mount("/", site)])
mount(application, kernel)  # below /segue; everything else goes to Django
