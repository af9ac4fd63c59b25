"""`peerlane opae info` and `flags`: lists the cards of a fabric, and prints compiler flags."""

from __future__ import annotations

from typing import Any

import typer

from peerlane.cli.console import emit
from peerlane.cli.files import keep_apart
from peerlane.cli.opae.cards import Scenario, first, simulation_of
from peerlane.cli.options import JsonTo


def flags() -> None:
    """Print the options with which a C compiler finds headers and library: -I... -L..."""
    from peerlane.opae.session import include_folder, library_folder

    typer.echo(f"-I{include_folder()} -L{library_folder()}")


def info(scenario: Scenario = None, json_to: JsonTo = None) -> None:
    """List the slots of the cards of a fabric: their PCI functions and the loaded accelerators."""
    from peerlane import _core
    from peerlane.cli.tables.sheet import Sheet
    from peerlane.opae.card import places

    keep_apart([scenario], {"--json": json_to})
    simulation = simulation_of(scenario)
    first(simulation)
    names = {uuid: name for name, uuid in _core.afus()}
    rows: list[dict[str, Any]] = [
        {
            "card": place.name,
            "slot": place.slot,
            "host": place.host,
            "function": place.function,
            "vendor_id": f"0x{place.vendor_id:04x}",
            "device_id": f"0x{place.device_id:04x}",
            "interface_id": place.interface,
            "accelerator_id": place.accelerator,
            "accelerator": names.get(place.accelerator or ""),
            "clock_hz": place.clock_hz,
            "local_memory": place.local_memory,
        }
        for place in places(simulation)
    ]
    table = Sheet("card", "slot", "host", "function")
    for heading in ("ID", "interface", "accelerator", "clock", "memory"):
        table.add_column(heading, "prose" if heading in {"interface", "accelerator"} else "value")
    for row in rows:
        ids = f"{row['vendor_id'][2:]}:{row['device_id'][2:]}"
        loaded = f"{row['accelerator_id'] or 'none'} {row['accelerator'] or ''}".rstrip()
        memory = f"{row['local_memory'] / 2**30:g} GiB"
        clock = f"{row['clock_hz'] / 1e6:g} MHz"
        own = (row["card"], str(row["slot"]), row["host"], row["function"])
        table.add_row(*own, ids, row["interface_id"], loaded, clock, memory)
    emit(rows, table, json_to)
