"""Finds other places for devices and for data: slots, root ports, quadrants and sockets."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import TYPE_CHECKING

from peerlane.dotted import join_path
from peerlane.explaining.lift import Lifting, setting
from peerlane.results.bottleneck import without_numbers
from peerlane.results.waits import PEER_PATH, QUADRANT_PATH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane.explaining.present import Present
    from peerlane.results.bottleneck import Bottleneck, Value


_LONG_WAYS = {"tags", "outstanding", "credit"}
"""The kinds of limits whose waits grow with the length of the packets' path."""


def slots(present: Present, one: Bottleneck, rates: Mapping[str, float]) -> Iterator[Lifting]:
    """Changes to other places that may lift the limit of a bottleneck, the cheapest first.

    Args:
        present: The scenario with its present values.
        one: The bottleneck.
        rates: The rate of each flow, in bytes a second.
    """
    yield from _nearer(present, one)
    yield from _other_quadrants(present, one)
    yield from _to_peers(present, one, rates)
    yield from _other_uplinks(present, one, rates)
    yield from _at_root_ports(present, one)


def _nearer(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes that bring memory to the socket of the device, or the device to that of its memory.

    If the connection of sockets is the limit, similar flows are changed together, and in another
    change all flows. If the limit grows with the length of the path, flows that cross sockets are
    changed together. If a memory is the limit, some of its flows get memory at another socket.
    """
    if one.kind == "memory" and one.detail is None:
        yield from _other_memories(present, one)
    if one.kind != "socket" and one.kind not in _LONG_WAYS:
        return
    memories: dict[str, dict[str, Value]] = {}
    slots: dict[str, dict[str, Value]] = {}
    names = (each for where in one.where for each in where.rpartition(".")[2].split("-"))
    between = set(map(int, names)) if one.kind == "socket" else set()
    for flow in one.flows:
        ends = present.ends_of_flow(flow)
        roots = [root for end in ends if (root := present.root_port(end))]
        form = without_numbers(" ".join((flow, *ends))) if between else ""
        memory = join_path(("flows", flow, "socket"))
        numbers = between or {socket for _, socket in roots}
        if len(roots) == 1 and not between:
            at_host = present.value(memory)
            numbers.add(at_host if isinstance(at_host, int) else 0)
        for node, socket in roots[:1]:
            others = numbers - {socket}
            if len(roots) == 1 and others:
                memories.setdefault(form, {})[memory] = socket
            for other in others:
                slots.setdefault(form, {})[f"{present.table(node)}.upstream.socket"] = other
    for groups in (memories, slots):
        alike = list(groups.values())
        all_flows = {path: value for group in alike for path, value in group.items()}
        for group in (*alike, *[all_flows] * (len(alike) > 1)):
            found = setting(present, group)
            yield replace(found, is_setting=groups is memories)


def _other_quadrants(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Other quadrants for root ports that share the path of one, one more root port at each step.

    The link of each root port moves to the quadrant of its socket that has the fewest links.
    """
    if one.detail != QUADRANT_PATH:
        return
    ends = (present.below_port(end) for flow in one.flows for end in present.ends_of_flow(flow))
    shared: dict[tuple[str, int | None, int | None], dict[str, None]] = {}
    for node in ends:
        if (link := node.upstream) is not None:
            shared.setdefault((link.to, link.socket, link.quadrant), {})[node.name] = None
    for (host, socket, quadrant), nodes in shared.items():
        count = present.value(f"{present.table(host)}.quadrants")
        if quadrant is None or not isinstance(count, int):
            continue
        links = [node.upstream for node in present.tree.nodes if node.upstream is not None]
        used = [link.quadrant for link in links if (link.to, link.socket) == (host, socket)]
        moved = list(nodes)[1:]
        before = (quadrant,) * len(moved)
        after: tuple[int, ...] = ()
        for _ in moved:
            after += (min(range(count), key=[*used, *after].count),)
        values = tuple((*after[:more], *before[more:]) for more in range(1, len(moved) + 1))
        if moved:
            keys = tuple(f"{present.table(name)}.upstream.quadrant" for name in moved)
            yield Lifting(keys, before, values)


def _out_of_the_way(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes to root ports for devices whose packets wait behind packets for another link.

    The other link is not on the path of the waiting packets. The first change is a root port for
    the device of this other link.
    """
    behind = [flow for flow in one.flows if not set(one.where).intersection(present.way(flow))]
    if not behind or len(behind) == len(one.flows):
        return
    own = {both[1] for where in one.where if (both := present.ends(where))}
    ends = {end for flow in behind for end in present.ends_of_flow(flow)[:1]}
    for names in (own, ends):
        known = (name for name in sorted(names) if present.upstream_of(name) is not None)
        slots: dict[str, Value] = {
            f"{present.table(name)}.upstream.to": present.root(name) for name in known
        }
        if slots:
            yield setting(present, slots)


def _other_memories(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes by which every second flow uses the memory of the next socket."""
    for host in one.where:
        sockets = present.value(f"{present.table(host)}.sockets")
        if not isinstance(sockets, int) or sockets == 1:
            continue
        for flows in (one.flows[1::2], one.flows[::2]):
            paths = [join_path(("flows", flow, "socket")) for flow in flows]
            now = {path: present.value(path) or 0 for path in paths}
            moved: dict[str, Value] = {
                path: (socket + 1) % sockets
                for path, socket in now.items()
                if isinstance(socket, int)
            }
            if moved:
                yield replace(setting(present, moved), is_setting=True)


def _at_root_ports(present: Present, one: Bottleneck) -> Iterator[Lifting]:
    """Changes to root ports for the ends of round trips, if possible at socket 0."""
    if one.kind != "latency":
        return
    ends = dict.fromkeys(end for flow in one.flows for end in present.ends_of_flow(flow))
    below = [end for end in ends if present.upstream_of(end) not in {None, present.root(end)}]
    if below:
        slots = {f"{present.table(end)}.upstream.to": present.root(end) for end in below}
        yield setting(present, slots)
    far = [root for end in ends if (root := present.root_port(end)) is not None and root[1] > 0]
    if far:
        yield setting(present, {f"{present.table(node)}.upstream.socket": 0 for node, _ in far})


def _other_uplinks(
    present: Present, one: Bottleneck, rates: Mapping[str, float]
) -> Iterator[Lifting]:
    """Changes to other slots for devices that share an uplink, one more device in each step.

    The device with the fastest link comes first, and then the device with the highest rate.
    """
    if one.kind != "wire" or len(one.flows) == 1:
        return
    yield from _out_of_the_way(present, one)
    for where in one.where:
        above, below = present.ends(where) or ("", "")
        moved: dict[str, float] = {}
        for flow in one.flows:
            for end in present.ends_of_flow(flow):
                if present.upstream_of(end) == below:
                    moved[end] = moved.get(end, 0.0) + rates.get(flow, 0.0)
        yield from _one_more(present, dict.fromkeys(list(moved)[::-1], above), moved, most=-1)


def _to_peers(present: Present, one: Bottleneck, rates: Mapping[str, float]) -> Iterator[Lifting]:
    """Changes that connect a device to the node above the other end of its flow.

    These devices send packets to a device below another switch. After the change, the packets cross
    no link between switches, and no path in the host.
    """
    is_of_host = one.detail == PEER_PATH
    if not is_of_host and one.kind not in {"wire", "credit"}:
        return
    below = {both[1] for where in one.where if (both := present.ends(where))}
    targets: dict[str, str] = {}
    moved: dict[str, float] = {}
    for flow in one.flows[::-1]:
        ends = [(end, present.above(end)) for end in present.ends_of_flow(flow)]
        for (end, own), (_, others) in zip(ends, ends[::-1], strict=True):
            is_apart = own[:1] != others[:1] and own[-1:] == others[-1:]  # not one parent
            if not is_apart:
                continue
            if len(others) > 1 if is_of_host else below.intersection(own):
                targets.setdefault(end, others[0])
                moved[end] = moved.get(end, 0.0) + rates.get(flow, 0.0)
                break
    yield from _one_more(present, targets, moved)


def _one_more(
    present: Present,
    targets: Mapping[str, str],
    moved: Mapping[str, float],
    most: int | None = None,
) -> Iterator[Lifting]:
    """A change that connects devices to other nodes, one more device in each step.

    The device with the fastest link comes first, and then the device with the highest rate.
    """
    steps = {end: round(20 * log(max(moved[end], 1.0))) for end in targets}
    ends = sorted(
        targets, key=lambda end: (present.speed(present.own_link(end)), steps[end]), reverse=True
    )[:most]
    if not ends:
        return
    before = tuple(present.above(end)[0] for end in ends)
    after = tuple(targets[end] for end in ends)
    values = tuple((*after[:more], *before[more:]) for more in range(1, len(ends) + 1))
    yield Lifting(tuple(f"{present.table(end)}.upstream.to" for end in ends), before, values)
