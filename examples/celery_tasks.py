"""Segue in Celery tasks: `celery -A examples.celery_tasks worker --beat`. The broker is a folder."""

import os

from celery import Celery

from segue import Cron, OpenTurn, Say
from segue.sync import Kernel

FOLDER = os.path.abspath(os.environ.get("CELERY_FOLDER", ".celery"))
os.makedirs(FOLDER, exist_ok=True)
DATABASE = f"sqlite:///{FOLDER}/agent.db"

app = Celery("tasks", broker="filesystem://", backend=f"file://{FOLDER}")
app.conf.broker_transport_options = {f"data_folder_{end}": FOLDER for end in ("in", "out")}
app.conf.beat_schedule = {"work": {"task": "segue.work", "schedule": 60.0}}


async def agent(turn: OpenTurn) -> str:  # call a model here
    return f"You said: {turn.text}"


@app.task(name="segue.ask")
def ask(key: str, text: str) -> str:
    with Kernel(DATABASE, agent=agent) as kernel:  # opened in the process of the worker, after its fork
        asked = kernel.receive(key, text)
        kernel.drain()
        return kernel.wait(asked.turn_id).reply or ""


@app.task(name="segue.remind")
def remind(key: str, line: str, text: str) -> str:
    with Kernel(DATABASE, agent=agent) as kernel:
        return kernel.schedule(key, Cron(line, tz="Europe/Berlin"), Say(text)).id


@app.task(name="segue.work")
def work() -> int:
    with Kernel(DATABASE, agent=agent) as kernel:
        return kernel.drain().turns  # what became due since the last minute
