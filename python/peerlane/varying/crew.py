"""Whoever does the work of a sweep: the processors of this machine, or a Dask cluster."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from peerlane.varying.cluster import Cluster
from peerlane.varying.spread import Processors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.varying.spread import Crew


@contextmanager
def crew(scheduler: str | None) -> Iterator[Crew]:
    """The processors of this machine, or the workers of a Dask scheduler.

    Args:
        scheduler: Its address, such as "tcp://10.0.0.1:8786".

    Raises:
        ClusterError: The scheduler cannot be reached, or its workers cannot do the work.
    """
    if scheduler is None:
        yield Processors()
        return
    cluster = Cluster(scheduler)
    try:
        yield cluster
    finally:
        cluster.close()
