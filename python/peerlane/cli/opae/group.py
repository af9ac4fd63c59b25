"""`peerlane opae`: its subcommands."""

from __future__ import annotations

from peerlane.cli.group import group
from peerlane.cli.opae.conf import conf, pack
from peerlane.cli.opae.info import flags, info
from peerlane.cli.opae.measure import diag, dma_test
from peerlane.cli.opae.run import run

opae_app = group("""Programs that were written for Intel's OPAE, on simulated cards.

Compile one with `gcc PROGRAM.c $(peerlane opae flags) -lopae-c`, and run it with
`peerlane opae run ./a.out`.""")
opae_app.command(
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True}
)(run)
opae_app.command()(flags)
opae_app.command()(info)
opae_app.command()(conf)
opae_app.command()(pack)
opae_app.command()(diag)
opae_app.command("dma-test")(dma_test)
