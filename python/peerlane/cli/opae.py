"""The commands of `peerlane opae`."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from peerlane import ScenarioError, Simulation, _core
from peerlane.cli.console import emit, say
from peerlane.cli.options import JsonTo, writable
from peerlane.fabric.simulation import read_scenario
from peerlane.opae import live, slots
from peerlane.opae.afu import load
from peerlane.opae.bitstream import bitstream
from peerlane.opae.card import accelerators, configure, places
from peerlane.opae.diag import Mode, diagnose
from peerlane.opae.session import include_folder, library_folder, run_program
from peerlane.opae.sweep import Sweep, sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

opae_app = typer.Typer(
    help="""Programs that were written for Intel's OPAE, on simulated cards.

Compile one with `gcc PROGRAM.c $(peerlane opae flags) -lopae-c`, and run it with
`peerlane opae run ./a.out`."""
)

Scenario = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="The fabric; without it, the published card in a server (`pac`)."
    ),
]
Card = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Which card of the fabric; without it, the first one."),
]


@opae_app.callback(invoke_without_command=True)
def _opae(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def text_of(scenario: str | None) -> tuple[str, str]:
    """The text of a scenario, and what to call it."""
    if scenario is not None:
        return read_scenario(scenario), scenario
    packaged = resources.files("peerlane.systems") / "pac" / "scenario.toml"
    return packaged.read_text(encoding="utf-8"), "pac/scenario.toml"


def simulation_of(
    scenario: str | None, image: str | None = None, card: str | None = None
) -> Simulation:
    """A fabric whose cards have loaded what was configured, and one of them `image`."""
    text, source = text_of(scenario)
    simulation = Simulation(text, source=source)
    with _wrong_use():
        for name, bits in slots.loaded(source).items():
            simulation.load_image(name, bits, load)
        if image is not None:
            configure(simulation, card or _first(simulation), image)
    return simulation


@contextmanager
def _wrong_use() -> Iterator[None]:
    """Makes what is wrong with an image or a card a wrong use of the command."""
    try:
        yield
    except ScenarioError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _first(simulation: Simulation) -> str:
    found = places(simulation)
    if not found:
        raise typer.BadParameter('there is no card; write a device with model = "fpga-card"')
    return found[0].name


@opae_app.command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True}
)
def run(  # noqa: PLR0913 - a command has the options that it has
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM [ARGS]...", help="What to run.")],
    *,
    scenario: Scenario = None,
    host: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The host that it runs on; the first with a card."),
    ] = None,
    afu: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", help="Load this before: a name, a .gbs file or FILE.py."),
    ] = None,
    card: Card = None,
    wall: Annotated[
        bool,
        typer.Option(
            "--wall",
            help="The program reads the clock of this machine, while the simulation runs as fast "
            "as it can; without it, the program reads simulated time.",
        ),
    ] = False,
    json_to: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE",
            callback=writable,
            help="Write status and times as JSON to FILE; the program has standard output.",
        ),
    ] = None,
) -> None:
    """Run a program that is linked with libopae-c on a simulated host.

    Its exit status is that of the program. Cards have loaded what `peerlane opae conf` configured,
    or else what the scenario says.
    """
    text, source = text_of(scenario)
    images = slots.loaded(source)
    if afu is not None:
        images[card or _first(Simulation(text, source=source))] = _image(afu)
    with _wrong_use():
        try:
            outcome = run_program(program, (text, source), host=host, images=images, wall=wall)
        except FileNotFoundError:
            raise typer.BadParameter(f"there is no program {program[0]!r}") from None
        except PermissionError:
            raise typer.BadParameter(f"{program[0]} cannot be run") from None
    if json_to is not None:
        document = {
            "exit_status": outcome.status,
            "simulated_ns": outcome.simulated_ns,
            "wall_seconds": outcome.wall_seconds,
        }
        Path(json_to).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    raise typer.Exit(outcome.status)


def _image(image: str) -> bytes:
    with _wrong_use():
        return bitstream(image)


@opae_app.command()
def flags() -> None:
    """Print what a C compiler needs to find headers and library: -I... -L..."""
    typer.echo(f"-I{include_folder()} -L{library_folder()}")


@opae_app.command()
def info(scenario: Scenario = None, json_to: JsonTo = None) -> None:
    """List the cards of a fabric: where they are and what is loaded in them."""
    names = {uuid: name for name, uuid in _core.afus()}
    rows: list[dict[str, Any]] = [
        {
            "card": place.name,
            "host": place.host,
            "function": place.function,
            "vendor_id": f"0x{place.vendor_id:04x}",
            "device_id": f"0x{place.device_id:04x}",
            "interface_id": place.interface,
            "accelerator_id": place.accelerator,
            "accelerator": names.get(place.accelerator or ""),
            "local_memory": place.local_memory,
        }
        for place in places(simulation_of(scenario))
    ]
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("card", "host", "function", "ID", "interface", "accelerator", "memory"):
        table.add_column(heading)
    for row in rows:
        ids = f"{row['vendor_id'][2:]}:{row['device_id'][2:]}"
        loaded = f"{row['accelerator_id'] or 'none'} {row['accelerator'] or ''}".rstrip()
        memory = f"{row['local_memory'] / 2**30:g} GiB"
        own = (row["card"], row["host"], row["function"])
        table.add_row(*own, ids, row["interface_id"], loaded, memory)
    emit(rows, table, json_to)


@opae_app.command()
def conf(
    image: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE", help="The name of a built-in one, a .gbs file, or FILE.py[:CLASS]."
        ),
    ],
    scenario: Scenario = None,
    card: Card = None,
) -> None:
    """Load an accelerator into a card: for all later commands on the same scenario.

    In a program of `peerlane opae run`, such as a shell, it is the first card of that session.
    Built in are nlb_mode_0, nlb_mode_3, dma_afu and streaming_dma_afu; `default` forgets what was
    loaded, so that the scenario's own counts again.
    """
    if live.is_in_session():
        live.configure(_image(image))
        say(f"{image} is loaded")
        return
    text, source = text_of(scenario)
    simulation = Simulation(text, source=source)
    name = card or _first(simulation)
    if name not in {place.name for place in places(simulation)}:
        raise typer.BadParameter(f"{source} has no card {name!r}")
    if image == "default":
        slots.forget(source, name)
    else:
        bits = _image(image)
        with _wrong_use():
            simulation.load_image(name, bits, load)
        slots.load(source, name, bits)
    after = {place.name: place.accelerator for place in places(simulation_of(scenario))}
    say(f"{name} of {source}: {after[name] or 'nothing'} is loaded")


@opae_app.command()
def pack(
    image: Annotated[
        str,
        typer.Argument(metavar="IMAGE", help="The name of a built-in one, or FILE.py[:CLASS]."),
    ],
    to: Annotated[Path, typer.Argument(metavar="FILE.gbs", help="The bitstream to write.")],
) -> None:
    """Write a bitstream that a program can load with fpgaReconfigureSlot."""
    to.write_bytes(_image(image))


@opae_app.command()
def diag(  # noqa: PLR0913 - a command has the options that it has
    modes: Annotated[
        list[Mode] | None,
        typer.Argument(metavar="[MODE]...", help="read, write, trput, lpbk1; all without it."),
    ] = None,
    *,
    scenario: Scenario = None,
    card: Card = None,
    lines: Annotated[
        int, typer.Option(min=1, max=1 << 24, metavar="N", help="Lines of 64 bytes.")
    ] = 16384,
    request_lines: Annotated[
        int, typer.Option("--multi-cl", metavar="1|2|4", help="Lines of a request.")
    ] = 4,
    json_to: JsonTo = None,
) -> None:
    """Measure a card's link with the native loopback, as the card's own diagnostics do.

    Rates are lines by cycles of the accelerator's clock, as the accelerator counts them.
    """
    if request_lines not in {1, 2, 4}:
        raise typer.BadParameter("a request has 1, 2 or 4 lines", param_hint="--multi-cl")
    found = []
    for mode in modes or list(Mode):
        simulation = simulation_of(scenario, mode.image, card)
        wanted = card or _first(simulation)
        accelerator = next(one for one in accelerators(simulation) if one.name == wanted)
        test = diagnose(accelerator, mode, lines=lines, request_lines=request_lines)
        found.append(accelerator.hand.run(test))
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("mode", "reads", "writes", "cycles", "read GB/s", "write GB/s"):
        table.add_column(heading, justify="left" if heading == "mode" else "right")
    for one in found:
        rates = one.read_bytes_per_second, one.write_bytes_per_second
        gigabytes = [f"{rate / 1e9:.3f}" if rate else "" for rate in rates]
        table.add_row(one.mode, str(one.reads), str(one.writes), str(one.cycles), *gigabytes)
    emit([one.to_json() for one in found], table, json_to)


@opae_app.command("dma-test")
def dma_test(
    size: Annotated[
        str, typer.Option(metavar="SIZE", help='Bytes each way, such as "64 MiB".')
    ] = "4 GiB",
    *,
    scenario: Scenario = None,
    json_to: JsonTo = None,
) -> None:
    """Write a card's memory and read it back, and compare every byte: all cards side by side.

    The time is that of a call of the DMA sample's library, with its copies through pinned buffers;
    a rate is in 10^6 bytes a second.
    """
    number = _bytes(size)
    simulation = simulation_of(scenario)
    with _wrong_use():
        for place in places(simulation):
            configure(simulation, place.name, "dma_afu")
        swept = sweep(simulation, accelerators(simulation), number)
    emit([one.to_json() for one in swept], _sweeps(swept), json_to)
    if not all(one.intact for one in swept):
        raise RuntimeError("some bytes did not come back as they were sent")


def _sweeps(swept: list[Sweep]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("card", "bytes", "to the card MB/s", "from the card MB/s", "data"):
        table.add_column(heading, justify="left" if heading in {"card", "data"} else "right")
    for one in swept:
        rates = [f"{rate / 1e6:.2f}" for rate in (one.host_to_card, one.card_to_host)]
        table.add_row(one.card, str(one.size), *rates, "intact" if one.intact else "differs")
    return table


_UNITS = {
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([KMG]i?B|B)", text.strip())
    if match is None:
        raise typer.BadParameter(f'{text!r} is no size; write one like "64 MiB"')
    number = int(match[1]) * _UNITS[match[2]]
    if number == 0 or number % 64:
        raise typer.BadParameter(f"{text} cannot be swept; take a multiple of 64 B")
    return number
