"""Two ranks that send messages to each other in turn: half of the round trip time, by message size.

Messages up to the eager limit are sent at once. Longer ones need a rendezvous first.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from peerlane import Fabric, Rank, run_ranks

SIZES = (0, 1, 64, 512, 1536, 2048, 2049, 16384, 131072, 1 << 20)
ROUNDS = 4


def pair() -> Fabric:
    """Two hosts whose network interface controllers share a crossbar."""
    fabric = Fabric("pair").links(generation=3, lanes=8).controller("crossbar")
    for name in ("left", "right"):
        fabric.host(name).device(f"nic-{name}", name, model="nic")
    return fabric


async def ping_pong(rank: Rank) -> list[float]:
    """Half of the mean round trip time for each size, in nanoseconds."""
    halves = []
    for size in SIZES:
        await rank.barrier()
        begin = rank.now_ns
        for _ in range(ROUNDS):
            if rank.number == 0:
                await rank.send(1, bytes(size))
                await rank.receive(1)
            else:
                message = await rank.receive(0)
                await rank.send(0, message.data)
        halves.append((rank.now_ns - begin) / ROUNDS / 2)
    return halves


def main() -> None:
    """Measures both methods for long messages, and shows them side by side."""
    ways = ("put", "get")
    runs = [run_ranks(pair(), ping_pong, rendezvous=way).values[0] for way in ways]
    table = Table("bytes", *(f"{way}, ns" for way in ways), "MB/s", title="half a round trip")
    for number, size in enumerate(SIZES):
        halves = [run[number] for run in runs]
        rate = 1000 * size / min(halves)
        table.add_row(str(size), *(f"{half:.0f}" for half in halves), f"{rate:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
