"""Tables of the paths between devices, and their comparison with a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peerlane.importing.listing import ListingError, Slot
from peerlane.importing.paths import Path, Range, between
from peerlane.importing.statements import (
    FUNCTION,
    NUMA_NODE,
    Place,
    Statements,
    inconsistent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.importing.listing import Function


@dataclass(slots=True)
class Table:
    """The devices of a topology table, each with its line, and what the table has on them."""

    source: str
    devices: dict[str, Place] = field(default_factory=dict)
    other_names: dict[str, str] = field(default_factory=dict)
    """The names of network cards in the operating system."""
    is_in_bus_order: bool = False
    """Whether the numbers of GPUs are in the order of their slots."""
    _paths: dict[tuple[str, str], tuple[Range, Place]] = field(default_factory=dict)

    def name(self, device: str) -> str:
        """The name of a device in statements and in the scenario."""
        return self.other_names.get(device, device)

    def check(self, columns: list[str], command: str) -> None:
        """Refuses a table without rows, or with a column of a device that has no row."""
        if missing := next((name for name in columns if name not in self.devices), None):
            raise ListingError(f"{self.source}: no row of {missing}; write all of `{command}`")
        if not self.devices:
            raise ListingError(f"{self.source}: the table has no rows; write all of `{command}`")

    def state(self, one: str, other: str, path: Range, place: Place) -> None:
        """Adds the path between two devices.

        Raises:
            ListingError: Another line states another path.
        """
        before, its = self._paths.setdefault((min(one, other), max(one, other)), (path, place))
        if before != path:
            says = f"the path between {one} and {other} is {before}"
            raise inconsistent(its, says, place, str(path))

    def paths(self) -> Iterator[tuple[str, str, Range, Place]]:
        """Each stated path, with the devices at its ends."""
        for (one, other), (path, place) in self._paths.items():
            yield one, other, path, place


def compare(table: Table, paths: dict[Slot, Path], source: str, statements: Statements) -> None:
    """Finds the functions of a table's devices in a tree, and compares the paths of both.

    Raises:
        ListingError: The tree has another path than the table.
    """
    slots = _functions(table, paths, statements)
    for device, place in table.devices.items():
        if device not in slots:
            statements.leave_out(
                "table row", place, f"{device}: no file says which function {device} is"
            )
            continue
        slot = slots[device]
        statements.names.setdefault(slot, table.name(device).lower())
        node = statements.get(int, NUMA_NODE, device)
        if node is not None:
            statements.state(NUMA_NODE, slot, node, statements.place(NUMA_NODE, device))
    for one, other, stated, place in table.paths():
        if one in slots and other in slots:
            ends = paths[slots[one]], paths[slots[other]]
            if not between(*ends).overlaps(stated):
                line = Place(source, ends[0].function.line)
                says = f"the path between {one} ({slots[one]}) and {other} ({slots[other]})"
                raise inconsistent(line, f"{says} is {between(*ends)}", place, str(stated))


def _functions(table: Table, paths: dict[Slot, Path], statements: Statements) -> dict[str, Slot]:
    """The functions of devices, as files state them, or else by the order of GPUs."""
    slots = {name: statements.get(Slot, FUNCTION, table.name(name)) for name in table.devices}
    gpus = [name for name in table.devices if name.startswith("GPU")]
    if table.is_in_bus_order and not any(slots[name] for name in gpus):
        listed = sorted(
            {path.function.slot for path in paths.values() if _is_nvidia_gpu(path.function)}
        )
        if len(listed) == len(gpus):
            slots |= zip(gpus, listed, strict=True)
    return {name: slot for name, slot in slots.items() if slot is not None and slot in paths}


def _is_nvidia_gpu(function: Function) -> bool:
    kind, _, maker = function.what.partition(": ")
    is_display = kind.startswith(("3D controller", "VGA compatible controller", "Display"))
    return is_display and ("NVIDIA" in maker or "[10de:" in maker)
