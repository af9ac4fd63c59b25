"""The keys of a scenario that lift a limit, and the values that lift it farther and farther."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane.dotted import join_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from peerlane.explaining.present import Present
    from peerlane.results.explanation import Value
    from peerlane.results.waits import Cause

FACTOR = 16
"""By which bandwidths and buffers grow: far enough for whatever is next to show."""

_CLOCK_FACTORS = (2, 4)

_TIMES = 3
"""How often they grow until they no longer limit."""

MOST_TAGS = (256, 768)
"""Tags with extended tags, and with 10-bit tags (PCIe Base 2.2.6.2)."""

OF_FLOW = "keeps the interval of the flow"
"""The detail of a datapath at which a flow waits for its own `interval`."""

_MOST_GENERATION, _MOST_LANES = 5, 32

_MOST_HEADERS, _MOST_DATA = 127, 2047 * 16
"""Headers, and bytes of data, of a port without scaled flow control (PCIe Base 2.6.1)."""


@dataclass(frozen=True, slots=True)
class Lifting:
    """A key that may lift a limit.

    `values` lift it farther and farther, each with a value for every key: the first that is enough
    is taken, or the first of all if none is.
    """

    keys: tuple[str, ...]
    before: tuple[Value, ...]
    values: tuple[tuple[Value, ...], ...]


def liftings(present: Present, flow: str, limit: Cause) -> list[Lifting]:
    """What may lift the limit of a flow; empty if no key does."""
    if limit.detail == OF_FLOW:
        return list(_of_flow(present, flow))
    return list(_KINDS[limit.kind](present, limit))


def without_errors(present: Present, limit: Cause) -> list[Lifting]:
    """No bit errors where a limit may be due to packets that are sent again; empty without them."""
    if limit.kind not in {"wire", "credit", "replay-buffer"}:
        return []
    errors = present.bit_errors(limit.where)
    return [] if errors is None else [_one(*errors, 0)]


def _one(key: str, before: Value, *values: Value) -> Lifting:
    return Lifting((key,), (before,), tuple((value,) for value in values))


def _wire(present: Present, limit: Cause) -> Iterator[Lifting]:
    routers = present.routers(limit.where)
    if routers:
        yield _of_both(present, routers, "lane_rate", (2, 3))
    rate = present.rate(limit.where)
    if rate is None:
        return
    generation, lanes = rate
    if generation < _MOST_GENERATION:
        faster = range(generation + 1, _MOST_GENERATION + 1)
        yield _one(present.path_of_link(limit.where, "generation"), generation, *faster)
    else:
        wider = [lanes << times for times in range(1, 6) if lanes << times <= _MOST_LANES]
        yield _one(present.path_of_link(limit.where, "lanes"), lanes, *wider)


def _of_both(
    present: Present, nodes: tuple[str, ...], key: str, factors: tuple[int, ...]
) -> Lifting:
    """A key that grows at both ends of a fibre."""
    keys = tuple(dict.fromkeys(present.path(node, key) for node in nodes))
    before = present.value(nodes[0], key)
    values = tuple((times(before, factor),) * len(keys) for factor in factors)
    return Lifting(keys, (before,) * len(keys), values)


def _credit(present: Present, limit: Cause) -> Iterator[Lifting]:
    if routers := present.routers(limit.where):
        yield _of_both(present, routers, "channel_buffer", (2, FACTOR))
    receiver = _end(present, limit, sends=False)
    if receiver is None or limit.detail is None:
        return
    kind, _, amount = limit.detail.rpartition(" ")
    stem = kind.replace("-", "")
    key = f"{stem}_{amount}"
    before = present.value(receiver, key)
    larger: list[Value] = []
    if isinstance(before, int) and before < _MOST_HEADERS:
        larger = [min(FACTOR * before, _MOST_HEADERS)]
    elif isinstance(before, str) and (data := _core.read_size(before)) < _MOST_DATA:
        larger = [f"{min(FACTOR * data, _MOST_DATA)} B"]
    infinite: dict[str, Value] = {"headers": 0, "data": "0 B"}  # PCIe Base 2.6.1
    yield _one(present.path(receiver, key), before, *larger, infinite[amount])
    # The other one of the two may be just as small.
    keys = [key, *(f"{stem}_{one}" for one in infinite if one != amount)]
    yield Lifting(
        tuple(present.path(receiver, one) for one in keys),
        tuple(present.value(receiver, one) for one in keys),
        (tuple(infinite[one.rpartition("_")[2]] for one in keys),),
    )


def _tags(present: Present, limit: Cause) -> Iterator[Lifting]:
    for key in ("tags", "outstanding_reads"):
        if present.has(limit.where, key):
            before = present.value(limit.where, key)
            more = [count for count in MOST_TAGS if isinstance(before, int) and count > before]
            yield _one(present.path(limit.where, key), before, *more)


def _outstanding(present: Present, limit: Cause) -> Iterator[Lifting]:
    yield from _grown(present, limit.where, "completion_buffer", "completion_buffer_headers")


def _replay_buffer(present: Present, limit: Cause) -> Iterator[Lifting]:
    sender = _end(present, limit, sends=True)
    if sender is not None:
        before = present.value(sender, "replay_buffer")
        larger = _growing(before) if before is not None else ("1 MiB",)
        yield _one(present.path(sender, "replay_buffer"), before, *larger)


def _end(present: Present, limit: Cause, *, sends: bool) -> str | None:
    """The sender, or the receiver, of a direction of a link."""
    ends = present.ends(limit.where)
    if ends is None:
        return None
    above, below = ends
    is_down = limit.direction in {"down", "forth"}
    return above if is_down == sends else below


def _datapath(present: Present, limit: Cause) -> Iterator[Lifting]:
    node = limit.where
    paces: dict[str, Value] = {"request_interval": "0 ns", "descriptor_cycles": 0}
    datapaths: dict[str, Value] = dict.fromkeys(
        ("datapath", "receive_datapath", "port_datapath"), "0 B"
    )
    yield from _freed(present, node, paces | datapaths | {"descriptor_fetch": False})
    yield from _grown(present, node, "store_and_forward", "peer_bandwidth", "fifo")
    clocks = present.controller_clocks(node)
    if clocks:  # a controller and its network interfaces have one clock
        before = present.value(node, "clock")
        values = tuple((times(before, factor),) * len(clocks) for factor in _CLOCK_FACTORS)
        yield Lifting(clocks, (before,) * len(clocks), values)
    else:
        yield from _grown(present, node, "clock", "port_clock", "afu_clock", "router_clock")
    yield from _grown(present, node, "send_queue")


def _freed(present: Present, node: str, keys: dict[str, Value]) -> Iterator[Lifting]:
    """Keys with the value that is no limit, where they have another."""
    for key, free in keys.items():
        if present.has(node, key) and (before := present.value(node, key)) not in {free, 0, None}:
            yield _one(present.path(node, key), before, free)


def _of_flow(present: Present, flow: str) -> Iterator[Lifting]:
    """The pace of a flow itself."""
    path = join_path(("flows", flow, "interval"))
    yield _one(path, present.scenario.get(path), "0 ns")


def _memory(present: Present, limit: Cause) -> Iterator[Lifting]:
    node = limit.where
    if limit.detail == "address translation":
        yield from _grown(present, node, "walkers", "iotlb_entries")
        yield _one(present.path(node, "iommu"), present.value(node, "iommu"), False)  # noqa: FBT003
        return
    yield from _grown(present, node, "memory_bandwidth", "ingest_bandwidth", "media_bandwidth")
    latencies = ("memory_partial_line", "read_latency", "media_read_latency")
    yield from _freed(present, node, dict.fromkeys(latencies, "0 ns"))
    yield from _freed(
        present, node, dict.fromkeys(("media_write_latency", "program_latency"), "0 ns")
    )
    yield from _freed(present, node, {"writes_per_ownership": 0})
    if present.has(node, "write_buffers") and present.value(node, "write_buffers"):
        yield from _grown(present, node, "write_buffers")
    yield from _grown(present, node, "commands", "dies")


def _socket(present: Present, limit: Cause) -> Iterator[Lifting]:
    host, _, _ = limit.where.rpartition(".")
    yield from _grown(present, host, "socket_bandwidth")


_COSTS = (
    "interrupt_latency",
    "system_call",
    "page_pin",
    "register_write",
    "memory_write",
    "poll",
)
"""Costs of software on a host."""


def _software(present: Present, limit: Cause) -> Iterator[Lifting]:
    costs = [key for key in _COSTS if present.has(limit.where, key)]
    before = tuple(present.value(limit.where, key) for key in costs)
    paths = tuple(present.path(limit.where, key) for key in costs)
    yield Lifting(paths, before, (("0 ns",) * len(costs),))


def _grown(present: Present, node: str, *keys: str) -> Iterator[Lifting]:
    """Keys that have a value, which grows."""
    for key in keys:
        if present.has(node, key) and (before := present.value(node, key)) is not None:
            yield _one(present.path(node, key), before, *_growing(before))


def _growing(value: Value) -> tuple[Value, ...]:
    return tuple(times(value, FACTOR**step) for step in range(1, _TIMES + 1))


def times(value: Value, factor: int) -> Value:
    """A number, or a quantity with its unit, as many times."""
    if isinstance(value, int | float):
        return value * factor
    found = _core.quantity(value or "")
    if found is None:
        return value
    number = float(found[0]) * factor
    return f"{int(number) if number.is_integer() else number} {found[1]}".strip()


def _nothing(_present: Present, _limit: Cause) -> Iterator[Lifting]:
    return iter(())


_KINDS: dict[str, Callable[[Present, Cause], Iterator[Lifting]]] = {
    "wire": _wire,
    "credit": _credit,
    "tags": _tags,
    "outstanding": _outstanding,
    "replay-buffer": _replay_buffer,
    "datapath": _datapath,
    "memory": _memory,
    "socket": _socket,
    "arbitration": _nothing,
    "software": _software,
    "other": _nothing,
}
