"""`peerlane opae conf` and `pack`: loads accelerators into cards, and writes bitstreams."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerlane.cli.console import say, write
from peerlane.cli.files import keep_apart
from peerlane.cli.opae.cards import (
    Card,
    Scenario,
    Slot,
    first,
    image_of,
    simulation_of,
    text_of,
)
from peerlane.cli.options import wrong_use


def conf(
    image: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE", help="The name of a built-in one, a .gbs file, or FILE.py[:CLASS]."
        ),
    ],
    scenario: Scenario = None,
    card: Card = None,
    slot: Slot = 0,
) -> None:
    """Load an accelerator into a card, for all later commands on the same scenario.

    In a program of `peerlane opae run`, such as a shell, the card is the first card of its session.
    Built-in accelerators are nlb_mode_0, nlb_mode_3, nlb_mode_7, he_lb, he_mem, dma_afu and
    streaming_dma_afu; `default` removes the loaded accelerator, so that the card has the scenario's
    accelerator again.
    """
    from peerlane import Simulation, _core
    from peerlane.opae import live, slots
    from peerlane.opae.afu import load
    from peerlane.opae.card import places

    if live.is_in_session():
        live.configure(image_of(image, for_session=True), slot)
        say(f"{image} is loaded")
        return
    text, source = text_of(scenario)
    simulation = Simulation(text, source=source)
    name = card or first(simulation)
    known = list(dict.fromkeys(place.name for place in places(simulation)))
    forgets = image == "default"
    # An accelerator can be removed even if the scenario was changed after it was loaded.
    if name not in known and not (forgets and slots.has(source, name, slot)):
        raise typer.BadParameter(f"{source} has no card {name!r}; {_core.advice(name, known)}")
    if forgets:
        slots.forget(source, name, slot)
    else:
        bits = image_of(image)
        with wrong_use():
            _core.load_image(simulation.core, name, bits, load, slot)
        slots.load(source, name, slot, bits)
    after = {
        (place.name, place.slot): place.accelerator for place in places(simulation_of(scenario))
    }
    where = f"slot {slot} of {name}" if slot else name
    say(f"{where} of {source}: {after.get((name, slot)) or 'nothing'} is loaded")


def pack(
    image: Annotated[
        str,
        typer.Argument(metavar="IMAGE", help="The name of a built-in one, or FILE.py[:CLASS]."),
    ],
    to: Annotated[Path, typer.Argument(metavar="FILE.gbs", help="The bitstream to write.")],
) -> None:
    """Write a bitstream that a program can load with fpgaReconfigureSlot."""
    from peerlane.opae.afu import split

    keep_apart([split(image)[0]], {"FILE.gbs": str(to)})
    if to.suffix == ".py":
        raise typer.BadParameter(f"{to} has the name of a Python file; name it FILE.gbs")
    write(to, image_of(image))
