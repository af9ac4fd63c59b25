"""Interrupts by MSI-X, as users meet them: rows of results, masks from Python, lspci."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conftest import needs_lspci
from peerlane import Fabric, Simulation

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run


def drive(*, masks: bool = False, **keys: Any) -> Fabric:
    """A drive that moves 64 blocks of 4 KiB."""
    fabric = Fabric("drive").host("h", interrupt_masking=masks)
    fabric = fabric.device("d", "h", model="nvme", **keys)
    return fabric.flow("d", "h", size="256 KiB", request_size="4 KiB")


def test_the_result_has_the_interrupts_of_each_vector() -> None:
    each = drive(msix_vectors=4).run()
    assert not each.failures
    (row,) = each.interrupts
    assert (row.device, row.function, row.vector) == ("d", 0, 0)
    assert (row.sent, row.held, row.withdrawn, row.dropped) == (66, 0, 0, 0), "two create queues"
    masked = drive(msix_vectors=4, masks=True).run()
    assert not masked.failures
    row = masked.interrupts["d", 0, 0]
    assert row.sent + row.held >= 66
    assert row.sent < 66


def test_the_json_has_interrupts_where_there_is_msix() -> None:
    assert "interrupts" not in drive().run().to_json()
    (row,) = drive(msix_vectors=1).run().to_json()["interrupts"]
    assert row["sent"] == 66


def test_a_program_masks_a_vector_and_gets_the_interrupt_that_was_pending() -> None:
    simulation = Simulation(
        '[hosts.h]\n[devices.e]\nmodel = "sg-dma"\nupstream = "h"\nmsix_vectors = 3\n'
    )
    registers = {one.what: one.base for one in simulation.tree().nodes["e"].regions}["bar2"]
    vector = simulation.node("e").vector(1)

    def rest() -> None:
        while simulation.step():
            pass

    rest()  # The driver writes the table first.
    simulation.node("h").write(vector.control, b"\1\0\0\0")
    rest()
    # The read unit with an empty list ends at once.
    simulation.node("h").write(registers + 0x40 + 0x14, bytes(4))
    rest()
    assert simulation.node("h").interrupts() == {}
    pending = simulation.node("h").read(vector.pending, 8)
    assert int.from_bytes(pending, "little") == 1 << vector.bit
    assert simulation.node("e").memory(vector.pending, 8) == pending
    simulation.node("h").write(vector.control, bytes(4))
    rest()
    assert simulation.node("h").interrupts() == {vector.message: 1}


def test_a_vector_that_is_not_there_is_told_with_those_that_are() -> None:
    simulation = drive(msix_vectors=4).simulation()
    with pytest.raises(ValueError, match=r"vector 4 of d: msix_vectors is 4; use 0 to 3"):
        simulation.node("d").vector(4)
    with pytest.raises(ValueError, match="d has no vector -1 of function 0; count both from 0"):
        simulation.node("d").vector(-1)
    with pytest.raises(ValueError, match=r"function 1 of d has no MSI-X table; write msix_vectors"):
        simulation.node("d").vector(0, function=1)
    with pytest.raises(ValueError, match="function 0 of d has no MSI-X table"):
        drive().simulation().node("d").vector(0)


@needs_lspci
@pytest.mark.parametrize("place", ["", "msix_bar = 4", 'msix_table = "32 KiB"'])
def test_lspci_shows_msix_as_a_run_leaves_it(peerlane: Run, tmp_path: Path, place: str) -> None:
    text = f'[hosts.h]\n[devices.d]\nmodel = "sg-dma"\nupstream = "h"\nmsix_vectors = 40\n{place}\n'
    text += 'virtual_functions = 2\nvirtual_bar = "64 KiB"\n'
    text += '[[flows]]\nfrom = "d"\nto = "h"\nsize = "4 KiB"\n'
    (path := tmp_path / "msix.toml").write_text(text, encoding="utf-8")
    told = peerlane("lspci", path, "--after-run", "--", "-vvv").succeeds()
    assert told.out.count("MSI-X: Enable+ Count=40 Masked-") == 3
    assert told.out.count("MSI: Enable- Count=1/4") == 3
    bar, offset = {"": (0, 0xF000), "msix_bar = 4": (4, 0)}.get(place, (0, 0x8000))
    assert told.out.count(f"Vector table: BAR={bar} offset={offset:08x}") == 3
