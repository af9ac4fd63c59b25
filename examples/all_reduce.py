"""All-reduce: the sum of all ranks' vectors, at every rank. Times by size and number of ranks."""

from __future__ import annotations

from array import array

from rich.console import Console
from rich.table import Table

from peerlane import Fabric, Rank, run_ranks

RANKS = (2, 3, 4, 8, 16)
COUNTS = (1, 16, 128, 1024, 8192)


def cluster(size: int) -> Fabric:
    """Hosts whose network interface controllers share a crossbar."""
    fabric = Fabric("cluster").links(generation=3, lanes=8).controller("crossbar", ports=size)
    for number in range(size):
        fabric.host(f"h{number}").device(f"n{number}", f"h{number}", model="nic")
    return fabric


async def all_reduce(rank: Rank) -> list[float]:
    """The time after a barrier for each count of numbers, in nanoseconds."""
    times = []
    for count in COUNTS:
        own = array("d", ((rank.number + 1) * place for place in range(count)))
        await rank.barrier()
        begin = rank.now_ns
        total = await rank.all_reduce(own)
        times.append(rank.now_ns - begin)
        everybody = rank.size * (rank.size + 1) / 2
        if any(number != everybody * place for place, number in enumerate(total)):
            raise AssertionError(f"rank {rank.number}: the sum of {count} numbers is wrong")
    return times


def main() -> None:
    """Shows the time of the slowest rank."""
    runs = [run_ranks(cluster(size), all_reduce).values for size in RANKS]
    head = [f"{size} ranks" for size in RANKS]
    table = Table("bytes", *head, title="all-reduce, microseconds; every sum is right")
    for number, count in enumerate(COUNTS):
        slowest = [max(times[number] for times in run) for run in runs]
        table.add_row(str(8 * count), *(f"{time / 1000:.1f}" for time in slowest))
    Console().print(table)


if __name__ == "__main__":
    main()
