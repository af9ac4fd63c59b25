"""The packet trace: its fields, and what a filter leaves of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from peerlane import Fabric, Filter, Simulation

Line = dict[str, Any]

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "trace.md"


def lines(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def traced(fabric: Fabric, path: Path) -> list[Line]:
    fabric.run(trace=path)
    return lines(path)


def pair(**links: Any) -> Fabric:
    fabric = Fabric("pair").links(generation=3, lanes=4, **links).host("h0").switch("s0", "h0")
    return fabric.device("a", "s0").device("b", "s0", bar="1 MiB")


def test_a_configuration_request_has_its_type_and_its_target(tmp_path: Path) -> None:
    simulation = pair().simulation()
    simulation.capture("trace", tmp_path / "trace")
    target = simulation.tree().nodes["b"].id
    simulation.node("h0").config_read(target, 0x10)
    asked = [line for line in lines_after(simulation, tmp_path) if "register" in line]
    assert [(line["link"], line["tlp"]) for line in asked] == [
        ("h0-s0", "CfgRd1"),
        ("s0-b", "CfgRd0"),
    ]
    assert {(line["target"], line["register"]) for line in asked} == {(target, "0x10")}


def lines_after(simulation: Simulation, folder: Path) -> list[Line]:
    """The lines of the trace, which a run writes to its file."""
    simulation.run_until(simulation.now_ns)
    return lines(folder / "trace")


def test_a_header_is_the_bytes_on_the_wire(tmp_path: Path) -> None:
    found = traced(pair().flow("a", "b", size="4 KiB"), tmp_path / "trace")
    writes = [line for line in found if line.get("tlp") == "MWr"]
    for line in writes:
        header = bytes.fromhex(line["header"])
        assert header[0] == 0x40
        assert int.from_bytes(header[2:4], "big") & 0x3FF == line["bytes"] / 4
        assert int.from_bytes(header[8:], "big") == int(line["address"], 16)
        assert (header[1] >> 4 & 7, line["tc"]) == (0, 0)
        assert "attributes" not in line
        assert "poisoned" not in line
    assert writes


def test_everything_that_leaves_arrives(tmp_path: Path) -> None:
    found = traced(pair().flow("a", "b", size="64 KiB"), tmp_path / "trace")
    for link, direction in {(line["link"], line["direction"]) for line in found}:
        here = [li for li in found if (li["link"], li["direction"]) == (link, direction)]
        left = [line for line in here if "tlp" in line or "dllp" in line]
        came = [line for line in here if "arrival" in line]
        assert 0 <= len(left) - len(came) <= 2
        for one, other in zip(left, came, strict=False):
            assert other["arrival"] == ("tlp" if "tlp" in one else "dllp")
            key = "sequence" if "tlp" in one else "raw"
            assert one[key] == other[key]
            assert other["ns"] >= one["ns"] + one.get("length_ns", 0.0) - 1e-5
            assert other["verdict"] == "accepted"
        assert {line["node"] for line in came} <= set(link.split("-"))


def test_damage_is_told_where_it_arrives(tmp_path: Path) -> None:
    fabric = pair(bit_error_rate=1e-5).flow("a", "b", size="256 KiB")
    found = traced(fabric, tmp_path / "trace")
    came = [line for line in found if line.get("arrival") == "tlp"]
    wrong = [line for line in came if "wrong_bits" in line]
    assert wrong
    assert {line["verdict"] for line in wrong} <= {"nak", "discarded", "unframed"}
    # A wrong bit in the token of a packet is a framing error, after which the link trains again.
    for one in (line for line in wrong if line["verdict"] == "unframed"):
        after = [li for li in found if li["link"] == one["link"] and li["ns"] >= one["ns"]]
        assert any(line.get("training") == "TS1" for line in after)
    naks = [line for line in came if line["verdict"] == "nak"]
    assert sum(line.get("dllp") == "Nak" for line in found) == len(naks)
    assert {"accepted", "nak"} <= {line["verdict"] for line in came}


@pytest.mark.parametrize("generation", [2, 3])
def test_ordered_sets_leave_busy_and_idle_wires(tmp_path: Path, generation: int) -> None:
    fabric = pair().links(generation=generation).flow("a", "b", size="256 KiB")
    later = fabric.flow("a", "b", size="4 B", id="later", start="1 ms")
    found = traced(later, tmp_path / "trace")
    sets = [line for line in found if "ordered_set" in line]
    assert {line["eds"] for line in sets} == {generation == 3}
    assert any(line.get("count", 1) > 1 for line in sets), "those of an idle wire are together"
    busy = [line for line in sets if line["link"] == "s0-a" and line["direction"] == "up"]
    assert sum(line.get("count", 1) for line in busy[:-1]) > 10


def test_a_filter_takes_what_meets_all_its_parts(tmp_path: Path) -> None:
    fabric = pair().flow("a", "b", size="16 KiB", id="peer", direction="both")
    whole = traced(fabric, tmp_path / "whole")
    write = next(line for line in whole if line.get("tlp") == "MWr")
    first = int(write["address"], 16)
    fabric.run(
        trace=tmp_path / "part",
        only=Filter(at=["s0-b"], kind=["MWr"], flow=["peer"], address=(first + 600, first + 2047)),
    )
    found = lines(tmp_path / "part")
    left = [line for line in found if "tlp" in line]
    assert left == [
        line
        for line in whole
        if (line["link"], line.get("tlp")) == ("s0-b", "MWr")
        and first + 512 <= int(line["address"], 16) < first + 2048
    ]
    assert len(left) == 3
    assert [line["sequence"] for line in found if "arrival" in line] == [
        line["sequence"] for line in left
    ]


def test_a_filter_that_cannot_be_meant_is_refused_before_a_file_is_made(tmp_path: Path) -> None:
    fabric = pair().flow("a", "b", size="16 KiB", id="peer")
    wrong = {
        'at "s0-c": there is no link of this name; did you mean "s0-': Filter(at=["s0-c"]),
        'flow "pier": .* did you mean "peer"': Filter(flow=["pier"]),
        "write one of tlp .MRd, MWr": Filter(kind=["write"]),
        "the last address is below the first": Filter(address=(2, 1)),
        "not a range": Filter(address=(-2, -1)),
        "the window is empty": Filter(window="2us..1us"),
        "has no unit": Filter(window="1..2us"),
    }
    for message, only in wrong.items():
        with pytest.raises(ValueError, match=message):
            fabric.run(trace=tmp_path / "trace", only=only)
    assert not (tmp_path / "trace").exists()
    with pytest.raises(ValueError, match="filters a capture"):
        fabric.run(only=Filter(kind=["MWr"]))
    with pytest.raises(TypeError, match="write kind="):
        Filter(kind="MWr")


def test_the_reference_has_every_field(tmp_path: Path) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)`", text))
    fabric = pair(bit_error_rate=1e-5).flow("a", "b", size="64 KiB", direction="both")
    used = {key for line in traced(fabric, tmp_path / "trace") for key in line}
    scaled = fabric.links(generation=4)
    used |= {key for line in traced(scaled, tmp_path / "trace") for key in line}
    assert used <= named, f"{REFERENCE.name} lacks {used - named}"
