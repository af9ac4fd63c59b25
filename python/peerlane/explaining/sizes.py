"""Finds changes to larger packets and requests, if these are smaller than possible."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from peerlane.dotted import join_path, split_path
from peerlane.explaining.lift import Lifting, setting, subject
from peerlane.figures.quantities import amount_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.explaining.present import Present
    from peerlane.results.bottleneck import Bottleneck, Value

READ_REQUEST = "max_read_request"
_SMALL = 129
"""The payload in bytes below which headers are more than a tenth of a packet."""

_USUAL = 256.0
"""The Max_Payload_Size of most hosts, in bytes."""

_RESET = 512
"""Max_Read_Request_Size after a reset, in bytes (PCIe Base 7.5.3.4)."""

_LARGEST = "4096 B"
"""The largest Max_Read_Request_Size (PCIe Base 7.5.3.4)."""

_OF_DRIVE = "128 KiB"
"""The size of a drive's command at which the overhead of commands is negligible."""

_OF_CORE = "512 B"
"""The data of one load in a processor with wider loads."""


def faults(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes to larger sizes of requests and packets that may be too small."""
    yield from _payloads(present, one)
    yield from _requests(present, one)


def _requests(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes of read requests that limit a device, if they are smaller than after a reset."""
    small = _RESET if one.kind in {"tags", "outstanding"} else _SMALL if one.kind == "wire" else 0
    reads = filter(present.reads, one.flows)
    found: dict[str, Value] = {}
    ends = (end for flow in reads for end in present.ends_of_flow(flow)[:1])
    for table in dict.fromkeys(map(present.table, ends)):
        path = f"{table}.{READ_REQUEST}"
        if any(row[0] == READ_REQUEST for row in present.scenario.lifts(table, "tags")):
            before = present.value(path)
            if (amount_of(before) or _RESET) < small:
                found[path] = before
    if found:
        names = [split_path(path)[-2] for path in found]
        reason = f"{subject(names, 'requests', 'request')} {next(iter(found.values()))} at a time"
        yield setting(present, dict.fromkeys(found, _LARGEST), reason)


def _payloads(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """A change of all nodes to the largest payload that the path of flows supports.

    If a device that is not on the path supports only a smaller payload, the change also connects it
    to another root port.
    """
    if one.kind not in {"wire", "credit"}:
        return
    flows = one.flows
    ways = dict.fromkeys(
        node for flow in flows for node in (*present.ends_of_flow(flow), *present.above_ends(flow))
    )
    sizes = {node: present.payload_supported(node) for node in present.below_ports_of(ways)}
    most = max((sizes[node] for node in ways if node in sizes), default=0.0)
    small: dict[str, float] = {}
    moved: dict[str, Value] = {}
    wrong: dict[str, float] = {}
    for node in sizes:
        for key, *_ in present.scenario.lifts(present.table(node), "payload"):
            path = f"{present.table(node)}.{key}"
            size = amount_of(present.value(path)) or most
            if size >= most:
                continue
            small[path] = size
            is_beside = node not in ways
            if size < _SMALL and (is_beside or key == "max_payload"):
                wrong[node] = size
            if is_beside and present.upstream_of(node) != (root := present.root(node)):
                moved[f"{present.table(node)}.upstream.to"] = root
    reason = f"{subject(wrong, 'limits', 'limit')} Max_Payload_Size to 128 B" if wrong else None
    raised: Iterator[dict[str, Value]] = (
        {path: f"{int(size)} B" for path, before in small.items() if before < size}
        for size in dict.fromkeys((min(most, _USUAL), most))
    )
    yield from (setting(present, found, reason) for found in (moved, *raised) if found)


def of_software(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes to larger requests, for flows whose software makes small requests at a cost.

    A larger size of a processor's loads counts as a new part, because it is a property of cores.
    """
    is_of_headers = one.kind == "credit" and (one.detail or "").endswith("headers")
    is_of_lines = one.kind == "memory" and one.detail is None
    is_of_commands = one.kind == "outstanding" and one.detail == "commands"
    if is_of_headers or is_of_lines or is_of_commands or one.kind == "tags":
        more = {flow: _more_at_once(present, flow) for flow in one.flows}
        found = {
            join_path(("flows", flow, "request_size")): most
            for flow, most in more.items()
            if most is not None
        }
        if found:
            yield setting(present, found)
    if one.kind == "tags":
        tables = [table for table in map(present.table, one.where) if table.startswith("hosts.")]
        loads: dict[str, Value] = {f"{table}.{READ_REQUEST}": _OF_CORE for table in tables}
        if loads:
            yield replace(setting(present, loads), is_part=True)


def _more_at_once(present: Present, flow: str) -> Value:
    """The largest possible request of a flow whose software makes smaller requests."""
    own = join_path(("flows", flow))
    size = amount_of(present.scenario.get(f"{own}.request_size"))
    ends = present.ends_of_flow(flow)
    direction = present.value(f"{own}.direction")
    if size is None or direction == "round-trip":
        return None
    most: Value
    if any(map(present.is_drive, ends)):
        most = _OF_DRIVE
    elif direction == "read":
        most = present.value(f"{present.table(ends[0])}.{READ_REQUEST}")
    else:
        most = f"{int(min(map(present.payload_supported, ends)))} B"
    return most if size < (amount_of(most) or 0.0) else None
