"""A fabric walked packet by packet: when each TLP, DLLP and ordered set takes its wire.

The rules are those of PCI Express Base, and of the policies that a configuration names: this is the
arithmetic of packets whose times depend on each other, as those of both directions of a link do.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from arithmetic.configuration import Class
from arithmetic.credits import Buffer, buffers
from arithmetic.wire import COMPLETION_HEADER, DLLP, FRAMING, REFRESH_NS, TICKS_PER_NS, ticks

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from arithmetic.configuration import Configuration, Flow
    from arithmetic.wire import Rate

NEVER = math.inf

SKIPS = 8
"""Ordered sets of the slowest link in a measured time, and more."""


LONGEST = ticks(200e6)
"""No walk takes longer: a fifth of a second."""

BURSTS = 6
"""Bursts of a flow in a measured time, and more."""


class Clock:
    """What happens, in order of time."""

    def __init__(self) -> None:
        self.now = 0
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, time: int, what: Callable[[], None]) -> None:
        """Lets `what` happen at `time`."""
        heapq.heappush(self._agenda, (time, next(self._number), what))

    def run(self, until: int) -> None:
        """Goes on until `until`."""
        while self._agenda and self._agenda[0][0] <= until:
            self.now, _, what = heapq.heappop(self._agenda)
            what()
        self.now = until


@dataclass(slots=True)
class Tlp:
    """A packet of a flow."""

    flow: Flow
    kind: Class
    header: int
    payload: int
    is_last: bool = True

    @property
    def size(self) -> int:
        """Bytes on the wire."""
        return FRAMING + self.header + self.payload

    @property
    def data(self) -> int:
        """Data credits: one for each 16 bytes (2.6.1)."""
        return -(-self.payload // 16)


@dataclass(slots=True)
class Waiting:
    """A packet that waits for a wire, and what happens when its last bit has left."""

    tlp: Tlp
    ready: int
    number: int
    left: Callable[[], None] | None = None


PASSES = {
    (Class.POSTED, Class.NON_POSTED),
    (Class.POSTED, Class.COMPLETION),
    (Class.NON_POSTED, Class.COMPLETION),
    (Class.COMPLETION, Class.NON_POSTED),
}
"""Who may pass whom (2.4.1)."""


class Queue:
    """The packets from one ingress to one wire."""

    def __init__(self) -> None:
        self.by_class: list[deque[Waiting]] = [deque() for _ in Class]

    def choose(self, end: End, name: str, now: int) -> tuple[Waiting | None, float]:
        """The packet that may leave now, or the time at which one is ready.

        A packet that lacks credit blocks the class for the packets of other ingresses (2.6.1).
        """
        heads = [queue[0] for queue in self.by_class if queue]
        if len(heads) > 1:
            heads.sort(key=lambda one: one.number)
        soonest = NEVER
        for index, head in enumerate(heads):
            kind = head.tlp.kind
            if head.ready > now:
                soonest = min(soonest, head.ready)
            elif all((kind, older.tlp.kind) in PASSES for older in heads[:index]):
                if end.blocked_by.get(kind, name) != name:
                    continue
                if end.has_credit(head.tlp):
                    end.blocked_by.pop(kind, None)
                    return head, now
                if end.has_several():
                    end.blocked_by[kind] = name
        return None, soonest


class End:
    """One end of a link: it sends, and takes what the other end sends."""

    def __init__(
        self,
        clock: Clock,
        configuration: Configuration,
        node: str,
        rate: Rate,
        phases: tuple[int, int, int],
    ) -> None:
        """The end at `node` of a link."""
        port = configuration.port(node)
        self.clock, self.rate, self.port = clock, rate, port
        # The phases of the symbol clock, of the blocks, and of the ordered sets.
        self.symbol_phase, self.block_phase, self.next_skip = phases
        self.queues: dict[str, Queue] = {}
        nodes = [*configuration.switches, *configuration.devices]
        self.places = {node: place for place, node in enumerate(nodes, start=1)}
        self.turn = 0
        self.blocked_by: dict[Class, str] = {}
        self.numbers = count()
        self.free = 0
        self.flight = 0
        self.other: End
        self.take: Callable[[Tlp, int], None]
        self.is_cut_through = False
        # What this end may send, and has sent.
        self.limit = [[math.inf, math.inf] for _ in Class]
        self.spent = [[0, 0] for _ in Class]
        # What it has received.
        limit = rate.ack_limit(configuration.max_payload)
        fraction = round(port.ack_limit_fraction * 1000)
        self.ack_limit = limit * fraction // 1000
        delay = port.update_fc_delay_ns
        self.update_delay = limit if delay is None else ticks(delay)
        self.ack_due = NEVER
        self.unacknowledged = 0
        # Endpoints take all completions; a root that forwards them has limits, as switches have.
        counts = node not in configuration.devices
        self.buffers: list[Buffer] = buffers(configuration, rate, port, counts=counts)
        self.pending: set[Class] = set()

    def join(self, other: End, flight: int) -> None:
        """Makes a link of two ends that support the same flow control."""
        for one, far in ((self, other), (other, self)):
            one.other, one.flight = far, flight
            one.limit = [list(buffer.limit()) for buffer in far.buffers]
            for kind, buffer in zip(Class, one.buffers, strict=True):
                if buffer.is_limited:
                    one._refresh_later(kind)

    def begin(self, time: int) -> None:
        """Sends nothing before `time`; what comes in until then waits in buffers."""
        self.free = time
        self.clock.at(time, self.use_wire)

    # Sending.

    def offer(
        self, source: str, tlp: Tlp, ready: int, left: Callable[[], None] | None = None
    ) -> None:
        """Queues a packet from the ingress `source`."""
        queue = self.queues.get(source)
        if queue is None:
            self.queues[source] = queue = Queue()
            # The ports of a switch take turns in their order.
            self.queues = dict(
                sorted(self.queues.items(), key=lambda one: self.places.get(one[0], 0))
            )
        queue.by_class[tlp.kind].append(Waiting(tlp, ready, next(self.numbers), left))
        ready = max(ready, self.clock.now)
        if ready >= self.free:
            self.clock.at(ready, self.use_wire)

    def has_credit(self, tlp: Tlp) -> bool:
        limit, spent = self.limit[tlp.kind], self.spent[tlp.kind]
        return spent[0] + 1 <= limit[0] and spent[1] + tlp.data <= limit[1]

    def has_several(self) -> bool:
        """Whether packets from several ingresses wait."""
        return sum(any(queue.by_class) for queue in self.queues.values()) > 1

    def use_wire(self) -> None:
        """Sends what is due: ordered sets, Ack, UpdateFC, and a TLP (3.6.3.1)."""
        now = self.clock.now
        if now < self.free:
            return
        late = (now - self.symbol_phase) % self.rate.symbol
        if now > self.free and late:
            self.clock.at(now - late + self.rate.symbol, self.use_wire)
            return
        if self._send_skips(now):
            return
        at = now
        if self.ack_due <= now:
            self.ack_due, self.unacknowledged = NEVER, 0
            at += self.rate.time(DLLP)
        for kind in sorted(self.pending):
            at += self.rate.time(DLLP)
            self._announce(kind, at)
        self.pending.clear()
        at = self._send_tlp(at)
        if at > now:
            self.free = at
            self.clock.at(at, self.use_wire)

    def _send_skips(self, now: int) -> bool:
        """SKP ordered sets that are due by now. Whether they take the wire still."""
        rate, end = self.rate, now
        while self.next_skip <= now:
            begin = max(self.free, end if end > now else 0) + rate.skip_token
            begin += (self.block_phase - begin) % rate.skip_alignment
            end = max(begin, self.next_skip) + rate.skip_length
            self.next_skip += rate.skip_interval
        if end <= now:
            return False
        self.free = end
        self.clock.at(end, self.use_wire)
        return True

    def _send_tlp(self, at: int) -> int:
        """Lets the next ingress with a packet that may leave send one. When the wire is free."""
        names = list(self.queues)
        soonest = NEVER
        for step in range(len(names)):
            index = (self.turn + step) % len(names)
            queue = self.queues[names[index]]
            chosen, when = queue.choose(self, names[index], at)
            if chosen is None:
                soonest = min(soonest, when)
                continue
            self.turn = (index + 1) % len(names)
            queue.by_class[chosen.tlp.kind].popleft()
            return self._transmit(chosen, at)
        if soonest < NEVER:
            self.clock.at(int(soonest), self.use_wire)
        return at

    def _transmit(self, chosen: Waiting, at: int) -> int:
        tlp = chosen.tlp
        spent = self.spent[tlp.kind]
        spent[0] += 1
        spent[1] += tlp.data
        end = at + self.rate.time(tlp.size)
        complete = end + self.flight
        other = self.other
        if other.is_cut_through:
            seen = at + self.rate.time(FRAMING // 2 + tlp.header) + self.flight
            self.clock.at(seen, lambda: other.receive(tlp, complete))
        else:
            self.clock.at(complete, lambda: other.receive(tlp, complete))
        if chosen.left is not None:
            self.clock.at(end, chosen.left)
        return end

    # Receiving.

    def receive(self, tlp: Tlp, complete: int) -> None:
        """Takes a packet whose last bit arrives at `complete`."""
        self.buffers[tlp.kind].take(tlp.data)
        if complete == self.clock.now:
            self._acknowledge()
        else:
            self.clock.at(complete, self._acknowledge)
        self.take(tlp, complete)

    def _acknowledge(self) -> None:
        now = self.clock.now
        self.unacknowledged += 1
        if self.unacknowledged == self.port.ack_packets:
            self.ack_due = now
        elif self.ack_due == NEVER:
            self.ack_due = now + self.ack_limit
        else:
            return
        self.clock.at(int(self.ack_due), self.use_wire)

    def release(self, tlp: Tlp) -> None:
        """Frees the buffer of a packet."""
        buffer = self.buffers[tlp.kind]
        if not buffer.is_limited:
            return
        now = self.clock.now
        buffer.free(tlp.data)
        if buffer.since is None and buffer.can_announce():
            buffer.since = now
        if buffer.is_due():
            self.pending.add(tlp.kind)
            self.use_wire()
        elif buffer.since == now:
            self.clock.at(now + self.update_delay, lambda: self._tell_at_the_latest(tlp.kind))

    def _tell_at_the_latest(self, kind: Class) -> None:
        since = self.buffers[kind].since
        if since is not None and since + self.update_delay <= self.clock.now:
            self.pending.add(kind)
            self.use_wire()

    def _announce(self, kind: Class, end: int) -> None:
        """Sends the limits of `kind` by a DLLP that ends at `end`."""
        limit = self.buffers[kind].announce()
        far = self.other

        def arrive() -> None:
            far.limit[kind] = list(limit)
            far.use_wire()

        self.clock.at(end + self.flight, arrive)
        self._refresh_later(kind)

    def _refresh_later(self, kind: Class) -> None:
        buffer = self.buffers[kind]
        buffer.announcements += 1
        number = buffer.announcements

        def refresh() -> None:
            if buffer.announcements == number:
                self.pending.add(kind)
                self.use_wire()

        self.clock.at(self.clock.now + ticks(REFRESH_NS), refresh)


@dataclass
class Meter:
    """The times at which the requests of a flow are complete."""

    times: list[int] = field(default_factory=list)

    def interval(self, burst: int) -> float:
        """The mean time between requests that come in bursts of so many.

        It is the mean over pairs of requests that are whole bursts apart.
        """
        apart = max(1, len(self.times) // 2 // burst) * burst
        pairs = list(zip(self.times, self.times[apart:], strict=False))
        return sum(last - first for first, last in pairs) / len(pairs) / apart


@dataclass
class Walk:
    """A configuration, walked for a time."""

    configuration: Configuration
    clock: Clock = field(default_factory=Clock)
    ends: dict[tuple[str, str], End] = field(default_factory=dict)
    """The end at the first node of the link between two."""
    meters: dict[Flow, Meter] = field(default_factory=dict)
    memory_free: int = 0
    phases: Random | None = None
    """Draws what is left open: phases of clocks, and when links and flows begin; none for zero."""

    def __post_init__(self) -> None:
        for below in [*self.configuration.switches, *self.configuration.devices]:
            self._link(below, self.configuration.above(below))
        for flow in self.configuration.flows:
            self.meters[flow] = Meter()

    def rates(self, packets: int) -> list[float]:
        """The steady rate of each flow in bytes a second, over so many of its packets and more."""
        configuration, flows = self.configuration, self.configuration.flows
        for flow in flows:
            start = 0 if self.phases is None else self.phases.randrange(ticks(10_000.0))
            self.clock.at(start, partial(self._begin, flow))
        self._run_until(self._warm_up())
        self.meters = {flow: Meter() for flow in flows}
        slowest = max(link.rate.skip_interval for link in configuration.links.values())
        bursts = {flow: configuration.burst(flow) for flow in flows}
        numbers = [
            max(packets // configuration.packets(flow), BURSTS * bursts[flow]) for flow in flows
        ]
        self._run_until(numbers, SKIPS * slowest)
        return [
            configuration.measured(flow)
            / self.meters[flow].interval(bursts[flow])
            * TICKS_PER_NS
            * 1e9
            for flow in flows
        ]

    def _warm_up(self) -> list[int]:
        """What each flow moves before it is measured: its reads go round, and buffers fill."""
        tags = [
            self.configuration.devices[flow.source].tags
            for flow in self.configuration.flows
            if flow.is_read
        ]
        return [max(100, 2 * max(tags, default=0))] * len(self.meters)

    def _run_until(self, numbers: list[int], time: float = 0) -> None:
        """Goes on until each flow has moved so many requests, and for this time at least."""
        until = self.clock.now + time
        while self.clock.now < until or any(
            len(meter.times) < number
            for meter, number in zip(self.meters.values(), numbers, strict=True)
        ):
            self.clock.run(self.clock.now + ticks(1000.0))
            if self.clock.now > LONGEST:
                raise RuntimeError(f"{self.configuration.name}: a flow makes no progress")

    def _link(self, below: str, above: str) -> None:
        configuration = self.configuration
        link = configuration.links[below]
        ends = []
        for node, far in ((below, above), (above, below)):
            end = End(self.clock, configuration, node, link.rate, self._phases(link.rate))
            switch = configuration.switches.get(node)
            end.is_cut_through = switch is not None and switch.cut_through
            end.take = self._taker(node, far, end)
            self.ends[node, far] = end
            ends.append(end)
        flight = ticks(sum(self._pipeline(node) for node in (below, above)) + link.delay_ns)
        if self.phases is not None:
            # Half a symbol more or less, which a clock of its own takes to notice an arrival.
            flight += self.phases.randrange(link.rate.symbol) - link.rate.symbol // 2
            for end in ends:
                end.begin(self.phases.randrange(ticks(3000.0)))
        ends[0].join(ends[1], flight)

    def _phases(self, rate: Rate) -> tuple[int, int, int]:
        if self.phases is None:
            return 0, 0, rate.skip_interval
        below = self.phases.randrange
        block = below(rate.skip_alignment)
        return block % rate.symbol, block, block + below(rate.skip_interval)

    def _pipeline(self, node: str) -> float:
        if node == "h":
            return self.configuration.host.port_latency_ns
        switch = self.configuration.switches.get(node)
        return switch.port_latency_ns if switch else 0.0

    def _taker(self, node: str, far: str, end: End) -> Callable[[Tlp, int], None]:
        if node == "h":
            return lambda tlp, complete: self._take_at_host(tlp, complete, end)
        if node in self.configuration.switches:
            return lambda tlp, complete: self._forward(tlp, complete, (node, far), end)
        return lambda tlp, _: self._take_at_device(tlp, end)

    def _begin(self, flow: Flow) -> None:
        """Sends what a flow may send at once: all its reads, or writes that follow each other."""
        source = flow.source
        end = self.ends[source, self.configuration.above(source)]
        if flow.is_read:
            for _ in range(self.configuration.devices[source].tags):
                self._request(flow, end)
        else:
            for _ in range(8):
                self._write(flow, end)

    def _write(self, flow: Flow, end: End) -> None:
        payload = self.configuration.pieces(flow)[0]
        tlp = Tlp(flow, Class.POSTED, self.configuration.header(flow), payload)
        end.offer("engine", tlp, self.clock.now, lambda: self._write(flow, end))

    def _request(self, flow: Flow, end: End) -> None:
        tlp = Tlp(flow, Class.NON_POSTED, self.configuration.header(flow), 0)
        end.offer("engine", tlp, self.clock.now)

    def _next_hop(self, node: str, target: str) -> str:
        return self.configuration.path(node, target)[1]

    def _forward(self, tlp: Tlp, complete: int, place: tuple[str, str], end: End) -> None:
        """A switch passes a packet on after its latency, so that a faster link does not run dry."""
        node, far = place
        switch = self.configuration.switches[node]
        is_down = tlp.kind == Class.COMPLETION
        target = tlp.flow.source if is_down else tlp.flow.target
        egress = self.ends[node, self._next_hop(node, target)]
        core = ticks(switch.core_latency_ns)
        last = complete + core - egress.rate.time(tlp.size)
        ready = max(self.clock.now + core, last)
        egress.offer(far, tlp, ready, lambda: end.release(tlp))

    def _lines(self, size: int) -> int:
        host = self.configuration.host
        lines = max(1, -(-size // host.line))
        return ticks(lines * host.line / host.memory_bandwidth)

    def _take_at_host(self, tlp: Tlp, complete: int, end: End) -> None:
        host = self.configuration.host
        behind = ticks(host.latency_ns - host.port_latency_ns)
        begin = max(self.memory_free, complete + behind)
        if tlp.kind == Class.POSTED:
            done = self.memory_free = begin + self._lines(tlp.payload)
            self.clock.at(done, lambda: self._written(tlp, end))
        else:
            self.memory_free = begin + self._lines(tlp.flow.request)
            due = self.memory_free + ticks(host.read_latency_ns)
            self.clock.at(due, lambda: self._answer(tlp, due + behind, end))

    def _written(self, tlp: Tlp, end: End) -> None:
        self._count(tlp)
        end.release(tlp)

    def _answer(self, request: Tlp, ready: int, end: End) -> None:
        pieces = self.configuration.pieces(request.flow)
        for number, payload in enumerate(pieces, start=1):
            is_last = number == len(pieces)
            tlp = Tlp(request.flow, Class.COMPLETION, COMPLETION_HEADER, payload, is_last)
            end.offer("memory", tlp, ready)
        end.release(request)

    def _take_at_device(self, tlp: Tlp, end: End) -> None:
        end.release(tlp)
        self._count(tlp)
        if tlp.kind == Class.COMPLETION and tlp.is_last:
            self._request(tlp.flow, end)

    def _count(self, tlp: Tlp) -> None:
        if tlp.is_last:
            self.meters[tlp.flow].times.append(self.clock.now)
