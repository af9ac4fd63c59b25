"""Defines the samples of a run: rates and queue lengths over time."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

from peerlane.errors import optional
from peerlane.results.collection import By, Collection
from peerlane.results.document import Document, renamed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class FlowSeries(Document):
    """The rate of a workload in each interval: the bytes that arrived, divided by the length.

    A flow with direction `both` has one series for its writes and one for its reads; `direction` is
    `None` for all other workloads.
    """

    id: str
    direction: str | None
    bytes_per_second: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LinkSeries(Document):
    """Samples of one direction of a link.

    `utilisation` is the share of each interval in which the wire was busy.
    `payload_bytes_per_second` is the payload whose transmission began in the interval, divided by
    the interval's length. `waiting_tlps` is the number of TLPs that wait for the wire in the queues
    of the port at the end of each interval. `replay_buffer_bytes` is the size of the TLPs in the
    port's replay buffer at the end of each interval.
    """

    id: str
    direction: str
    utilisation: tuple[float, ...]
    payload_bytes_per_second: tuple[float, ...]
    waiting_tlps: tuple[int, ...]
    replay_buffer_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SocketSeries(Document):
    """Samples of one direction of a link between two sockets of a host, with a link's fields."""

    id: str
    direction: str
    utilisation: tuple[float, ...]
    payload_bytes_per_second: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MemorySeries(Document):
    """Samples of the memory of one socket of a host.

    `utilisation` is the share of each interval in which the memory transferred lines; the latency
    of a line is not counted.
    """

    host: str
    socket: int
    utilisation: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FibreSeries(Document):
    """Samples of one direction of a fibre, with the fields of a link."""

    __pydantic_config__ = renamed(source="from", target="to")

    id: str
    source: str
    target: str
    utilisation: tuple[float, ...]
    payload_bytes_per_second: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Series(Document):
    """Samples of a run: each tuple has a value for each interval; `end_ns` has the intervals' ends.

    The first interval begins at `begin_ns`, and each other interval at the end of the previous
    interval. Intervals end at multiples of `interval_ns`; the last interval ends at the end of the
    run. If there were too many samples, `interval_ns` is longer than requested.
    """

    interval_ns: float
    begin_ns: float
    end_ns: tuple[float, ...]
    flows: Annotated[Collection[FlowSeries], By("id", "direction")]
    links: Annotated[Collection[LinkSeries], By("id", "direction")]
    fibres: Annotated[Collection[FibreSeries], By("id", "source")]
    sockets: Annotated[Collection[SocketSeries], By("id", "direction")] = field(
        default_factory=lambda: Collection(key=("id", "direction"))
    )
    memories: Annotated[Collection[MemorySeries], By("host", "socket")] = field(
        default_factory=lambda: Collection(key=("host", "socket"))
    )

    def to_pandas(self) -> DataFrame:
        """A pandas frame with a line for each interval, and a column for each tuple of samples.

        The name of a column has four parts: the kind (`flow`, `link`, `socket`, `memory` or
        `fibre`); the id or the host; the direction, the socket, or the router that sends; and the
        field. The index is the end of each interval, in nanoseconds.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        with optional("to_pandas needs pandas", "pandas"):
            import pandas as pd  # noqa: PLC0415 - optional, and slow to load
        columns = dict(self._columns())
        names = pd.MultiIndex.from_tuples(columns, names=("what", "id", "direction", "field"))
        index = pd.Index(self.end_ns, name="end_ns")
        frame = pd.DataFrame(list(zip(*columns.values(), strict=True)), index=index)
        frame.columns = names
        return frame

    def _columns(self) -> Iterator[tuple[tuple[str, str, str, str], tuple[Any, ...]]]:
        for flow in self.flows:
            yield from _columns_of(flow, ("flow", flow.id, flow.direction or ""))
        for link in self.links:
            yield from _columns_of(link, ("link", link.id, link.direction))
        for socket in self.sockets:
            yield from _columns_of(socket, ("socket", socket.id, socket.direction))
        for memory in self.memories:
            yield from _columns_of(memory, ("memory", memory.host, str(memory.socket)))
        for fibre in self.fibres:
            yield from _columns_of(fibre, ("fibre", fibre.id, fibre.source))


def _columns_of(
    row: FlowSeries | LinkSeries | SocketSeries | MemorySeries | FibreSeries,
    name: tuple[str, str, str],
) -> Iterator[tuple[tuple[str, str, str, str], tuple[Any, ...]]]:
    for one in fields(row):
        values = getattr(row, one.name)
        if isinstance(values, tuple):
            yield (*name, one.name), values
