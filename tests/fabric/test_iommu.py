"""A host whose I/O MMU translates the addresses of all requests from below."""

from __future__ import annotations

from typing import Any

from peerlane import Fabric


def reads(**host: Any) -> Fabric:
    """Reads of sixteen pages, each twice."""
    fabric = Fabric("pages").links(generation=3, lanes=8).host("h", memory="16 MiB", **host)
    return fabric.device("d", "h").flow(
        "d", "h", direction="read", size="128 KiB", window="64 KiB", request_size="256 B"
    )


def test_the_result_has_what_each_iommu_did() -> None:
    result = reads(iommu=True, walk_cache_entries=8).run()
    assert not result.failures
    iommu = result.iommus["h"]
    assert iommu.requests == iommu.hits + iommu.misses == 512
    assert (iommu.walks, iommu.faults, iommu.invalidations) == (16, 0, 0)
    assert 16 < iommu.walk_reads < 4 * 16
    assert 0 < iommu.mean_wait_ns < iommu.longest_wait_ns


def test_the_json_has_iommus_where_there_is_one() -> None:
    plain, translated = reads().run(), reads(iommu=True).run()
    assert "iommus" not in plain.to_json()
    (row,) = translated.to_json()["iommus"]
    assert row["host"] == "h"
    assert plain.iommus.to_pandas().empty
    assert len(translated.iommus.to_pandas()) == 1
