"""Locks that cores and accelerators share, and transactions under them."""

from __future__ import annotations

from peerlane import Fabric


def shared() -> Fabric:
    """A coherent host with an accelerator, a lock table and rows."""
    fabric = Fabric("locks").links(generation=4, lanes=8).host("h0", coherent=True)
    fabric.device("card", "h0", model="accelerator")
    fabric.buffer("table", "h0", size="4 KiB")
    return fabric.buffer("rows", "h0", size="4 KiB")


def test_requests_of_all_end_with_one_holder_at_a_time() -> None:
    fabric = shared().locks("h0", "table", cores=2, count=20, records=1)
    result = fabric.locks("card", "table", count=20, records=1).run()
    assert [(one.id, one.count, one.violations) for one in result.locks] == [
        ("locks-1", 40, 0),
        ("locks-2", 20, 0),
    ]
    assert result.locks["locks-1"].waiting_ns
    assert not result.failures


def test_every_transaction_leaves_a_version() -> None:
    fabric = shared().transactions("h0", "rows", "table", rows=64, count=20, contention=0.5)
    result = fabric.transactions("card", "rows", "table", rows=64, count=20).run()
    assert [(one.committed, one.intact) for one in result.transactions] == [(20, True)] * 2
    assert not result.failures
