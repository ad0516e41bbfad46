"""The workloads of the field, in the order of the page; each has a file of its own."""

from bench.field.workload import Workload
from bench.field.workloads import (
    backlog,
    due,
    killed,
    neighbours,
    pending,
    starting,
    streaming,
    two_processes,
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        pending.PENDING,
        due.SPREAD,
        due.INSTANT,
        backlog.BACKLOG,
        neighbours.NEIGHBOURS,
        killed.KILLED,
        two_processes.TWO_PROCESSES,
        streaming.STREAMING,
        starting.STARTING,
    )
}
