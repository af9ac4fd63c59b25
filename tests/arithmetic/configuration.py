"""What a configuration is: links, ports and nodes of a fabric, and who moves what through it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arithmetic.wire import Rate


class Class(IntEnum):
    """The types of flow control (2.6.1)."""

    POSTED = 0
    NON_POSTED = 1
    COMPLETION = 2


@dataclass(frozen=True)
class Port:
    """What the ports of a node do, by the keys of a profile."""

    ack_packets: int = 0
    ack_limit_fraction: float = 1.0
    update_fc_packets: int = 0
    update_fc_share: float = 0.25
    update_fc_delay_ns: float | None = None
    scaled_flow_control: bool | None = None
    headers: tuple[int | None, int | None] = (None, None)
    """Header credits for posted and for non-posted requests; none for the default of the link."""
    data: tuple[int | None, int | None] = (None, None)
    """Bytes of the buffers for their data."""


@dataclass(frozen=True)
class Link:
    """The link from a node up to the one above it."""

    rate: Rate
    delay_ns: float = 1.0


@dataclass(frozen=True)
class Host:
    """A root complex and its memory."""

    latency_ns: float = 100.0
    port_latency_ns: float = 50.0
    read_latency_ns: float = 80.0
    memory_bandwidth: float = 204.8
    """GB/s."""
    line: int = 64
    address_bits: int = 32
    largest_completion: int = 4096


@dataclass(frozen=True)
class Switch:
    """A switch, by its latencies."""

    above: str
    latency_ns: float = 150.0
    core_latency_ns: float = 50.0
    cut_through: bool = True

    @property
    def port_latency_ns(self) -> float:
        """Time in the PHY and the pipeline of a port, each way."""
        return (self.latency_ns - self.core_latency_ns) / 2


@dataclass(frozen=True)
class Device:
    """A device with a DMA engine."""

    above: str
    tags: int = 32
    max_read_request: int = 512


@dataclass(frozen=True)
class Flow:
    """Writes of a device to host memory or to another device, or reads from host memory."""

    source: str
    target: str
    is_read: bool
    request: int
    """Bytes of a request: a power of two, so that none crosses 4 KiB (2.2.7)."""


@dataclass(frozen=True)
class Configuration:
    """A fabric and its flows."""

    name: str
    kind: str
    max_payload: int
    host: Host
    switches: dict[str, Switch]
    devices: dict[str, Device]
    links: dict[str, Link]
    """By the lower end."""
    ports: dict[str, Port]
    """By node; a node without an entry has the defaults."""
    flows: list[Flow]
    default: Port = field(default_factory=Port)

    def port(self, node: str) -> Port:
        """What the ports of `node` do."""
        return self.ports.get(node, self.default)

    def above(self, node: str) -> str:
        """The node above `node`."""
        return (self.switches.get(node) or self.devices[node]).above

    def path(self, source: str, target: str) -> list[str]:
        """The nodes from `source` to `target`."""
        up, down = [source], [target]
        while up[-1] != "h":
            up.append(self.above(up[-1]))
        while down[-1] not in up:
            down.append(self.above(down[-1]))
        return up[: up.index(down[-1]) + 1] + down[-2::-1]

    def pieces(self, flow: Flow) -> list[int]:
        """The payloads of a request's writes, or of its completions."""
        most = self.max_payload
        if flow.is_read:
            most = min(most, self.host.largest_completion)
        return [min(most, flow.request)] * max(1, flow.request // most)

    def burst(self, flow: Flow) -> int:
        """How many requests come at once: those of all tags, or those for which there is credit."""
        if flow.is_read:
            return self.devices[flow.source].tags
        bursts = []
        for node in self.path(flow.source, flow.target)[1:]:
            headers, data = self.port(node).headers[0], self.port(node).data[0]
            needed = -(-self.pieces(flow)[0] // 16) * 16
            bursts += [headers] if headers else []
            bursts += [data // needed] if data else []
        return min(bursts, default=1)

    def packets(self, flow: Flow) -> int:
        """The packets with data of what is counted at once: a read, or a packet of a write."""
        return len(self.pieces(flow)) if flow.is_read else 1

    def measured(self, flow: Flow) -> int:
        """Bytes that are counted at once: a read, or a packet of a write."""
        return flow.request if flow.is_read else self.pieces(flow)[0]

    def header(self, flow: Flow) -> int:
        """Bytes of a request's header: four dwords with an address of 64 bits (2.2.4.1)."""
        return 16 if flow.target == "h" and self.host.address_bits == 64 else 12
