"""Rates in closed form: the share of a wire, credits a round trip, tags a round trip.

A formula needs one limit that is well below all others, and traffic that does not depend on the
order in which packets of both directions meet. `rates` says None where that is not so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from arithmetic.configuration import Class
from arithmetic.credits import buffers
from arithmetic.wire import COMPLETION_HEADER, DLLP, FRAMING, REFRESH_NS, TICKS_PER_NS, ticks

if TYPE_CHECKING:
    from arithmetic.configuration import Configuration, Flow
    from arithmetic.credits import Buffer, Store
    from arithmetic.wire import Rate

NARROW = 0.008
"""Relative width of what a formula leaves open, at most."""

CLEAR = 1.04
"""How far a limit must be from the next one."""


@dataclass(frozen=True)
class Range:
    """The least and the greatest that a value can be."""

    least: float
    most: float

    @property
    def middle(self) -> float:
        return (self.least + self.most) / 2

    @property
    def is_narrow(self) -> bool:
        return self.most - self.least <= NARROW * self.middle


@dataclass(frozen=True)
class Hop:
    """One direction of a link, on the path of a packet."""

    configuration: Configuration = field(compare=False)
    sender: str
    receiver: str

    @property
    def rate(self) -> Rate:
        below = self.sender
        if below == "h" or self.configuration.above(below) != self.receiver:
            below = self.receiver
        return self.configuration.links[below].rate

    @property
    def flight(self) -> int:
        """From the data link layer of one end to that of the other."""
        below = self.sender if self.rate_of(self.sender) else self.receiver
        delay = self.configuration.links[below].delay_ns
        return ticks(delay + sum(map(self._pipeline, (self.sender, self.receiver))))

    def rate_of(self, node: str) -> bool:
        """Whether `node` is the lower end."""
        other = self.receiver if node == self.sender else self.sender
        return node != "h" and self.configuration.above(node) == other

    def _pipeline(self, node: str) -> float:
        if node == "h":
            return self.configuration.host.port_latency_ns
        switch = self.configuration.switches.get(node)
        return switch.port_latency_ns if switch else 0.0

    def buffer(self, kind: Class) -> Buffer:
        """The receive buffer at the end of the hop."""
        node = self.receiver
        counts = node not in self.configuration.devices
        return buffers(self.configuration, self.rate, self.configuration.port(node), counts=counts)[
            kind
        ]

    @property
    def rest(self) -> float:
        """The share of the wire that ordered sets and refreshes leave, without other DLLPs."""
        limited = 3 if self.sender not in self.configuration.devices else 2
        refreshes = limited * self.rate.time(DLLP) / ticks(REFRESH_NS)
        return 1 - self.rate.skip_cost / self.rate.skip_interval - refreshes


def rates(configuration: Configuration) -> list[float] | None:
    """The rate of each flow in bytes a second; none where no formula holds."""
    if configuration.kind in ("write", "peer"):
        intervals = _writes(configuration)
    elif configuration.kind == "read":
        intervals = _reads(configuration)
    elif configuration.kind == "two-way":
        intervals = _both_ways(configuration)
    else:
        return None
    if intervals is None:
        return None
    return [
        configuration.measured(flow) / interval * TICKS_PER_NS * 1e9
        for flow, interval in zip(configuration.flows, intervals, strict=True)
    ]


def bounds(configuration: Configuration) -> list[tuple[float, float]] | None:
    """The least and the greatest rate of the writes of one device, whose credit comes in parts."""
    if configuration.kind not in ("write", "peer") or len(configuration.flows) > 1:
        return None
    flow = configuration.flows[0]
    hops = _hops(configuration, flow.source, flow.target)
    wire, credit = _limits(configuration, flow, hops)
    rates = [min(wire, limit) for limit in (credit.least, credit.most)]
    least, most = (rate * configuration.measured(flow) * TICKS_PER_NS * 1e9 for rate in rates)
    return [(least, most)]


def _hops(configuration: Configuration, source: str, target: str) -> list[Hop]:
    path = configuration.path(source, target)
    return [Hop(configuration, *pair) for pair in pairwise(path)]


# Writes one way.


def _writes(configuration: Configuration) -> list[float] | None:
    """The time between two packets of each flow.

    A switch lets its ingress ports take turns, so that flows get equal numbers of packets up to
    what each can use: the greatest common rate at which no wire is full, and so on without those
    that pass a full one.
    """
    flows = configuration.flows
    paths = {flow: _hops(configuration, flow.source, flow.target) for flow in flows}
    if len(flows) == 1:
        return _single(configuration, flows[0], paths[flows[0]])
    shares = _water_filling(configuration, flows, paths)
    if shares is None:
        return None
    together: dict[Hop, float] = {}
    for flow in flows:
        for hop in paths[flow]:
            together[hop] = together.get(hop, 0.0) + shares[flow]
    for flow in flows:
        limits = _credit_rates(configuration, flow, paths[flow])
        for hop, credit in zip(paths[flow], limits, strict=True):
            if together[hop] * CLEAR > credit.least:
                return None
    return [1 / shares[flow] for flow in flows]


def _single(configuration: Configuration, flow: Flow, hops: list[Hop]) -> list[float] | None:
    wire, credit = _limits(configuration, flow, hops)
    if wire * CLEAR < credit.least:
        return [1 / wire]
    if credit.most * CLEAR < wire and credit.is_narrow:
        return [1 / credit.middle]
    return None


def _limits(configuration: Configuration, flow: Flow, hops: list[Hop]) -> tuple[float, Range]:
    """The packets a tick that the wires and the credits of a path allow."""
    limits = _credit_rates(configuration, flow, hops)
    credit = Range(min(one.least for one in limits), min(one.most for one in limits))
    return min(hop.rest / hop.rate.time(_size(configuration, flow)) for hop in hops), credit


def _size(configuration: Configuration, flow: Flow) -> int:
    payload = 0 if flow.is_read else configuration.pieces(flow)[0]
    return FRAMING + configuration.header(flow) + payload


def _water_filling(
    configuration: Configuration, flows: list[Flow], paths: dict[Flow, list[Hop]]
) -> dict[Flow, float] | None:
    """The rate of packets of each flow, max-min fair at every wire.

    None where packets of several sizes wait for the credit of another wire: those that need less
    find enough sooner, and their port does not wait for its turn.
    """
    used: dict[Hop, list[Flow]] = {}
    for flow in flows:
        for hop in paths[flow]:
            used.setdefault(hop, []).append(flow)
    rates: dict[Flow, float] = {}
    while len(rates) < len(flows):
        levels = {}
        for hop, users in used.items():
            free = [flow for flow in users if flow not in rates]
            if free:
                time = hop.rate.time
                taken = sum(
                    rates[flow] * time(_size(configuration, flow))
                    for flow in users
                    if flow in rates
                )
                needed = sum(time(_size(configuration, flow)) for flow in free)
                levels[hop] = (hop.rest - taken) / needed
        full = min(levels, key=lambda hop: levels[hop])
        free = [flow for flow in used[full] if flow not in rates]
        before = {_previous(paths[flow], full) for flow in free}
        if len(before) < len(free) and len({_size(configuration, flow) for flow in free}) > 1:
            return None
        for flow in used[full]:
            rates.setdefault(flow, levels[full])
    return rates


def _previous(path: list[Hop], hop: Hop) -> Hop | None:
    """The hop by which a path comes to `hop`."""
    place = path.index(hop)
    return path[place - 1] if place else None


def _credit_rates(configuration: Configuration, flow: Flow, hops: list[Hop]) -> list[Range]:
    """Requests a tick that the credits of each hop allow: those for N packets, a round trip."""
    after: list[Hop | None] = [*hops[1:], None]
    return [
        _credit_rate(configuration, flow, hop, onward)
        for hop, onward in zip(hops, after, strict=True)
    ]


def _credit_rate(configuration: Configuration, flow: Flow, hop: Hop, onward: Hop | None) -> Range:
    kind = Class.NON_POSTED if flow.is_read else Class.POSTED
    stores = hop.buffer(kind).stores
    if stores is None:
        return Range(math.inf, math.inf)
    window, told = _window(configuration, flow, stores)
    symbol, dllp = hop.rate.symbol, hop.rate.time(DLLP)
    hold = _hold(configuration, flow, hop, onward)
    trip = hop.rate.time(_size(configuration, flow)) + dllp + 2 * hop.flight
    # A transmitter that was idle waits for a symbol; an UpdateFC waits for an Ack.
    longest = trip + hold.most + 2 * symbol + dllp
    return Range(max(1, window - told + 1) / longest, window / (trip + hold.least))


def _window(
    configuration: Configuration, flow: Flow, stores: tuple[Store, Store]
) -> tuple[int, int]:
    """The packets that credits allow, and the number of freed ones that makes an UpdateFC due."""
    headers, data = stores
    told = max(headers.threshold, headers.unit)
    if flow.is_read:
        return headers.size, told
    needed = -(-configuration.pieces(flow)[0] // 16)
    by_data = max(1, -(-max(data.threshold, data.unit) // needed))
    return min(headers.size, data.size // needed), min(told, by_data)


def _hold(configuration: Configuration, flow: Flow, hop: Hop, onward: Hop | None) -> Range:
    """The time for which a request stays in a receive buffer after its last bit."""
    size = _size(configuration, flow)
    if onward is None:
        if hop.receiver != "h":
            return Range(0, 0)
        host = configuration.host
        moved = flow.request if flow.is_read else configuration.pieces(flow)[0]
        lines = max(1, -(-moved // host.line)) * host.line
        latency = host.read_latency_ns if flow.is_read else 0.0
        behind = host.latency_ns - host.port_latency_ns
        time = ticks(behind + lines / host.memory_bandwidth + latency)
        return Range(time, time)
    switch = configuration.switches[hop.receiver]
    core, out = ticks(switch.core_latency_ns), onward.rate.time(size)
    if not switch.cut_through:
        return Range(core + out, core + out + onward.rate.symbol)
    rest = hop.rate.time(size - FRAMING // 2 - configuration.header(flow))
    time = max(core - rest, core - out) + out
    return Range(time, time + onward.rate.symbol)


# Writes both ways.


def _both_ways(configuration: Configuration) -> list[float] | None:
    """The time between two packets of each of two flows that go to each other's source.

    One link must be the limit of both, so that its receivers never wait for what is behind them.
    """
    there, back = configuration.flows
    hops = _hops(configuration, there.source, there.target)
    ranges = [_exchange(configuration, there, back, hop) for hop in hops]
    slowest = max(range(len(ranges)), key=lambda index: ranges[index][0].middle)
    for index, found in enumerate(ranges):
        if index != slowest and any(
            one.most * CLEAR > limit.least
            for one, limit in zip(found, ranges[slowest], strict=True)
        ):
            return None
    found = ranges[slowest]
    for flow, gap in zip((there, back), found, strict=True):
        path = _hops(configuration, flow.source, flow.target)
        if not gap.is_narrow or any(
            # The UpdateFC also waits for a packet of the other direction.
            one.least * gap.least < CLEAR + path[index].rate.time(4096 + 24) / gap.least
            for index, one in enumerate(_credit_rates(configuration, flow, path))
        ):
            return None
    return [gap.middle for gap in found]


def _exchange(
    configuration: Configuration, there: Flow, back: Flow, hop: Hop
) -> tuple[Range, Range]:
    """The time between two packets each way, if the link of a hop is the limit both ways."""
    other = Hop(configuration, hop.receiver, hop.sender)
    times = [hop.rate.time(_size(configuration, flow)) for flow in (there, back)]
    gaps = [Range(time, 2 * time) for time in times]
    for _ in range(20):
        made = []
        for mine, wire in enumerate((hop, other)):
            # DLLPs on this wire are for the packets of the other direction.
            arriving = gaps[1 - mine]
            port = configuration.port(wire.sender)
            longest = times[mine] + 2 * wire.rate.time(DLLP)
            limit = wire.rate.ack_limit(configuration.max_payload)
            opposite = (there, back)[1 - mine]
            stores = (other if mine == 0 else hop).buffer(Class.POSTED).stores
            told = _window(configuration, opposite, stores)[1] if stores else 0
            acks = _dllps(port.ack_packets, limit * port.ack_limit_fraction, arriving, longest)
            updates = _dllps(told, limit, arriving, longest)
            dllp = wire.rate.time(DLLP)
            least = wire.rest - dllp * (acks.most + updates.most) / arriving.least
            most = wire.rest - dllp * (acks.least + updates.least) / arriving.most
            made.append(Range(times[mine] / most, times[mine] / max(least, 0.3)))
        gaps = made
    return gaps[0], gaps[1]


# Reads one way.


def _reads(configuration: Configuration) -> list[float] | None:
    """The time between two reads of each flow: completions fill a wire, or tags run out.

    Several devices share the wire evenly where all is alike, because their reads wait in one queue.
    """
    flows, count = configuration.flows, len(configuration.flows)
    devices = [configuration.devices[flow.source] for flow in flows]
    trip = _read_trip(configuration, flows[0])
    trips = {_read_trip(configuration, flow) for flow in flows}
    if len(trips | {flow.request for flow in flows}) > 2 or len({one.tags for one in devices}) > 1:
        return None
    tags = devices[0].tags * count
    idle = Range(tags / trip.most, tags / trip.least)
    shared = _hops(configuration, "h", flows[0].source)[: -1 if count > 1 else None]
    wires = [_completions_rate(hop, flows[0]) for hop in shared]
    if not wires:
        return None
    wire = min(wires, key=lambda one: one.middle)
    fastest = min(wire.most, idle.most)
    for flow in flows:
        requests = _credit_rates(configuration, flow, _hops(configuration, flow.source, "h"))
        if min(one.least for one in requests) < CLEAR * fastest:
            return None
    if wire.most * CLEAR < idle.least and wire.is_narrow:
        return [count / wire.middle] * count
    if idle.most * CLEAR < wire.least and idle.is_narrow and count == 1:
        return [1 / idle.middle]
    return None


def _completions_rate(hop: Hop, flow: Flow) -> Range:
    """Reads a tick whose completions fill the wire of a hop.

    The wire also carries the Acks of the requests, and the UpdateFCs that return their credit.
    """
    configuration, time = hop.configuration, hop.rate.time
    pieces = configuration.pieces(flow)
    completions = sum(time(FRAMING + COMPLETION_HEADER + payload) for payload in pieces)
    longest = time(FRAMING + COMPLETION_HEADER + max(pieces)) + hop.rate.skip_length
    port = configuration.port(hop.sender)
    back = Hop(configuration, hop.receiver, hop.sender)
    limit = hop.rate.ack_limit(configuration.max_payload)
    found = Range(0.0, hop.rest / completions)
    for _ in range(8):
        gap = Range(1 / found.most, 1 / max(found.least, found.most / 2))
        acks = _dllps(port.ack_packets, limit * port.ack_limit_fraction, gap, longest)
        stores = back.buffer(Class.NON_POSTED).stores
        after = max(stores[0].threshold, stores[0].unit) if stores else 0
        updates = _dllps(after, limit, gap, longest)
        dllps = Range(acks.least + updates.least, acks.most + updates.most)
        found = Range(
            hop.rest / (completions + dllps.most * time(DLLP)),
            hop.rest / (completions + dllps.least * time(DLLP)),
        )
    return found


def _dllps(after: int, limit: float, gap: Range, longest: float) -> Range:
    """DLLPs for each packet that arrives, where one is due after so many packets or after a time.

    It waits for the packet on its wire, and stands for what arrives in the meantime, too.
    """
    first = [
        min(limit, (after - 1) * between) if after else limit for between in (gap.most, gap.least)
    ]
    packets = int(first[0] // gap.most) + 1, int((first[1] + longest) // gap.least) + 1
    return Range(1 / packets[1], 1 / packets[0])


def _read_trip(configuration: Configuration, flow: Flow) -> Range:
    """From a request to its last completion on an idle fabric."""
    host = configuration.host
    hops = _hops(configuration, flow.source, "h")
    size = FRAMING + configuration.header(flow)
    slack = 0.0
    complete = _traverse(configuration, hops, [size], 0, configuration.header(flow))
    behind = ticks(host.latency_ns - host.port_latency_ns)
    lines = max(1, -(-flow.request // host.line)) * host.line / host.memory_bandwidth
    ready = complete + 2 * behind + ticks(host.read_latency_ns + lines)
    sizes = [FRAMING + COMPLETION_HEADER + payload for payload in configuration.pieces(flow)]
    back = _hops(configuration, "h", flow.source)
    end = _traverse(configuration, back, sizes, ready, COMPLETION_HEADER)
    for hop in [*hops, *back]:
        # A symbol, an Ack and an UpdateFC on the way.
        slack += hop.rate.symbol + 2 * hop.rate.time(DLLP)
    busy = sum(map(back[0].rate.time, sizes))
    skips = hops[0].rate.skip_cost / hops[0].rate.skip_interval * busy
    return Range(end + skips, end + slack + skips)


def _traverse(
    configuration: Configuration, hops: list[Hop], sizes: list[int], ready: int, header: int
) -> int:
    """When the last of some packets, all ready at once, is complete at the end of a path."""
    begins = [ready] * len(sizes)
    ends: list[int] = []
    for index, hop in enumerate(hops):
        free, ends, nexts = 0, [], []
        onward = hops[index + 1] if index + 1 < len(hops) else None
        for begin, size in zip(begins, sizes, strict=True):
            start = max(begin, free)
            free = start + hop.rate.time(size)
            ends.append(free + hop.flight)
            if onward is None:
                continue
            switch = configuration.switches[hop.receiver]
            core = ticks(switch.core_latency_ns)
            seen = start + hop.rate.time(FRAMING // 2 + header) + hop.flight
            first = seen if switch.cut_through else ends[-1]
            nexts.append(max(first + core, ends[-1] + core - onward.rate.time(size)))
        begins = nexts
    return ends[-1]
