"""`peerlane advise`: answers about the GPUs of a fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerlane.cli.files import keep_apart
from peerlane.cli.options import FAILED, JsonTo, ReportTo, checked
from peerlane.cli.request import ScenarioRequest

if TYPE_CHECKING:
    from peerlane.report.page import Page

_COLLECTIVES = "peerlane.advising.collectives"


def advise(  # noqa: PLR0913 - each is an option
    scenario: ScenarioRequest,
    *,
    devices: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            help="The devices to compare, GPUs or others, in the order of their ranks; if absent, "
            "all GPUs.",
        ),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            callback=checked(f"{_COLLECTIVES}:read_sizes"),
            help="The sizes of the all-reduce, as in `peerlane sweep --vary`.",
        ),
    ] = "1 KiB..1 GiB*4",
    simulate_to: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            callback=checked(f"{_COLLECTIVES}:read_simulated"),
            help="The largest size of the all-reduce that is simulated, at most 64 MiB; larger "
            "sizes are extrapolated.",
        ),
    ] = "16 MiB",
    error_bars: Annotated[
        bool,
        typer.Option(
            "--error-bars",
            help="Print how far all numbers may be off: each default that no document states is "
            "moved over its range. It takes five to ten times as long.",
        ),
    ] = False,
    json_to: JsonTo = None,
    report_to: ReportTo = None,
) -> None:
    """Measure the pairs of GPUs and an all-reduce of all GPUs, and find changes that matter.

    The workloads of the scenario do not run. The first part has the matrices of
    p2pBandwidthLatencyTest, which `peerlane compare --measured` reads:

    - connectivity: 1 if writes of the device of the row arrive at the device of the column; below
      the matrix is the reason of each 0.
    - bandwidth: the rate of writes in the steady state, and the sum of both directions. On the
      diagonal is `memory_bandwidth` of the device, which is not simulated.
    - latency: the time of a kernel that writes 16 bytes and a flag, until a kernel of the other
      device has read the flag; it includes `kernel_latency` and `poll_latency`. On the diagonal is
      `kernel_latency`.
    - host to device, device to host: the rate at which each device reads and writes the memory of
      its host.

    The second part has the columns of nccl-tests: an all-reduce of all GPUs by each algorithm.
    `islands` has the GPUs below each switch as islands, if these have the same size. Sizes are
    rounded down to whole segments. The time of an extrapolated size is on the line through the two
    largest simulated sizes: time = a + b * size; it is rough, and the output says so, if these are
    too small for parts of 512 KiB to overlap in all GPUs. "*" marks the fastest algorithm.

    The third part has changes, each tried by a run of the fastest all-reduce of the largest
    simulated size, and by a run of the slowest pair: ACS redirect, payload sizes, other slots,
    faster and wider uplinks, other changes that `peerlane explain` finds, `by = "pull"`, and
    `engine = "copy"`. Changes that gain or cost less than 1 % are left out.

    With --error-bars, about 100 short runs find the values of undocumented defaults that change
    some number by 1 % or more, usually 10 to 20 values. For each of these, the pairs, the
    all-reduce and the changes are measured again. Of pairs whose links have the same rates and
    whose numbers are the same, only one is measured again. The last part has the ranges; JSON has
    the range of each number with all its causes (`error_bars`).

    Eight GPUs take some minutes of processor time, most of them for the all-reduce of the largest
    sizes; --simulate-to "1 MiB" takes half a minute.
    """
    from peerlane.advising.advise import advise as find_out
    from peerlane.advising.collectives import read_simulated, read_sizes
    from peerlane.cli.console import emit, progress
    from peerlane.cli.head import head
    from peerlane.cli.outcome import judge_failures
    from peerlane.cli.report import open_folder, origin, write_pages
    from peerlane.cli.tables.advise import advice
    from peerlane.fabric.simulation import digest_of

    keep_apart([scenario.file], {"--json": json_to})
    folder = open_folder(report_to)
    text, source = scenario.text()
    with progress(f"measuring {Path(scenario.file).name}") as bar:
        found = find_out(
            text,
            source=source,
            settings=scenario.changed,
            seed=scenario.seed,
            devices=[name.strip() for name in devices.split(",")] if devices is not None else None,
            sizes=read_sizes(sizes),
            simulate_to=read_simulated(simulate_to),
            error_bars=error_bars,
            progress=bar,
        )
    digest = digest_of(text)
    emit(head("advice", scenario_digest=digest) | found.to_json(), advice(found), json_to)

    def page() -> list[Page]:
        from peerlane.report.advice import advice_page

        made = origin(str(found.seed), digest, scenario.file, found.name)
        return [advice_page(found, made).with_settings(scenario.changed)]

    is_written = write_pages(folder, page)
    judge_failures(found.failures)
    if not is_written:
        raise typer.Exit(FAILED)
