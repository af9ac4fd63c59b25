"""Tags above 31 are used only with Extended Tag Field Enable (PCIe Base 2.2.6.2)."""

from __future__ import annotations

from typing import Any

from dma_engine.test_dma_engine_example import SOURCE, law
from dma_engine.world import FETCH_TAGS, READ, STATUS, TAGS, World


@law(SOURCE)
async def extended_tags_are_used_while_they_are_enabled(dut: Any) -> None:
    """All tags but the tags of fetches; less than 32 again once they are disabled."""
    world = await World(dut, mrrs=128).begin()
    for enabled in (0, 1, 0):
        dut.ext_tag_i.value = enabled
        world.reads.clear()
        world.fetches.clear()
        usable = set(range(TAGS if enabled else 32))
        # Tags take turns: after two turns, each has been used that ever will be.
        count = 2 * len(usable)
        world.describe(READ, [(0x10000, 128 * count)])
        world.start(READ, (0, 1), 1)
        await world.ends(1)
        assert await world.word(READ + STATUS) == 2
        tags = {packet.tag for packet in world.reads}
        if world.fetches:
            usable -= set(FETCH_TAGS)
            assert {packet.tag for packet in world.fetches} == {FETCH_TAGS[1]}
        assert tags == usable
