"""Opens the fabric with the cards of a `peerlane opae` command: options, scenario, images."""

from __future__ import annotations

import shlex
from importlib import resources
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli import completion
from peerlane.cli.options import wrong_use

if TYPE_CHECKING:
    from peerlane import Simulation

Scenario = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The scenario, or the name of a shipped one; the published card in a server, if "
        "absent.",
        autocompletion=completion.scenarios,
    ),
]

Card = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The card of the fabric; the first one, if absent."),
]


Slot = Annotated[
    int, typer.Option(min=0, metavar="N", help="The slot of the card, for cards with several.")
]


def text_of(scenario: str | None) -> tuple[str, str]:
    """The text of a scenario, and its name in messages."""
    if scenario is not None:
        from peerlane.cli.scenarios import scenario_text

        return scenario_text(scenario)
    packaged = resources.files("peerlane.systems") / "pac" / "scenario.toml"
    return packaged.read_text(encoding="utf-8"), "pac/scenario.toml"


def simulation_of(
    scenario: str | None, image: str | None = None, card: str | None = None, slot: int = 0
) -> Simulation:
    """A fabric whose cards have the configured accelerators; `image` is loaded into one slot."""
    from peerlane import Simulation
    from peerlane.opae.card import configure

    text, source = text_of(scenario)
    simulation = Simulation(text, source=source)
    with wrong_use():
        place = (card or first(simulation), slot) if image is not None else None
        load_configured(simulation, scenario, source, but=place)
        if image is not None:
            configure(simulation, card or first(simulation), image, slot)
    return simulation


def load_configured(
    simulation: Simulation,
    scenario: str | None,
    source: str,
    *,
    but: tuple[str, int] | None = None,
) -> list[str]:
    """Loads the accelerators that `peerlane opae conf` has configured, except in one slot.

    Args:
        simulation: The fabric.
        scenario: The scenario, as named on the command line.
        source: The name of the scenario, under which the bitstreams are stored.
        but: A card and its slot, into which no bitstream is loaded.

    Returns:
        The models in Python that were loaded.

    Raises:
        ValueError: A bitstream cannot be loaded; the message has the command that removes it.
    """
    from peerlane import _core
    from peerlane.opae import slots
    from peerlane.opae.afu import load
    from peerlane.opae.bitstream import model_of

    models: list[str] = []
    for (card, slot), bits in slots.loaded(source).items():
        if (card, slot) == but:
            continue
        try:
            _core.load_image(simulation.core, card, bits, load, slot)
            models += filter(None, [model_of(bits)])
        except ValueError as error:
            options = [f"--scenario {shlex.quote(scenario)}"] if scenario else []
            options += [f"--card {shlex.quote(card)}", f"--slot {slot}"]
            forget = f"peerlane opae conf default {' '.join(options)}"
            raise ValueError(
                f"{error}; it was loaded by peerlane opae conf; to forget it: {forget}"
            ) from None
    return models


def first(simulation: Simulation) -> str:
    """The name of the first card."""
    from peerlane.opae.card import places

    found = places(simulation)
    if not found:
        raise typer.BadParameter('there is no card; write a device with model = "fpga-card"')
    return found[0].name


def image_of(image: str, *, for_session: bool = False) -> bytes:
    """The bytes of the named image; for a session, the session itself checks the model in it."""
    from peerlane.opae.bitstream import bitstream, read

    with wrong_use():
        return read(image) if for_session else bitstream(image)
