"""The constants of the experiments, and one message on the published machine."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane.reproduction import machine
from peerlane.systems.measured import latency, sound

PRIMITIVES = ("nap-immediate", "nap-indirect", "put", "get")
WAY = ("n0", "n1")


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers that the experiments use beside the scenario."""

    start: str = "5 us"
    """The time at which the controllers have fetched the first addresses of buffers."""
    transfer: str = "2 MiB"
    """A long PUT whose rate is measured."""
    uniform_message: str = "512 B"
    """The source gives no size: the least that a processor can ring doorbells for at full load."""
    functions: int = 8
    """Functions of a controller that send at once: the physical and all virtual ones."""
    outstanding: int = 32
    """Requests under way of a function, at most."""
    largest_put: str = "8 KiB"
    """The source says random sizes: 1 byte to this, evenly."""
    settled: float = 1.0
    """Percent of the bandwidth that is between the largest and the smallest share at most."""
    read: int = 128
    """Bytes of a read request and of the completions that answer it."""
    message: int = 2048
    """M of the LogP model, in bytes."""
    window: tuple[str, str] = ("20 us", "80 us")
    """The window in which messages are counted."""
    end: str = "90 us"
    """The time after which no message begins that is counted."""
    seldom_load: str = "0.1 MB/s"
    """The load of messages of one byte that meet no other."""
    seldom_time: str = "300 us"
    """The time in which these messages begin, at all phases of the clock."""
    crowded_from: str = "500 us"
    """The time from which the service of functions is measured, and no longer changes."""
    crowded_until: str = "1 ms"
    """The time until which it is measured, and after which no message begins."""
    seldom_count: int = 40
    """Messages of a function that sends one at a time, all of them before the others end."""
    longer_read: int = 8
    """Cycles more of a memory read, in a reading of Table 2: 151 from an immediate NAP to an
    indirect one, less 130 and the 13 of the data path."""
    read_request: str = "512 B"
    """A larger read request, which the source does not exclude for figure 19."""
    larger_message: str = "1.5 KiB"
    """The size of messages with it, with which both published throughputs come out."""
    apart_us: int = 20
    """Microseconds before each message of a network, so long that each is alone."""
    crowd: int = 64
    """Processors of the networks in which all send at once."""
    cables: int = 3
    """Cables on the way of the message whose packets are read."""
    completion: int = 128
    """Bytes of a completion, by the source's MTU."""
    length_bits: int = 10
    """Bits of the length in double words of a TLP: PCIe Base 2.2.1."""


FEWER = Constants(transfer="256 KiB")
"""The constants of a sensitivity study: a short transfer, as only relative changes count."""

Machine = machine.Machine[Constants]


def cycle_ns(machine: Machine) -> float:
    """Nanoseconds of a cycle of the engine."""
    return 1e3 / machine.value("profiles.virtex6.clock")


def alone_ns(machine: Machine, primitive: str, size: int) -> float:
    """Time from the store to the doorbell until the other program has seen the end."""
    start = machine.constants.start
    fabric = machine.fabric().flow(*WAY, primitive=primitive, size=f"{size} B", start=start)
    return latency(sound(fabric.run()).flows[0])
