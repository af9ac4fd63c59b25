"""Defines the constants of the experiments of chpp, and simulates one message."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine
from peerlane.systems.measured import latency, sound

PRIMITIVES = ("nap-immediate", "nap-indirect", "put", "get")
WAY = ("n0", "n1")


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use in addition to the scenario."""

    start: str = "5 us"
    """The start of a message: at this time, the controllers have fetched the first buffers'
    addresses."""
    transfer: str = "2 MiB"
    """The size of a long PUT whose rate is measured."""
    uniform_message: str = "512 B"
    """The size of messages in figure 19, which the source does not state: the least size for which
    a processor can write doorbells fast enough at full load."""
    functions: int = 8
    """The number of functions of a controller that send at once: the physical and all virtual
    ones."""
    outstanding: int = 32
    """The largest number of messages of a function that are under way at once."""
    largest_put: str = "8 KiB"
    """The largest of the random sizes of PUTs; the source states no range, and ours begins at 1
    byte."""
    settled: float = 1.0
    """The largest difference between two shares, in percent of the bandwidth, that counts as
    settled."""
    read: int = 128
    """The size of a read request, and of each completion that answers it, in bytes."""
    message: int = 2048
    """The size of a message in the LogP model, M, in bytes."""
    window: tuple[str, str] = ("20 us", "80 us")
    """The interval in which messages are counted."""
    end: str = "90 us"
    """The time at which senders stop; it is after the end of `window`."""
    seldom_load: str = "0.1 MB/s"
    """The load of messages of one byte, so low that no message waits for another."""
    seldom_time: str = "300 us"
    """The duration of the workload with the load `seldom_load`; its messages begin at all phases of
    the engine's clock."""
    crowded_from: str = "500 us"
    """The begin of the interval in which the bandwidths of functions are measured; they are steady
    from this time on."""
    crowded_until: str = "1 ms"
    """The end of the interval in which the bandwidths of functions are measured; no message begins
    after it."""
    move_us: int = 500
    """The time in microseconds until a queue pair moves to another function."""
    seldom_count: int = 40
    """The number of messages of a function that sends one at a time, which all end before
    `crowded_until`."""
    longer_read: int = 8
    """The cycles by which a memory read is longer in another interpretation of Table 2.

    An indirect NAP takes 151 cycles more than an immediate NAP; a memory read takes 130 of these
    cycles, and the data path 13.
    """
    read_request: str = "512 B"
    """The size of a larger read request for figure 19, which the source does not exclude."""
    larger_message: str = "1.5 KiB"
    """The size of messages with which the simulation has both published throughputs of figure 19,
    if read requests have the size `read_request`."""
    apart_us: int = 20
    """The time between messages of a network, in microseconds, so long that no two messages
    meet."""
    crowd: int = 64
    """The number of processors of the networks in which all processors send at once."""
    cables: int = 3
    """The number of cables on the path of the message whose packets are measured."""
    completion: int = 128
    """The size of a completion in bytes, from the source's MTU."""
    length_bits: int = 10
    """The bits of a TLP's field Length, which counts double words (PCIe Base 2.2.1)."""


FEWER = Constants(transfer="256 KiB")
"""The constants of a sensitivity study; a short transfer suffices, because only relative changes
matter."""

Machine = machine.Machine[Constants]


def cycle_ns(machine: Machine) -> float:
    """The duration of a cycle of the engine, in nanoseconds."""
    return 1e3 / machine.value("profiles.virtex6.clock")


def alone_ns(machine: Machine, primitive: str, size: int) -> float:
    """The time from the store to the doorbell until the other program has seen the end, in ns."""
    start = machine.constants.start
    fabric = machine.fabric().flow(*WAY, primitive=primitive, size=f"{size} B", start=start)
    return latency(sound(fabric.run()).flows[0])
