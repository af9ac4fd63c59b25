"""The benchmark task on SimPy: endpoint - switch - memory, Gen3 x16, with credits and Acks.

Unlike Peerlane, this program has no checksums, replay, registers, routing by address, ordering
between classes or ordered sets. As a program, this module writes its result as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import simpy

from peerlane.benchmark.peers.measured import PAYLOAD, measured

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

OVERHEAD = 4 + 16 + 4
"""The bytes of a packet in addition to its payload: framing with sequence number, header, LCRC."""
DLLP = 8
BYTE_NS = 130 / 128 / 16
"""The nanoseconds that a byte occupies a wire of Gen3 x16: 8 GT/s on each lane, 128b/130b."""
FLIGHT_NS = 1.0
SWITCH_NS = 100.0
MEMORY_NS = 100.0
"""The delays of a cable, a switch and the memory: our choice. They do not change the number of
events of a packet."""
HEADER_CREDITS = 64
DATA_CREDITS = 64 * PAYLOAD // 16
"""The credits of each receiver, for 64 packets, in headers and in units of 16 bytes: our choice."""
ACK_PACKETS = 4
"""The number of packets after which a receiver sends an Ack and an UpdateFC."""


@dataclass(slots=True)
class Packet:
    """A posted write."""

    address: int
    payload: bytes
    sequence: int = 0


class Link:
    """One direction of a link, with the DLLPs that the receiver sends back."""

    def __init__(self, env: simpy.Environment, deliver: Callable[[Packet], None]) -> None:
        self.env = env
        self.deliver = deliver
        self.queue = simpy.Store(env)
        self.dllps = simpy.Store(env)
        self.headers = simpy.Container(env, HEADER_CREDITS, HEADER_CREDITS)
        self.data = simpy.Container(env, DATA_CREDITS, DATA_CREDITS)
        self.kept: list[Packet] = []
        self.sent = self.arrived = self.freed = 0
        env.process(self.transmit())
        env.process(self.answer())

    def transmit(self) -> Generator[simpy.Event, Any, None]:
        """Sends packets while credits are available, and keeps each packet until its Ack."""
        while True:
            packet: Packet = yield self.queue.get()
            yield self.headers.get(1)
            yield self.data.get(len(packet.payload) // 16)
            packet.sequence = self.sent
            self.sent += 1
            self.kept.append(packet)
            yield self.env.timeout((OVERHEAD + len(packet.payload)) * BYTE_NS)
            self.later(FLIGHT_NS, self.receive, packet)

    def receive(self, packet: Packet) -> None:
        """Delivers a packet, and sends an Ack after every fourth packet."""
        assert packet.sequence == self.arrived, "out of order"  # noqa: S101 - the job's own check
        self.arrived += 1
        if self.arrived % ACK_PACKETS == 0:
            self.dllps.put(("ack", self.arrived))
        self.deliver(packet)

    def free(self) -> None:
        """Returns the credit of a packet that has left the receiver's buffer."""
        self.freed += 1
        if self.freed % ACK_PACKETS == 0:
            self.dllps.put(("credit", ACK_PACKETS))

    def answer(self) -> Generator[simpy.Event, Any, None]:
        """Sends the DLLPs that are queued, one after the other."""
        while True:
            dllp = yield self.dllps.get()
            yield self.env.timeout(DLLP * BYTE_NS)
            self.later(FLIGHT_NS, self.take, dllp)

    def take(self, dllp: tuple[str, int]) -> None:
        """Removes acknowledged packets from the replay buffer, or adds credit."""
        kind, number = dllp
        if kind == "ack":
            while self.kept and self.kept[0].sequence < number:
                self.kept.pop(0)
        else:
            self.headers.put(number)
            self.data.put(number * PAYLOAD // 16)

    def later(self, delay: float, call: Callable[..., None], what: object) -> None:
        """Calls a function after a delay."""
        event = self.env.timeout(delay)
        event.callbacks.append(lambda _: call(what))


def run(tlps: int) -> float:
    """Moves all packets, checks the bytes, and returns the wall time in seconds."""
    data = random.Random(1).randbytes(tlps * PAYLOAD)  # noqa: S311 - payload, not a secret
    memory = bytearray(len(data))
    env = simpy.Environment()
    done = env.event()
    left = tlps

    def store(packet: Packet) -> None:
        nonlocal left
        memory[packet.address : packet.address + len(packet.payload)] = packet.payload
        below_root.free()
        left -= 1
        if not left:
            done.succeed()

    def forward(packet: Packet) -> None:
        below_root.queue.put(packet)
        below_switch.free()

    below_root = Link(env, lambda packet: below_root.later(MEMORY_NS, store, packet))
    below_switch = Link(env, lambda packet: below_switch.later(SWITCH_NS, forward, packet))
    begin = time.perf_counter()
    for address in range(0, len(data), PAYLOAD):
        below_switch.queue.put(Packet(address, data[address : address + PAYLOAD]))
    env.run(until=done)
    wall = time.perf_counter() - begin
    assert memory == data, "bytes differ"  # noqa: S101 - the job's own check
    return wall


if __name__ == "__main__":
    count = int(sys.argv[1])
    print(json.dumps(measured("simpy", count, run(count))))
