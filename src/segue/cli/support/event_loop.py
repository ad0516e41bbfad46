"""How a process that stays is run.

On uvloop where there is one, which is wherever the server's libraries have it: the same turns for a fifth
less of the processor. And with a collector of cycles that looks less often: a turn leaves hardly any, and a
look after every 700 objects costs more than it finds. A command that only looks around needs neither.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_OBJECTS_BETWEEN_LOOKS = 20_000


def run(main: Coroutine[Any, Any, T]) -> T:
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, *gc.get_threshold()[1:])
    with asyncio.Runner(loop_factory=_fastest()) as runner:
        return runner.run(main)


def freeze_loaded_objects() -> None:
    """When the house stands: nobody needs to look through it again. With a model's library in it, that would
    take a seventh of a second, in which nobody is heard."""
    gc.collect()
    gc.freeze()


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # Windows, or another interpreter
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
