"""Heat in a plate: a Jacobi iteration on 4 x 4 ranks, each with one tile of the plate.

Before each step every rank exchanges the edges of its tile with its neighbours. The result equals
that of a single rank in every bit.
"""

from __future__ import annotations

from array import array

from peerlane import Fabric, Rank, run_ranks

SIDE, TILE, STEPS = 4, 8, 25
Cell = tuple[int, int]


def cluster() -> Fabric:
    """A host for each tile. The network interface controllers share a crossbar."""
    fabric = Fabric("plate").links(generation=3, lanes=8).controller("crossbar", ports=SIDE**2)
    for number in range(SIDE**2):
        fabric.host(f"h{number}").device(f"n{number}", f"h{number}", model="nic")
    return fabric


def square(top: int, left: int, side: int) -> list[Cell]:
    """The cells of a square, row by row."""
    return [(y, x) for y in range(top, top + side) for x in range(left, left + side)]


def step(plate: dict[Cell, float], cells: list[Cell]) -> dict[Cell, float]:
    """Sets each cell to the mean of its neighbours. The edge is hot above the plate, else cold."""

    def at(y: int, x: int) -> float:
        return plate.get((y, x), float(y < 0))

    return {
        (y, x): (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1)) / 4 for y, x in cells
    }


def sides(number: int, cells: list[Cell]) -> list[tuple[int, list[Cell], list[Cell]]]:
    """For each neighbour of a rank: the edge towards it, and the halo cells beyond that edge."""
    found = []
    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        edge = [(y, x) for y, x in cells if (y + dy, x + dx) not in cells]
        rim = [(y + dy, x + dx) for y, x in edge]
        if all(0 <= place < SIDE * TILE for place in rim[0]):
            found.append((number + SIDE * dy + dx, edge, rim))
    return found


async def heat(rank: Rank) -> dict[Cell, float]:
    """The rank's tile after all steps. Computing a cell takes a nanosecond."""
    top, left = divmod(rank.number, SIDE)
    cells = square(TILE * top, TILE * left, TILE)
    plate = dict.fromkeys(cells, 0.0)
    for _ in range(STEPS):
        begun = []
        for other, edge, rim in sides(rank.number, cells):
            sending = await rank.begin_send(other, array("d", (plate[cell] for cell in edge)))
            begun.append((sending, await rank.begin_receive(other), rim))
        for sending, receiving, rim in begun:
            await sending
            plate.update(zip(rim, array("d", (await receiving).data), strict=True))
        await rank.compute(f"{len(cells)} ns")
        plate = step(plate, cells)
    return plate


def main() -> None:
    """Compares all tiles with the plate computed by a single rank."""
    run = run_ranks(cluster(), heat)
    cells = square(0, 0, SIDE * TILE)
    plate = dict.fromkeys(cells, 0.0)
    for _ in range(STEPS):
        plate = step(plate, cells)
    if {cell: heat for tile in run.values for cell, heat in tile.items()} != plate:
        raise AssertionError("the tiles differ from the plate")
    each = run.elapsed_ns / STEPS / 1000
    print(f"{SIDE**2} ranks, {STEPS} steps of {each:.2f} us, {TILE**2} ns of them computation")
    print("every cell is that of the plate of one rank alone")


if __name__ == "__main__":
    main()
