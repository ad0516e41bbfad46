"""Faces of one kernel: itself, the two clients, and plain HTTP, with the same verbs, for one suite.

The blocking client is called in threads. `PlainHttp` knows nothing of `segue.client`: it sends requests by
hand and gives the JSON of their answers the names of the kernel's records.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from datetime import date, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx2

from segue import At, Cron, Every
from segue.times.clock import to_ms

STREAMS = ("ask", "follow", "export")


class Awaited:
    """A blocking client whose methods are awaited: each call runs in a thread."""

    def __init__(self, blocking: Any) -> None:
        self._blocking = blocking

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._blocking, name)
        if not callable(found):
            return Awaited(found)
        return self._stream(found) if name in STREAMS else self._call(found)

    def _call(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call

    def _stream(self, method: Callable[..., Any]) -> Callable[..., AsyncIterator[Any]]:
        async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            items = await asyncio.to_thread(method, *args, **kwargs)
            end = object()
            try:
                while (item := await asyncio.to_thread(next, items, end)) is not end:
                    yield item
            finally:
                await asyncio.to_thread(items.close)

        return stream


class Refusal(Exception):
    """An error of the HTTP API."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


NAMES = {
    "turn_id": "id",
    "run_id": "id",
    "task_id": "id",
    "message_text": "text",
    "internal_comment": "comment",
    "additional_context_message": "instruction",
    "automation_count": "cron_jobs",
    "archive_id": "archive_n",
}
MOMENTS = frozenset({"send_at", "trigger_at", "created_at", "slot", "at"})


def named(data: Any) -> Any:
    """JSON as an object with the kernel's names; moments in milliseconds."""
    if isinstance(data, list):
        return [named(each) for each in data]
    if not isinstance(data, Mapping):
        return data
    fields = {name: named(value) for name, value in data.items()}
    for name, value in data.items():
        if name in MOMENTS and isinstance(value, str) and value:
            fields[name] = to_ms(datetime.fromisoformat(value))
        fields.setdefault(NAMES.get(name, name), fields[name])
    return SimpleNamespace(**fields)


