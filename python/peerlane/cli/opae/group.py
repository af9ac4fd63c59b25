"""The subcommands of `peerlane opae`, each with the module that implements it."""

from __future__ import annotations

from peerlane.cli.group import Command, group

opae_app = group(
    """Programs that were written for Intel's OPAE, on simulated cards.

Compile one with `gcc PROGRAM.c $(peerlane opae flags) -lopae-c`, and run it with
`peerlane opae run ./a.out`.""",
    {
        "run": Command(
            "peerlane.cli.opae.run",
            "run",
            {"allow_interspersed_args": False, "ignore_unknown_options": True},
        ),
        "flags": Command("peerlane.cli.opae.info", "flags"),
        "info": Command("peerlane.cli.opae.info", "info"),
        "conf": Command("peerlane.cli.opae.conf", "conf"),
        "pack": Command("peerlane.cli.opae.conf", "pack"),
        "diag": Command("peerlane.cli.opae.measure", "diag"),
        "dma-test": Command("peerlane.cli.opae.measure", "dma_test"),
    },
)
