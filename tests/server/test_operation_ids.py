"""Operation ids of the OpenAPI schema: clients are generated with methods of these names."""

import re
from collections import Counter

from segue import Kernel
from segue.server import create_app
from segue.testing import ScriptedAgent

READS_WELL = re.compile(r"[a-z]+(_[a-z]+){1,4}")
"""A verb and what it is done to."""


def operation_ids() -> list[str]:
    paths = create_app(Kernel("sqlite://:memory:", agent=ScriptedAgent())).openapi()["paths"]
    return [operation["operationId"] for methods in paths.values() for operation in methods.values()]


def test_every_operation_id_reads_well() -> None:
    assert [name for name in operation_ids() if not READS_WELL.fullmatch(name)] == []


def test_no_operation_id_repeats_the_path_or_the_method() -> None:
    assert [name for name in operation_ids() if re.search(r"_(get|post|patch|delete)$|__", name)] == []


def test_operation_ids_are_unique() -> None:
    assert [name for name, count in Counter(operation_ids()).items() if count > 1] == []


def test_the_verbs_of_the_api_are_there() -> None:
    wanted = {
        "send_message",
        "follow_session",
        "add_automation",
        "set_recall",
        "schedule_message",
        "get_turn",
    }
    assert wanted <= set(operation_ids())