class PlainHttp:
    def __init__(self, address: str) -> None:
        self._http = httpx2.AsyncClient(base_url=address, trust_env=False, timeout=60)
        self.sessions, self.turns = _Part(self, "session"), _Part(self, "turn")
        self.log, self.jobs, self.runs = _Part(self, "log"), _Part(self, "job"), _Part(self, "run")
        self.recalls, self.memory = _Part(self, "recall"), _Part(self, "memory")
        self.scheduled_messages, self.health = _Part(self, "scheduled_message"), _Part(self, "health")
        self.files, self.days, self.guests = _Part(self, "file"), _Part(self, "day"), _Part(self, "guest")
        self.calendar = _Part(self, "calendar")
        self.receive, self.wait = self.turns.receive, self.turns.wait
        self.schedule, self.messages = self.jobs.add, self.log.messages
        self.ask, self.follow = self.turn_ask, self.log_follow

    async def close(self) -> None:
        await self._http.aclose()

    async def request(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        given = {name: value for name, value in params.items() if value is not None}
        answer = await self._http.request(method, path, json=body, params=given)
        data = answer.json()
        if not answer.is_success:
            raise Refusal(answer.status_code, data["code"], data["detail"])
        return data | {"status_code": answer.status_code}

    async def session_open(self, key: str, **about: Any) -> Any:
        data = await self.request("POST", "/sessions", {"key": key, **about})
        return SimpleNamespace(session=named(data), created=data["status_code"] == 201)

    async def session_get(self, key: str) -> Any:
        return named(await self.request("GET", f"/sessions/{quote(key)}"))

    async def session_find(self, key: str) -> Any:
        try:
            return await self.session_get(key)
        except Refusal as refusal:
            if refusal.status != 404:
                raise
            return None

    async def session_overview(self, key: str) -> Any:
        session = await self.session_get(key)
        return SimpleNamespace(**vars(session), session=session)

    async def session_list(self) -> Any:
        return named((await self.request("GET", "/sessions"))["sessions"])

    async def session_update(self, key: str, **about: Any) -> Any:
        if about.get("budget") is not None:
            about["budget"] = about["budget"].to_json()
        return named(await self.request("PATCH", f"/sessions/{quote(key)}", about))

    async def session_budget(self, key: str) -> Any:
        return _budgets(await self.request("GET", f"/sessions/{quote(key)}/budget"))

    async def session_raise_budget(self, key: str) -> Any:
        return _budgets(await self.request("POST", f"/sessions/{quote(key)}/budget/raise"))

    async def session_mark_read(self, key: str, seq: int) -> Any:
        return (await self.request("POST", f"/sessions/{quote(key)}/read", {"seq": seq}))["unread"]

    async def session_delete(self, key: str, *, with_jobs: bool = False) -> None:
        data = await self.request(
            "DELETE", f"/sessions/{quote(key)}", delete_automations=str(with_jobs).lower()
        )
        if not data["deleted"]:
            refusal = Refusal(200, "session_has_jobs", "")
            refusal.jobs = named(data["automations"])  # type: ignore[attr-defined]
            raise refusal

    async def turn_receive(self, key: str, text: str, **given: Any) -> Any:
        given |= {"parts": [{"id": each.id} for each in given.get("parts", ())]}
        data = await self.request("POST", f"/sessions/{quote(key)}/turns", {"content": text, **given})
        return SimpleNamespace(turn_id=data["turn_id"], position=data["position"])

    async def turn_wait(self, turn: Any) -> Any:
        turn_id = turn if isinstance(turn, str) else turn.turn_id
        return named(await self.request("GET", f"/turns/{turn_id}", wait=60))

    async def turn_get(self, turn_id: str) -> Any:
        return named(await self.request("GET", f"/turns/{turn_id}"))

    async def turn_stop(self, key: str) -> Any:
        return (await self.request("POST", f"/sessions/{quote(key)}/stop"))["turn_id"]

    async def turn_stop_turn(self, turn_id: str) -> Any:
        return (await self.request("POST", f"/turns/{turn_id}/stop"))["stopped"]

    async def turn_list(self, key: str, *, limit: int = 100) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/turns", limit=limit))["turns"])

    async def turn_running(self, key: str) -> Any:
        found = (await self.request("GET", f"/sessions/{quote(key)}/turns", running="true"))["turns"]
        return named(found[0]) if found else None

    async def turn_follow(self, turn_id: str) -> AsyncIterator[Any]:
        key = (await self.turn_get(turn_id)).session_key
        async for item in self._of_turn(turn_id, self.log_follow(key)):
            yield item

    async def turn_cancel(self, turn_id: str) -> None:
        await self.request("POST", f"/turns/{turn_id}/cancel")

    async def turn_ask(self, key: str, text: str) -> AsyncIterator[Any]:
        session = await self.session_find(key)
        queued = await self.turn_receive(key, text)
        after = session.last_seq if session else 0
        async for item in self._of_turn(queued.turn_id, self.log_follow(key, after=after)):
            yield item

    async def _of_turn(self, turn_id: str, following: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for item in following:
            if item.turn_id == turn_id:
                yield item
                if item.type == "session_sync":
                    return

    async def log_messages(self, key: str, *, after: int = 0) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/messages", after=after))["messages"])

    async def log_newest(self, key: str, *, limit: int = 100) -> Any:
        page = await self.request("GET", f"/sessions/{quote(key)}/log", limit=500)
        return named([each["message"] for each in page["events"] if each.get("message")])[-limit:]

    async def log_events(self, key: str, *, after: int = 0, limit: int = 100) -> Any:
        newest = (await self.session_get(key)).last_seq
        found: list[Any] = []
        async with aclosing(self.log_follow(key, after=after)) as following:
            async for item in following:
                if not item.type.endswith("_delta"):
                    found.append(item)
                    if len(found) == limit or item.seq == newest:
                        break
        return found

    async def log_search(self, query: str, *, session: str | None = None, limit: int = 20) -> Any:
        found = await self.request("GET", "/messages/search", query=query, session=session, limit=limit)
        return named(found["messages"])

    async def log_export(self, key: str, *, format: Any = "markdown") -> AsyncIterator[str]:
        answer = await self._http.get(f"/sessions/{quote(key)}/export", params={"format": str(format)})
        yield answer.text

    async def log_write(self, key: str, role: str, text: str, **given: Any) -> Any:
        files = [{"id": each.id} for each in given.pop("parts", ())]
        body = {"role": role, "content": text, "parts": files, **given}
        written = await self.request("POST", f"/sessions/{quote(key)}/messages", body)
        return (await self.log_messages(key, after=written["seq"] - 1))[0]

    async def log_write_all(self, key: str, messages: Any) -> Any:
        body = {"messages": [{"role": role, "content": text} for role, text in messages]}
        return named(await self.request("POST", f"/sessions/{quote(key)}/messages/batch", body))

    async def log_follow(self, key: str, *, after: int = 0) -> AsyncGenerator[Any]:
        path = f"/sessions/{quote(key)}/events"
        seen = after
        async with self._http.stream("GET", path, params={"after": after}) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data:"):
                    event = named(json.loads(line[5:]))
                    delta = event.type.endswith("_delta")
                    if delta or event.seq > seen:  # an update of a job repeats the number of its cause
                        seen = event.seq
                        message = getattr(event, "message", None)
                        event.turn_id = getattr(event, "turn_id", None)
                        event.role = getattr(message, "role", None)
                        event.content = getattr(message, "content", None)
                        yield event

    async def file_add(self, key: str, name: str, data: bytes) -> Any:
        answer = await self._http.post(f"/sessions/{quote(key)}/files", content=data, params={"name": name})
        return named(answer.json())

    async def file_read(self, file: Any) -> bytes:
        return (await self._http.get(f"/files/{file.id}")).content

    async def file_get(self, file_id: str) -> Any:
        answer = await self._http.get(f"/files/{file_id}")
        if not answer.is_success:
            raise Refusal(answer.status_code, answer.json()["code"], answer.json()["detail"])
        name = answer.headers["content-disposition"].partition('"')[2].partition('"')[0]
        return SimpleNamespace(id=file_id, name=name, media_type=answer.headers["content-type"])

    async def day_add(self, name: str, ics: str) -> Any:
        return named(await self.request("POST", "/days", {"name": name, "ics": ics}))

    async def day_get(self, name: str) -> Any:
        data = await self.request("GET", f"/days/{name}")
        off = {date.fromisoformat(each["date"]): each["reason"] for each in data["off"]}
        return SimpleNamespace(name=data["name"], off=off)

    async def day_delete(self, name: str) -> None:
        await self.request("DELETE", f"/days/{name}")

    async def day_list(self) -> Any:
        return named((await self.request("GET", "/days"))["days"])

    async def calendar_share(self, key: str) -> Any:
        return (await self.request("POST", f"/sessions/{quote(key)}/calendar"))["url"]

    async def calendar_shared_at(self, key: str) -> Any:
        shared = named((await self.request("GET", f"/sessions/{quote(key)}/calendar"))["calendar"])
        return shared and shared.created_at

    async def calendar_revoke(self, key: str) -> None:
        await self.request("DELETE", f"/sessions/{quote(key)}/calendar")

    async def calendar_import_events(self, key: str, ics: str, *, make: bool = False) -> Any:
        path = f"/sessions/{quote(key)}/calendar/import"
        answer = await self._http.post(path, content=ics.encode(), params={"make": make})
        data = answer.json()
        left_out = [SimpleNamespace(title=each["summary"], **each) for each in data["skipped"]]
        return SimpleNamespace(made=data["made"], jobs=named(data["jobs"]), left_out=left_out)

    async def guest_bind(self, channel: str, sender: str, *, user: str) -> Any:
        return named(await self.request("PATCH", f"/guests/{channel}/{quote(sender)}", {"user": user}))

    async def guest_allow(self, code: str) -> Any:
        return named(await self.request("POST", "/guests/allow", {"code": code}))

    async def guest_delete(self, channel: str, sender: str) -> Any:
        return named(await self.request("DELETE", f"/guests/{channel}/{quote(sender)}"))

    async def guest_list(self) -> Any:
        return named((await self.request("GET", "/guests"))["guests"])

    async def job_raise_budget(self, job_id: str) -> Any:
        job = await self.job_get(job_id)
        path = f"/sessions/{quote(job.session_key)}/budget/raise"
        await self.request("POST", path, {"job_id": job_id})
        return job

    async def job_add(
        self, key: str, trigger: Any, action: Any, *, name: str | None = None, policy: Any = None
    ) -> Any:
        limits = policy and {"budget": policy.budget.to_json()}
        body = {"message": action.prompt, "schedule": _schedule(trigger), "name": name, "policy": limits}
        given = {field: value for field, value in body.items() if value is not None}
        return named(await self.request("POST", f"/sessions/{quote(key)}/automations", given))

    async def job_forecast(self, key: str, *, days: int = 30) -> Any:
        return named(await self.request("GET", f"/sessions/{quote(key)}/forecast", days=days))

    async def job_preview(self, key: str, trigger: Any, action: Any) -> Any:
        body = {"message": action.prompt, "schedule": _schedule(trigger)}
        data = await self.request("POST", f"/sessions/{quote(key)}/automations", body, dry_run="true")
        return named(data | {"next": data["next_runs"]})

    async def job_get(self, job_id: str) -> Any:
        return named(await self.request("GET", f"/automations/{job_id}"))

    async def job_update(self, job_id: str, *, name: str | None = None, trigger: Any = None) -> Any:
        body = {"name": name} | ({} if trigger is None else {"schedule": _schedule(trigger)})
        given = {field: value for field, value in body.items() if value is not None}
        return named(await self.request("PATCH", f"/automations/{job_id}", given))

    async def job_pause(self, job_id: str) -> Any:
        return named(await self.request("POST", f"/automations/{job_id}/pause"))

    async def job_resume(self, job_id: str) -> Any:
        return named(await self.request("POST", f"/automations/{job_id}/resume"))

    async def job_skip(self, job_id: str) -> Any:
        return named(await self.request("POST", f"/automations/{job_id}/skip"))

    async def job_delete(self, job_id: str) -> None:
        await self.request("DELETE", f"/automations/{job_id}")

    async def job_explain(self, job_id: str) -> Any:
        return named(await self.request("GET", f"/automations/{job_id}/explain"))

    async def job_list(self, key: str) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/automations"))["jobs"])

    async def run_list(self, key: str | None = None, *, job: str | None = None) -> Any:
        path = f"/automations/{job}" if job else f"/sessions/{quote(key or '')}"
        return named((await self.request("GET", f"{path}/runs"))["runs"])

    async def run_get(self, run_id: str) -> Any:
        return named(await self.request("GET", f"/runs/{quote(run_id, safe='')}"))

    async def run_usage(self, key: str, *, days: int = 30) -> Any:
        return named(await self.request("GET", f"/sessions/{quote(key)}/usage", days=days))

    async def recall_get(self, key: str) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/recall"))["recall"])

    async def recall_add(
        self, key: str, instruction: str, *, call_type: str = "once", comment: str | None = None, **given: Any
    ) -> Any:
        body = {"additional_context_message": instruction, "call_type": call_type, **given}
        body |= {} if comment is None else {"internal_comment": comment}
        return named(await self.request("POST", f"/sessions/{quote(key)}/recall", body))

    async def recall_cancel(self, key: str) -> None:
        await self.request("DELETE", f"/sessions/{quote(key)}/recall")

    async def recall_skip(self, key: str) -> Any:
        return named((await self.request("POST", f"/sessions/{quote(key)}/recall/skip"))["recall"])

    async def recall_list(self, key: str) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/recalls"))["recalls"])

    async def scheduled_message_add(self, key: str, send_at: str, text: str, **given: Any) -> Any:
        body = {"send_at": send_at, "message_text": text, **given}
        data = await self.request("POST", f"/sessions/{quote(key)}/scheduled-messages", body)
        return SimpleNamespace(
            message=await self.scheduled_message_get(data["task_id"]), cancelled=tuple(data["cancelled"])
        )

    async def scheduled_message_get(self, message_id: str) -> Any:
        return named(await self.request("GET", f"/scheduled-messages/{message_id}"))

    async def scheduled_message_cancel(self, message_id: str) -> Any:
        return named(await self.request("DELETE", f"/scheduled-messages/{message_id}"))

    async def scheduled_message_list(self, key: str) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/scheduled-messages"))["messages"])

    async def memory_commit(self, key: str, *, keep_recent_count: int | None = None) -> Any:
        body = {"keep_recent_count": keep_recent_count}
        return named(await self.request("POST", f"/sessions/{quote(key)}/commit", body))

    async def memory_archives(self, key: str) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/archives"))["archives"])

    async def memory_archived_messages(self, key: str, n: int) -> Any:
        return named((await self.request("GET", f"/sessions/{quote(key)}/archives/{n}"))["messages"])

    async def memory_task(self, task_id: str) -> Any:
        data = await self.request("GET", f"/tasks/{task_id}")
        return named(data | {"state": data["status"]})

    async def memory_list(self) -> Any:
        return named((await self.request("GET", "/memories"))["memories"])

    async def memory_search(self, query: str) -> Any:
        found = named((await self.request("GET", "/memories", query=query))["memories"])
        return [SimpleNamespace(memory=each, score=each.score) for each in found]

    async def memory_get(self, memory_id: str) -> Any:
        return named(await self.request("GET", f"/memories/{memory_id}"))

    async def memory_update(self, memory_id: str, **given: Any) -> Any:
        return named(await self.request("PATCH", f"/memories/{memory_id}", given))

    async def memory_delete(self, memory_id: str) -> None:
        await self.request("DELETE", f"/memories/{memory_id}")

    async def memory_context(self, key: str) -> Any:
        return named(await self.request("GET", f"/sessions/{quote(key)}/context"))


class _Part:
    """`part.verb` is the method `name_verb`."""

    def __init__(self, http: PlainHttp, name: str) -> None:
        self._http = http
        self._name = name

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._http, f"{self._name}_{verb}")


def _schedule(trigger: Any) -> Any:
    match trigger:
        case At(at=str() as words):
            return {"kind": "at", "at": words}
        case At(at=datetime() as moment):
            return {"kind": "at", "at": moment.isoformat()}
        case Every():
            return {"kind": "every", "every_seconds": trigger.interval.total_seconds()}
        case Cron():
            return {"kind": "cron", "expr": trigger.expr, "tz": trigger.tz}
    raise AssertionError(trigger)


def _budgets(data: Any) -> Any:
    """With the budget of the session and those of its jobs as the kernel names them."""
    jobs = [
        SimpleNamespace(job_id=each["job_id"], name=each["name"], now=_now(each)) for each in data["jobs"]
    ]
    return SimpleNamespace(own=None if data["unit"] is None else _now(data), jobs=jobs)


def _now(data: Any) -> Any:
    return SimpleNamespace(**(data | {"resets_at": datetime.fromisoformat(data["resets_at"])}))
